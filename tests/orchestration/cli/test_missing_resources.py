"""A lack of resources, and what is not an ordinary file, is explained; nothing waits forever."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sqlite3
import subprocess
from contextlib import chdir
from itertools import product
from typing import TYPE_CHECKING

import pytest

from calls.ledger.database import LedgerDatabase
from calls.ledger.errors import LedgerError
from orchestration.cli.program import describe_error
from orchestration.config.load import load_config
from orchestration.instance import home
from tests.orchestration.conftest import scoreline
from tests.support.services import takes_minutes
from warehouse.ledger.open import ledger_location

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.orchestration.judged_project import JudgedProject


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "`ulimit -n 4096`"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "x.py"), "Too many open files: 'x.py'"),
        (OSError(errno.EROFS, os.strerror(errno.EROFS), "w"), "the disk is read-only"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "the disk is full"),
        (sqlite3.OperationalError("attempt to write a readonly database"), "is read-only"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full"),
        (sqlite3.OperationalError("disk I/O error"), "the disk is failing"),
    ],
)
def test_a_lack_of_resources_is_explained(error: Exception, said: str) -> None:
    assert said in describe_error(error)
    wrapped = RuntimeError("wrapped by a library")
    wrapped.__cause__ = error
    assert said in describe_error(wrapped)
    assert "bug" not in describe_error(wrapped)


def test_other_errors_are_bugs() -> None:
    assert "This is a bug" in describe_error(RuntimeError("defect"))


def bind(path: Path) -> None:
    # The path of a socket has at most 107 bytes.
    with socket.socket(socket.AF_UNIX) as opened, chdir(path.parent):
        opened.bind(path.name)


DATABASES = ("history/runs", "history/runs/index", "schedules/schedules")
SPECIAL: dict[str, Callable[[Path], None]] = {
    "a FIFO": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": bind,
}


FILES = (
    *("data/questions.jsonl", "data/predictions_reader.jsonl", "scoreline.yaml"),
    *(".scoreline/warehouse.duckdb", ".scoreline/dagster/dagster.yaml"),
    *(f".scoreline/dagster/{name}.db" for name in DATABASES),
)


# A FIFO is what could be waited for.
@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *[("a FIFO", name) for name in FILES],
        *[
            pytest.param(kind, name, marks=takes_minutes)
            for kind in ("a folder", "a socket")
            for name in FILES
        ],
    ],
)
def test_what_is_not_a_file_is_named(own_project: Path, kind: str, name: str) -> None:
    file = own_project / name
    file.unlink()
    SPECIAL[kind](file)
    ended = scoreline(own_project, "run", "--force")
    assert ended.code == 2, ended.err
    assert kind in ended.err
    assert file.name in ended.err
    assert "bug" not in ended.err


@pytest.mark.timeout(60)
def test_labels_are_not_read_from_a_fifo(own_project: Path) -> None:
    os.mkfifo(own_project / "labels.jsonl")
    ended = scoreline(own_project, "labels", "import", "labels.jsonl")
    assert (ended.code, "is a FIFO" in ended.err) == (2, True), ended.err


COMMANDS = {
    "run": ["run", "--force"],
    "clean": ["clean", "--older-than", "0", "--yes"],
    "dev": ["dev", "--prepare"],
}
GARBAGE = b"garbage" * 10_000
EVERYDAY = {
    *(("history/runs", GARBAGE, command) for command in COMMANDS),
    *(("history/runs/index", b"", "run"), ("schedules/schedules", GARBAGE, "run")),
}


@pytest.mark.parametrize(
    ("name", "content", "command"),
    [
        pytest.param(*case, marks=() if case in EVERYDAY else takes_minutes)
        for case in product(DATABASES, (b"", GARBAGE), COMMANDS)
    ],
)
def test_damaged_databases_of_dagster_are_named(
    own_project: Path, name: str, content: bytes, command: str
) -> None:
    folder = home(load_config(own_project / "scoreline.yaml").project)
    (folder / f"{name}.db").write_bytes(content)
    for ending in ("-wal", "-shm"):
        (folder / f"{name}.db{ending}").unlink(missing_ok=True)
    ended = scoreline(own_project, *COMMANDS[command])
    assert ended.code == 2, ended.err
    assert f"the history of runs in {str(folder)!r} is damaged" in ended.err
    assert "Delete this folder and run again" in ended.err


@pytest.mark.parametrize(
    "content",
    [b"[", *(pytest.param(each, marks=takes_minutes) for each in (b"garbage", b"\xff\xfe"))],
)
def test_unreadable_settings_of_dagster_are_named(own_project: Path, content: bytes) -> None:
    file = home(load_config(own_project / "scoreline.yaml").project) / "dagster.yaml"
    file.write_bytes(content)
    ended = scoreline(own_project, "run", "--force")
    assert ended.code == 2, ended.err
    assert repr(str(file)) in ended.messages
    assert "correct it, or delete it: the next run writes it again" in ended.messages
    file.unlink()
    assert scoreline(own_project, "run", "--force").code == 0


@takes_minutes
@pytest.mark.parametrize("damage", [lambda file: file.write_bytes(b"garbage" * 99), os.mkfifo])
def test_a_run_with_a_damaged_database_is_removed(
    own_project: Path, damage: Callable[[Path], object]
) -> None:
    runs = own_project / ".scoreline" / "dagster" / "history" / "runs"
    (file,) = (each for each in runs.glob("*.db") if each.stem != "index")
    file.unlink()
    damage(file)
    ended = scoreline(own_project, "clean", "runs", "--older-than", "0", "--yes")
    assert (ended.code, "removed runs: 1 runs" in ended.out) == (0, True), ended
    assert [each.name for each in runs.glob("*.db")] == ["index.db"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "kind",
    ["a FIFO", *(pytest.param(f"a {each}", marks=takes_minutes) for each in ("folder", "socket"))],
)
def test_a_ledger_that_is_not_a_file_is_named(
    priced: JudgedProject, kind: str, tmp_path: Path
) -> None:
    file = tmp_path / "home" / ".scoreline" / "warehouse.duckdb.ledger"
    file.parent.mkdir()
    SPECIAL[kind](file)
    for command in ("run", "doctor"):
        ended = scoreline(priced.home, command, OPENAI_API_KEY="none")
        assert ended.code == 2, ended
        assert f"the ledger {str(file)!r} is {kind}, expected a file: move it away" in ended.err


@pytest.fixture
def read_only(own_project: Path, tmp_path: Path) -> Iterator[Path]:
    """A project on a disk that is mounted read-only."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", disk], check=False)
    if mounted.returncode:
        pytest.skip("this user may not mount a disk")
    try:
        shutil.copytree(own_project, disk / "demo")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        yield disk / "demo"
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_read_only_disk_is_named(read_only: Path) -> None:
    for arguments in (["run", "--force"], ["dev", "--prepare"]):
        ended = scoreline(read_only, *arguments)
        assert ended.code == 2, ended
        assert str(read_only) in ended.err
        assert "the disk is read-only: mount it for writing" in ended.err
    # What only reads works.
    assert scoreline(read_only, "leaderboard").code == 0


def test_a_ledger_on_a_read_only_disk_is_named(read_only: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be written: the disk is read-only"):
        LedgerDatabase(ledger_location(read_only / "warehouse.duckdb"))
