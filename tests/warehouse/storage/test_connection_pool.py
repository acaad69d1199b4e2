"""A pooled database leaves nothing of one connection to the next, nor to a fork."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import duckdb
import pytest

from tests.warehouse.conftest import ids, questions
from warehouse.storage import connection_pool
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

FORKS = """
import os, sys
from pathlib import Path
from warehouse.store import Warehouse

warehouse = Warehouse(Path(sys.argv[1]))
warehouse.fetch("SELECT 1")

def in_a_fork():
    child = os.fork()
    if child == 0:
        warehouse.fetch("SELECT 1")
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

idle = in_a_fork()
with warehouse.reading() as connection:
    used = in_a_fork()
    connection.execute("SELECT 1")
print(idle, used, warehouse.fetch("SELECT 1").item())
"""
INTERRUPTED = """
import signal, sys
from importlib.abc import MetaPathFinder
from pathlib import Path
from warehouse.store import Warehouse

class Interrupting(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
try:
    Warehouse(Path(sys.argv[1])).fetch("SELECT $a", {"a": 1})
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """One in a file, used already."""
    made = Warehouse(tmp_path / "warehouse.duckdb")
    made.replace("questions", questions("q1"))
    return made


def running() -> list[connection_pool.PooledDatabase]:
    return list(connection_pool._POOL.values())


def test_one_database_serves_successive_connections(warehouse: Warehouse) -> None:
    before = running()
    assert len(before) == 1
    warehouse.replace("questions", questions("q2"))
    assert [row[1] for row in ids(warehouse)] == ["q1", "q2"]
    assert running() == before


def test_an_idle_database_keeps_no_file_open(warehouse: Warehouse) -> None:
    with warehouse.reading(), pytest.raises(duckdb.Error, match="conf"):
        duckdb.connect(str(warehouse.path))
    with duckdb.connect(str(warehouse.path)) as shell:
        shell.execute("DELETE FROM questions")
    assert ids(warehouse) == []
    assert not warehouse.path.with_name(warehouse.path.name + ".wal").exists()


def test_connections_at_once_share_the_file(warehouse: Warehouse) -> None:
    with warehouse.reading() as outer, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: len(ids(warehouse)), range(40)))
        assert outer.execute("SELECT count(*) FROM questions").fetchall() == [(1,)]
    assert found == [1] * 40


def test_an_error_closes_the_database(warehouse: Warehouse) -> None:
    with pytest.raises(duckdb.Error, match="nowhere"):
        warehouse.fetch("SELECT * FROM nowhere")
    assert running() == []
    assert len(ids(warehouse)) == 1


def test_a_setting_ends_with_its_transaction(warehouse: Warehouse) -> None:
    asked = "SELECT current_setting('disabled_compression_methods')"
    with warehouse.transaction() as transaction:
        transaction.disable_text_compression()
        assert transaction.fetch(asked).item() == "Dictionary,FSST"
        transaction.disable_text_compression(unless_repeated=True)
        assert transaction.fetch(asked).item() == "FSST"
    before = running()
    assert warehouse.fetch(asked).item() == ""
    assert running() == before


def test_many_small_insertions_take_little_memory(warehouse: Warehouse) -> None:
    asked = "SELECT current_setting('preserve_insertion_order')"
    held = "SELECT sum(memory_usage_bytes) FROM duckdb_memory() WHERE tag = 'IN_MEMORY_TABLE'"
    rows = "SELECT 'b' AS benchmark, 's' AS system, 'q' || i AS question_id FROM range(150) r(i)"
    with warehouse.transaction() as transaction:
        with transaction.inserting_in_order():
            assert transaction.fetch(asked).item() is True
            for _ in range(100):
                transaction.execute(f"INSERT INTO predictions BY NAME {rows}")
            assert transaction.fetch(held).item() < 100 * 200_000
        assert transaction.fetch(asked).item() is False
    with (
        pytest.raises(duckdb.Error, match="nowhere"),
        warehouse.transaction() as transaction,
        transaction.inserting_in_order(),
    ):
        transaction.execute("INSERT INTO nowhere VALUES (1)")
    assert warehouse.fetch(asked).item() is False


def test_nothing_is_remembered_of_files_outside(warehouse: Warehouse) -> None:
    # With it, one of 150 Parquet files that are written anew within a moment cannot be read.
    asked = "SELECT current_setting('enable_external_file_cache')"
    assert warehouse.fetch(asked).item() is False


def test_other_settings_use_another_database(warehouse: Warehouse) -> None:
    before = running()
    other = Warehouse(warehouse.path, memory_limit="64MB", threads=1)
    told = other.fetch("SELECT current_setting('memory_limit'), current_setting('threads')")
    assert told.row(0) == ("61.0 MiB", 1)
    assert len(running()) == 1
    assert running() != before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_fork_starts_its_own_database(warehouse: Warehouse) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKS, str(warehouse.path)]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.split() == ["7", "7", "1"]


def test_an_interrupt_while_duckdb_would_import_pandas_is_raised(warehouse: Warehouse) -> None:
    command = [sys.executable, "-W", "ignore", "-c", INTERRUPTED, str(warehouse.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "interrupted\n"


def storage_version(path: Path) -> tuple[int, ...]:
    """Return the storage version with which DuckDB reopens a file."""
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS file")
        (tags,) = connection.execute(
            "SELECT tags FROM duckdb_databases() WHERE database_name = 'file'"
        ).fetchone() or ({},)
    return tuple(int(part) for part in tags["storage_version"].strip("v+").split("."))


def test_files_keep_a_storage_version_that_is_fast_to_attach(tmp_path: Path) -> None:
    made = Warehouse(tmp_path / "warehouse.duckdb", memory_limit="1GB")
    made.replace("questions", questions("q1"))
    connection_pool.close_idle()
    assert storage_version(tmp_path / "warehouse.duckdb") >= (1, 2, 0)


def test_a_file_of_an_earlier_storage_version_is_renewed_when_written(tmp_path: Path) -> None:
    path = tmp_path / "warehouse.duckdb"
    Warehouse(path).replace("questions", questions("q1"))
    connection_pool.close_idle()
    earlier = tmp_path / "earlier.duckdb"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS made (READ_ONLY)")
        connection.execute(f"ATTACH '{earlier}' AS earlier (STORAGE_VERSION 'v1.0.0')")
        connection.execute("COPY FROM DATABASE made TO earlier")
    assert storage_version(earlier) < (1, 2, 0)
    warehouse = Warehouse(earlier)
    assert [row[1] for row in ids(warehouse)] == ["q1"]
    warehouse.replace("questions", questions("q2"))
    assert [row[1] for row in ids(warehouse)] == ["q1", "q2"]
    connection_pool.close_idle()
    assert storage_version(earlier) >= (1, 2, 0)


def test_a_copy_holds_what_was_written(warehouse: Warehouse, tmp_path: Path) -> None:
    warehouse.replace("questions", questions("q2"))
    warehouse.copy(tmp_path / "copy.duckdb")
    assert [row[1] for row in ids(Warehouse(tmp_path / "copy.duckdb"))] == ["q1", "q2"]


def test_a_writer_waits_for_reading_threads(warehouse: Warehouse) -> None:
    with ThreadPoolExecutor(1) as other:
        with warehouse.reading(), warehouse.reading():
            writing = other.submit(warehouse.replace, "questions", questions("q2"))
            with pytest.raises(TimeoutError):
                writing.result(timeout=0.2)
        assert writing.result(timeout=20) == 1
    assert [row[1] for row in ids(warehouse)] == ["q1", "q2"]


def test_another_file_in_its_place_is_seen(warehouse: Warehouse, tmp_path: Path) -> None:
    other = Warehouse(tmp_path / "other.duckdb")
    other.replace("questions", questions("q7"))
    assert [row[1] for row in ids(warehouse)] == ["q1"]
    other.path.replace(warehouse.path)
    assert [row[1] for row in ids(warehouse)] == ["q7"]
