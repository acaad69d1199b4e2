"""Processes take turns, and one that waits in vain is told for whom."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.lock_holder import holder
from warehouse.errors import WarehouseError, WarehouseLocked
from warehouse.storage import waiting
from warehouse.storage.file_lock import FileLock

if TYPE_CHECKING:
    from logging import LogRecord


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.duckdb"


@pytest.mark.parametrize("kind", ["shared", "exclusive"])
def test_names_the_writer(path: Path, kind: str) -> None:
    with (
        holder(path, "exclusive") as process,
        pytest.raises(WarehouseLocked) as caught,
        getattr(FileLock(path, 0.2), kind)(),
    ):
        pass
    text = str(caught.value)
    assert f"being written by process {process.pid} (-c " in text
    assert f"on {os.uname().nodename} since " in text
    assert text.endswith("waited 0.2 s")


def test_readers_share(path: Path) -> None:
    with holder(path, "shared"), FileLock(path, 0.0).shared():
        pass


def test_a_writer_waits_for_readers(path: Path) -> None:
    stale = {"pid": 1, "host": "h", "command": "scoreline run", "since": "2026-01-01T00:00:00"}
    path.with_name(path.name + ".holder").write_text(json.dumps(stale))
    with (
        holder(path, "shared") as process,
        pytest.raises(WarehouseLocked, match="being read by") as caught,
        FileLock(path, 0.1).exclusive(),
    ):
        pass
    if Path("/proc/locks").exists():
        assert f"being read by process {process.pid};" in str(caught.value)


def test_says_for_whom_it_waits_at_growing_intervals(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(waiting, "FIRST_S", 0.05)
    with holder(path, "exclusive") as process:

        def end_holder(_: LogRecord) -> bool:
            if len(caplog.records) == 2:
                process.kill()
            return True

        # The handler serves all tests, so that a filter must not stay.
        with caplog.filtering(end_holder), FileLock(path, math.inf).exclusive():
            pass
    said = [record.getMessage() for record in caplog.records]
    assert all(f"is being written by process {process.pid} (-c" in each for each in said)
    assert all(each.startswith("waiting: ") for each in said)
    first, second, third = (record.created for record in caplog.records[:3])
    assert third - second > second - first


def test_the_wait_ends_when_the_holder_releases_the_lock(path: Path) -> None:
    with holder(path, "exclusive") as process:
        assert process.stdin is not None
        process.stdin.close()
        # Who waited in vain would be told that it is locked.
        with FileLock(path, 60.0).exclusive():
            assert process.wait() == 0


def test_a_killed_holder_blocks_no_process(path: Path) -> None:
    with holder(path, "exclusive") as process:
        process.kill()
        process.wait()
    side = path.with_name(path.name + ".holder")
    assert side.exists()
    with FileLock(path, 0.0).exclusive():
        assert json.loads(side.read_text())["pid"] == os.getpid()
    assert not side.exists()


def test_says_so_when_it_waits_for_itself(path: Path) -> None:
    with (
        FileLock(path, 0.0).exclusive(),
        pytest.raises(WarehouseLocked, match="this process"),
        FileLock(path, 0.0).shared(),
    ):
        pass


@pytest.mark.parametrize("text", ["", "{", '{"pid": 1}', "[]"])
def test_an_unreadable_side_file_only_costs_the_name(path: Path, text: str) -> None:
    with holder(path, "exclusive"):
        path.with_name(path.name + ".holder").write_text(text)
        with (
            pytest.raises(WarehouseLocked, match="being written by another process"),
            FileLock(path, 0.0).shared(),
        ):
            pass


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with (
        pytest.raises(WarehouseError, match=r"cannot lock .*No such file or directory"),
        FileLock(tmp_path / "none" / "w.duckdb", 0.0).shared(),
    ):
        pass
