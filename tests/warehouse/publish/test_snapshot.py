"""The published copy is whole at every moment, and queries on it can do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pytest

from tests.support.services import takes_minutes
from warehouse.errors import InvalidQuery, NoSpace, WarehouseError, WarehouseTooNew
from warehouse.publish.snapshot import Snapshot, publish
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Location


@pytest.fixture
def warehouse(place: Location) -> Warehouse:
    warehouse = Warehouse(place)
    write(warehouse, 1)
    return warehouse


def write(warehouse: Warehouse, generation: int) -> None:
    """Fill a table with rows that all bear one number."""
    rows = pl.DataFrame({"position": [generation] * 5000, "text": [os.urandom(200).hex()] * 5000})
    rows = rows.with_row_index("sentence_id").with_columns(
        pl.lit("b").alias("benchmark"), pl.lit("d").alias("doc_id"), pl.col("sentence_id").cast(str)
    )
    warehouse.replace("documents", rows, {"benchmark": "b"})


def generations(path: Path) -> list[tuple[int, int]]:
    return Snapshot(path).fetch("SELECT position, count(*) FROM documents GROUP BY ALL").rows()


def test_the_copy_holds_the_same_tables(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = publish(warehouse, tmp_path / "deep" / "published")
    assert copy == tmp_path / "deep" / "published" / "scoreline.duckdb"
    assert generations(copy) == [(1, 5000)]
    write(warehouse, 2)
    assert generations(copy) == [(1, 5000)]
    assert publish(warehouse, copy.parent) == copy
    assert generations(copy) == [(2, 5000)]
    visible = [path.name for path in copy.parent.iterdir() if not path.name.endswith(".lock")]
    assert visible == ["scoreline.duckdb"]


@pytest.mark.file_only
def test_brings_in_what_a_killed_writer_had_committed(warehouse: Warehouse, tmp_path: Path) -> None:
    code = (
        "import duckdb, os, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "connection.execute('SET checkpoint_threshold = \\'1GB\\'')\n"
        "connection.execute('UPDATE documents SET position = 7')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(warehouse.path)], check=False)
    assert killed.returncode == -9
    assert warehouse.path.with_name("warehouse.duckdb.wal").exists()
    assert generations(publish(warehouse, tmp_path / "published")) == [(7, 5000)]


READ = """
import sys
from pathlib import Path
from warehouse.publish.snapshot import Snapshot
seen, reads = set(), 0
print("reading", flush=True)
while 8 not in seen:
    rows = Snapshot(Path(sys.argv[1])).fetch(
        "SELECT min(position), max(position), count(*) FROM documents"
    ).rows()
    (low, high, n), reads = rows[0], reads + 1
    assert (low, n) == (high, 5000), rows
    seen.add(low)
print(reads)
"""


@takes_minutes
@pytest.mark.file_only
def test_readers_never_see_half_a_copy(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = publish(warehouse, tmp_path / "published")
    with subprocess.Popen(
        [sys.executable, "-c", READ, str(copy)], stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "reading\n"
        for generation in range(2, 9):
            write(warehouse, generation)
            publish(warehouse, tmp_path / "published")
        rest = reader.communicate(timeout=60)[0]
    assert reader.returncode == 0
    assert int(rest) >= 2


@pytest.mark.file_only
def test_a_reader_keeps_the_copy_that_it_opened(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = publish(warehouse, tmp_path / "published")
    code = (
        "import duckdb, sys\n"
        "connection = duckdb.connect(sys.argv[1], read_only=True)\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
        "print(connection.execute('SELECT max(position), sum(length(text)) FROM documents')"
        ".fetchall())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(copy)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        write(warehouse, 2)
        publish(warehouse, tmp_path / "published")
        assert reader.communicate("")[0] == f"[(1, {5000 * 400})]\n"
    assert generations(copy) == [(2, 5000)]


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (x INTEGER)",
        "DELETE FROM documents",
        "COPY documents TO '{folder}/stolen.csv'",
        "SELECT * FROM read_text('{folder}/secret')",
        "SELECT * FROM '{folder}/secret'",
        "ATTACH '{folder}/other.duckdb'",
        "SET enable_external_access = true",
        "SET threads = 1",
        "EXPLAIN ANALYZE SET threads = 1",
        "RESET threads",
        "PRAGMA memory_limit = '64MB'",
        "USE memory",
        "CHECKPOINT",
        "CREATE TEMP TABLE t (x INTEGER)",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM no_such_table",
        "SELEC 1",
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
    ],
)
@pytest.mark.file_only
def test_queries_can_do_no_harm(warehouse: Warehouse, tmp_path: Path, sql: str) -> None:
    copy = publish(warehouse, tmp_path / "published")
    secret = tmp_path / "secret"
    secret.write_text("x")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InvalidQuery):
        Snapshot(copy).fetch(sql.format(folder=tmp_path))
    assert sorted(tmp_path.iterdir()) == before
    assert generations(copy) == [(1, 5000)]


@pytest.mark.file_only
def test_several_readers_in_one_process(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = publish(warehouse, tmp_path / "published")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(generations, [copy] * 12)) == [[(1, 5000)]] * 12


def test_nothing_published_yet(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match=r"there is no published copy .*scoreline run"):
        Snapshot(tmp_path / "scoreline.duckdb").fetch("SELECT 1")


@pytest.mark.file_only
def test_a_copy_of_a_later_version(warehouse: Warehouse, tmp_path: Path) -> None:
    copy = publish(warehouse, tmp_path / "published")
    with duckdb.connect(str(copy)) as connection:
        connection.execute("UPDATE meta SET value = '99'")
    with pytest.raises(WarehouseTooNew, match="99"):
        Snapshot(copy).fetch("SELECT 1")


@pytest.mark.file_only
def test_a_folder_that_is_a_file(warehouse: Warehouse, tmp_path: Path) -> None:
    (tmp_path / "published").write_text("")
    with pytest.raises(WarehouseError, match=r"cannot publish to .*File exists"):
        publish(warehouse, tmp_path / "published")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount the small disk that is filled here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.parametrize("announced", [True, False])
def test_a_full_disk_keeps_the_old_copy(
    warehouse: Warehouse, tiny_disk: Path, monkeypatch: pytest.MonkeyPatch, announced: bool
) -> None:
    copy = publish(warehouse, tiny_disk)
    before = copy.read_bytes()
    noise = pl.DataFrame({"question_id": [os.urandom(500).hex() for _ in range(10_000)]})
    warehouse.append("questions", noise.with_columns(benchmark=pl.lit("b")))
    if not announced:
        # The disk fills while the copy is being written.
        free = type("Usage", (), {"free": 10**12})
        monkeypatch.setattr("warehouse.publish.snapshot.shutil.disk_usage", lambda _: free)
    with pytest.raises(NoSpace, match=r"[0-9.]+ MB are needed and [0-9.]+ MB are free"):
        publish(warehouse, tiny_disk)
    assert copy.read_bytes() == before
    left = [path.name for path in tiny_disk.iterdir() if not path.name.endswith(".lock")]
    assert left == ["scoreline.duckdb"]
