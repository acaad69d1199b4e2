"""The process that validates for many processes: who may ask it, and when it ends."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.services import takes_minutes
from tests.warehouse.validation.test_client import COUNT, batch
from warehouse.errors import WarehouseError
from warehouse.store import Warehouse
from warehouse.validation.client import SHARED_VARIABLE, Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = takes_minutes

STARTER = """
import os, sys, time
from warehouse.validation.client import SHARED_VARIABLE, VALIDATOR
VALIDATOR.begin(shared=True)
print(VALIDATOR._process.pid, os.environ[SHARED_VARIABLE], flush=True)
time.sleep(600)
"""


@pytest.fixture
def shared() -> Iterator[Validator]:
    validator = Validator()
    validator.begin(shared=True)
    yield validator
    validator.end()
    assert SHARED_VARIABLE not in os.environ


def place() -> Path:
    return Path(os.environ[SHARED_VARIABLE])


def test_another_process_asks_it_and_starts_none(shared: Validator, tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    other = Validator()
    assert other.validate(warehouse, [batch(COUNT)])[0].success
    assert other.validate(warehouse, [batch(COUNT)])[0].success
    assert other._process is None
    assert shared.validate(warehouse, [batch(COUNT)])[0].success


@pytest.mark.usefixtures("shared")
def test_only_its_user_reaches_it() -> None:
    assert stat.S_ISSOCK(place().stat().st_mode)
    assert stat.S_IMODE(place().parent.stat().st_mode) == stat.S_IRWXU
    assert place().parent.stat().st_uid == os.geteuid()


def test_a_fork_neither_takes_it_over_nor_ends_it(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    forked = (
        "import os, sys, pathlib\n"
        "from tests.warehouse.validation.test_client import COUNT, batch\n"
        "from warehouse.validation.client import VALIDATOR\n"
        "from warehouse.store import Warehouse\n"
        "VALIDATOR.begin(shared=True)\n"
        "child = os.fork()\n"
        "found = VALIDATOR.validate(Warehouse(pathlib.Path(sys.argv[1])), [batch(COUNT)])\n"
        "assert found[0].success\n"
        "assert (VALIDATOR._process is None) == (child == 0)\n"
        "VALIDATOR.end() if child == 0 else os.waitpid(child, 0)\n"
        "if child == 0: os._exit(0)\n"
        "found = VALIDATOR.validate(Warehouse(pathlib.Path(sys.argv[1])), [batch(COUNT)])\n"
        "assert found[0].success\n"
    )
    subprocess.run([sys.executable, "-c", forked, str(warehouse.path)], check=True)


def test_it_ends_with_a_starter_that_was_killed_and_leaves_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        process, path = starter.stdout.readline().split()
        starter.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{process}").exists() or Path(path).parent.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_where_it_is_gone_another_one_is_started(tmp_path: Path, shared: Validator) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    assert shared._process is not None
    shared._process.kill()
    shared._process.wait()
    other = Validator()
    try:
        assert other.validate(warehouse, [batch(COUNT)])[0].success
        assert other._process is not None
    finally:
        other.end()


def test_one_that_is_killed_at_work_is_named(tmp_path: Path, shared: Validator) -> None:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    slow = batch(COUNT, sql="SELECT count(*) AS n FROM range(10000000000)")
    assert Validator().validate(warehouse, [batch(COUNT)])[0].success
    process = shared._process
    assert process is not None
    killer = subprocess.Popen(
        [sys.executable, "-c", f"import os, time; time.sleep(1); os.kill({process.pid}, 9)"]
    )
    with pytest.raises(WarehouseError, match="ended in the middle of its work"):
        Validator().validate(warehouse, [slow])
    killer.wait()


def test_an_error_of_its_own_ends_it_and_keeps_nobody_waiting(
    shared: Validator, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(place()))
        connection.sendall(b"no request\n")
        assert connection.recv(1) == b""
    assert shared._process is not None
    assert shared._process.wait(60) == 1
    other = Validator()
    try:
        warehouse = Warehouse(tmp_path / "warehouse.duckdb")
        assert other.validate(warehouse, [batch(COUNT)])[0].success
    finally:
        other.end()


def test_who_asks_and_goes_away_stops_nothing(shared: Validator, tmp_path: Path) -> None:
    for said in (b"", b"half a request"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place()))
            connection.sendall(said)
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    other = Validator()
    assert other.validate(warehouse, [batch(COUNT)])[0].success
    assert other._process is None
    assert shared._process is not None
