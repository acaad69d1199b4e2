"""A spool gives what a query gives, without holding the warehouse."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.support.services import takes_minutes
from warehouse.schema.tables import TABLES
from warehouse.storage import scratch
from warehouse.storage.connect import connect
from warehouse.storage.location import Lake
from warehouse.storage.scratch import PREFIX, orphans, remove_orphans, scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from warehouse.store import Warehouse


def scratch_names(warehouse: Warehouse) -> list[str]:
    """The temporary folders beside a warehouse."""
    return [each.name for each in warehouse.path.parent.glob(f"{PREFIX}*") if each.is_dir()]


def test_a_spool_gives_what_fetch_gives(warehouse: Warehouse) -> None:
    rows = pl.DataFrame(
        {
            "benchmark": "b",
            "question_id": [f"q{i:05}" for i in range(5000)],
            "tags": [[{"key": "k", "value": str(i % 3)}] if i % 2 else [] for i in range(5000)],
            "rubric": [None if i % 3 else '{"a":1}' for i in range(5000)],
            "gold_doc_ids": [[None, [], ["d"]][i % 3] for i in range(5000)],
        }
    )
    warehouse.replace("questions", rows, {})
    sql = (
        "SELECT question_id, tags, rubric, gold_doc_ids FROM questions "
        "WHERE question_id < $last ORDER BY question_id"
    )
    with warehouse.fetch_to_disk(sql, {"last": "q04500"}) as spool:
        assert spool.rows == 4500
        batches = list(spool.batches(rows=1000))
        assert [batch.height for batch in batches] == [1000, 1000, 1000, 1000, 500]
        expected = warehouse.fetch(sql, {"last": "q04500"})
        assert_frame_equal(pl.concat(batches), expected)
        assert_frame_equal(spool.frame(), expected)
        # The warehouse is free while the spool is being read.
        warehouse.replace("questions", rows, {})
    assert scratch_names(warehouse) == []


@takes_minutes
def test_spools_of_many_threads_do_not_disturb_each_other(warehouse: Warehouse) -> None:
    patient = replace(warehouse, patience_s=30.0)

    def rows(number: int) -> int:
        with patient.fetch_to_disk("SELECT unnest(range($n))", {"n": number}) as spool:
            return spool.frame().height

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(rows, range(1, 201))) == list(range(1, 201))
    assert scratch_names(patient) == []


def test_an_empty_spool_has_no_batches(warehouse: Warehouse) -> None:
    with warehouse.fetch_to_disk("SELECT * FROM questions") as spool:
        assert (spool.rows, list(spool.batches())) == (0, [])
        assert spool.frame().columns == list(TABLES["questions"].column_names)


def test_a_stream_gives_the_same_while_it_is_read(warehouse: Warehouse) -> None:
    rows = pl.DataFrame(
        {
            "benchmark": "b",
            "question_id": [f"q{i:05}" for i in range(5000)],
            "rubric": [None if i % 3 else '{"a":1}' for i in range(5000)],
            "gold_doc_ids": [[None, [], ["d", None]][i % 3] for i in range(5000)],
        }
    )
    warehouse.replace("questions", rows, {})
    sql = "SELECT question_id, rubric, gold_doc_ids FROM questions WHERE question_id < $last"
    with warehouse.stream(sql, {"last": "q04500"}, rows=1000) as frames:
        batches = list(frames)
    assert len(batches) > 1
    with warehouse.fetch_to_disk(sql, {"last": "q04500"}) as spool:
        expected = spool.frame().sort("question_id")
    assert_frame_equal(pl.concat(batches).sort("question_id"), expected)
    with warehouse.stream(sql, {"last": ""}) as frames:
        assert sum(frame.height for frame in frames) == 0
    # Nobody holds the warehouse any more.
    warehouse.replace("questions", rows, {})


@takes_minutes
def test_queries_spill_to_disk_after_scratch_folders_were_removed(warehouse: Warehouse) -> None:
    small = replace(warehouse, memory_limit="150MB", threads=1)
    with small.fetch_to_disk("SELECT 1"):
        pass
    numbered = (
        "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY t) AS n "
        "FROM (SELECT md5(i::VARCHAR) || repeat('x', 300) AS t FROM range($n) r(i)))"
    )
    assert small.fetch(numbered, {"n": 800_000}).item() == 800_000
    # DuckDB removes it with its last connection, in a lake at the end of the process.
    assert len(scratch_names(small)) == (1 if isinstance(small.path, Lake) else 0)


OWNER = """
import os, signal, sys
from pathlib import Path
from warehouse.storage.scratch import scratch_folder, spill_folder
place = Path(sys.argv[1])
with scratch_folder(place) as folder, spill_folder(place) as spilled:
    (folder / "rows.parquet").write_bytes(b"rows")
    spilled.mkdir()
    print(folder.name, spilled.name, flush=True)
    signal.pause()
"""
NAMESPACES = {
    "as it is": [],
    "another host name": ["unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh"],
    # The process has the number 1, as another one has that lives.
    "the number of another process": ["unshare", "--pid", "--fork", "--kill-child"],
}


@contextmanager
def owner(
    place: Path, prefix: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], set[str]]]:
    """A process that owns two folders, and their names."""
    with subprocess.Popen(
        [*prefix, sys.executable, "-c", OWNER, str(place)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            names = set(process.stdout.readline().split())
            if prefix and not names:
                pytest.skip("only root may create namespaces")
            yield process, names
        finally:
            process.kill()


def left(place: Path) -> set[str]:
    return {each.name for each in place.iterdir()}


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_folders_of_killed_processes_are_removed_those_of_living_ones_are_not(
    tmp_path: Path, namespace: str
) -> None:
    with owner(tmp_path) as (living, kept):
        with owner(tmp_path, NAMESPACES[namespace]) as (process, names):
            assert len(names) == 2
            assert orphans(tmp_path) == []
            process.kill()
            process.wait()
            # `unshare` ends before the process that it started.
            deadline = time.monotonic() + 30
            while not orphans(tmp_path) and time.monotonic() < deadline:
                time.sleep(0.01)
        assert {each.name for each in orphans(tmp_path)} == names
        assert names | kept < left(tmp_path)
        with scratch_folder(tmp_path) as own:
            assert not names & left(tmp_path)
            assert remove_orphans(tmp_path) == []
            assert {own.name, *kept} < left(tmp_path)
        assert left(tmp_path) == kept | {f"{name}.lock" for name in kept}
        living.kill()
        living.wait()
        assert {each.name for each in remove_orphans(tmp_path)} == kept
    assert left(tmp_path) == set()


def test_a_forked_process_does_not_remove_what_its_parent_owns(tmp_path: Path) -> None:
    own = scratch_folder(tmp_path)
    with own as folder:
        child = os.fork()
        if child == 0:
            # What a child does that leaves the `with` of its parent, say by an exception.
            own.__exit__(None, None, None)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert folder.is_dir()
        assert orphans(tmp_path) == []
    assert left(tmp_path) == set()


def test_other_files_are_never_taken_for_temporary_ones(tmp_path: Path) -> None:
    others = [".scoreline-mine.lock", ".scoreline-mine", f".scoreline-{'0' * 32}", "x.lock"]
    for name in others:
        (tmp_path / name).touch()
    target = tmp_path / "target"
    target.mkdir()
    # Other users can create such a link in the system's temporary folder.
    (tmp_path / f".scoreline-{'1' * 32}.lock").symlink_to(target / "secret")
    (tmp_path / f".scoreline-{'1' * 32}").symlink_to(target, target_is_directory=True)
    before = left(tmp_path)
    assert remove_orphans(tmp_path) == []
    assert left(tmp_path) == before
    assert orphans(tmp_path / "missing") == []


@takes_minutes
def test_what_many_processes_create_and_remove_at_once_stays_theirs(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from warehouse.storage.atomic import replace_file\n"
        "for number in range(200):\n"
        "    with replace_file(Path(sys.argv[1], 'target')) as file:\n"
        "        file.write_text(str(number))\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    started = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in started] == [0, 0, 0, 0]
    remove_orphans(tmp_path)
    assert left(tmp_path) == {"target"}


def test_a_folder_on_a_network_file_system_must_also_be_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with owner(tmp_path) as (process, names):
        process.kill()
        process.wait()
    # No network file system can be mounted here.
    monkeypatch.setattr(scratch, "network_file_system", lambda _: "nfs4")
    assert remove_orphans(tmp_path) == []
    old = time.time() - scratch.NETWORK_AGE_S - 1
    for path in tmp_path.rglob("*"):
        os.utime(path, (old, old))
    assert {each.name for each in remove_orphans(tmp_path)} == names


def test_a_database_without_a_folder_to_write_to_still_answers(tmp_path: Path) -> None:
    with connect(scratch=tmp_path / "missing") as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    assert left(tmp_path) == set()
