"""What is written is read back, by one process at a time, and nothing is ever half written."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.lakes import told
from tests.support.services import takes_minutes
from tests.warehouse.conftest import ids, questions
from warehouse.errors import NoSpace, SchemaMismatch, WarehouseError, WarehouseTooNew
from warehouse.schema.ddl import check
from warehouse.schema.tables import SCHEMA_VERSION, TABLES, Table
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STORED = [table for table in TABLES.values() if table.view_of is None]

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
NUMBER = st.floats(allow_nan=False)
VALUES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "VARCHAR": (pl.String, TEXT),
    "VARCHAR[]": (pl.List(pl.String), st.lists(st.none() | TEXT, max_size=3)),
    "VARCHAR[][]": (
        pl.List(pl.List(pl.String)),
        st.lists(st.none() | st.lists(st.none() | TEXT, max_size=2), max_size=2),
    ),
    "DOUBLE": (pl.Float64, NUMBER),
    "DOUBLE[]": (pl.List(pl.Float64), st.lists(st.none() | NUMBER, max_size=3)),
    "BOOLEAN[]": (pl.List(pl.Boolean), st.lists(st.none() | st.booleans(), max_size=3)),
    "INTEGER": (pl.Int32, st.integers(-(2**31), 2**31 - 1)),
    "INTEGER[]": (pl.List(pl.Int32), st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3)),
    "BIGINT": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "UBIGINT": (pl.UInt64, st.integers(0, 2**64 - 1)),
    "UBIGINT[]": (pl.List(pl.UInt64), st.lists(st.integers(0, 2**64 - 1), max_size=3)),
    "JSON": (pl.String, st.sampled_from(['{"a":[1,null]}', "[]", '"x"', "null", "1.5"])),
    "TIMESTAMP": (
        pl.Datetime("us"),
        st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2262, 1, 1)),  # noqa: DTZ001
    ),
    "MAP(VARCHAR, VARCHAR)": (
        pl.List(pl.Struct({"key": pl.String, "value": pl.String})),
        st.dictionaries(TEXT, st.none() | TEXT, max_size=3).map(
            lambda entries: [{"key": key, "value": value} for key, value in entries.items()]
        ),
    ),
    "MAP(VARCHAR, DOUBLE)": (
        pl.List(pl.Struct({"key": pl.String, "value": pl.Float64})),
        st.dictionaries(TEXT, st.none() | NUMBER, max_size=3).map(
            lambda entries: [{"key": key, "value": value} for key, value in entries.items()]
        ),
    ),
    "STRUCT(doc_id VARCHAR, grade INTEGER)[]": (
        pl.List(pl.Struct({"doc_id": pl.String, "grade": pl.Int32})),
        st.lists(st.fixed_dictionaries({"doc_id": TEXT, "grade": st.integers(0, 3)}), max_size=3),
    ),
}


def rows_of(table: Table) -> st.SearchStrategy[pl.DataFrame]:
    """Frames with all columns of a table."""
    row = st.fixed_dictionaries(
        {
            column.name: (st.none() | VALUES[column.type][1])
            if column.nullable
            else VALUES[column.type][1]
            for column in table.columns
        }
    )
    schema = {column.name: VALUES[column.type][0] for column in table.columns}
    return st.lists(row, max_size=4).map(
        lambda rows: pl.DataFrame(rows, schema=schema, orient="row")
    )


def entries(value: Any) -> Any:
    """A map as its list of entries, whichever way Polars shows it."""
    if isinstance(value, dict):
        return [{"key": key, "value": each} for key, each in value.items()]
    return value


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(tmp_path_factory.mktemp("lasting") / "warehouse.duckdb")


@pytest.mark.parametrize("table", STORED, ids=lambda table: table.name)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_table_gives_back_what_it_got(
    table: Table, data: st.DataObject, lasting: Warehouse, tmp_path: Path
) -> None:
    frame = data.draw(rows_of(table))
    parquet = tmp_path / "rows.parquet"
    frame.write_parquet(parquet)
    expected = sorted(map(repr, frame.rows()))
    for rows in (frame, parquet, [frame]):
        with lasting.transaction() as transaction:
            kept = (
                transaction.fetch("SELECT * FROM meta") if table.name == "meta" else pl.DataFrame()
            )
            transaction.delete(table.name, {})
            assert transaction.append(table.name, rows) == frame.height
            read = transaction.fetch(f'SELECT * FROM "{table.name}"')
            assert transaction.delete(table.name, {}) == frame.height
            transaction.append(table.name, kept)
        assert read.columns == frame.columns
        found = [tuple(map(entries, row)) for row in read.rows()]
        assert sorted(map(repr, found)) == expected


def test_first_use_creates_every_table(warehouse: Warehouse) -> None:
    assert warehouse.fetch("SELECT * FROM leaderboard").columns == list(
        TABLES["leaderboard"].column_names
    )
    with warehouse.reading() as connection:
        assert check(connection) == []


def test_a_misspelt_table_is_not_a_variable(warehouse: Warehouse) -> None:
    frame = pl.DataFrame({"x": [1]})
    with pytest.raises(duckdb.CatalogException, match="frame does not exist"):
        warehouse.fetch("SELECT * FROM frame")
    assert frame.height == 1


@pytest.mark.parametrize(
    ("version", "error", "message"),
    [
        ("99", WarehouseTooNew, f"schema version 99, .* up to {SCHEMA_VERSION}"),
        ("0", SchemaMismatch, f"schema version 0, expected {SCHEMA_VERSION}"),
    ],
)
def test_checks_which_version_wrote_it(
    warehouse: Warehouse, version: str, error: type[Exception], message: str
) -> None:
    with warehouse.transaction() as transaction:
        transaction.execute("UPDATE meta SET value = $version", {"version": version})
    for use in (lambda: warehouse.fetch("SELECT 1"), lambda: warehouse.append("marks", [])):
        with pytest.raises(error, match=message):
            use()


@takes_minutes
def test_a_killed_writer_leaves_the_warehouse_as_it_was(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1"))
    code = (
        "import json, os, sys\n"
        "import polars as pl\n"
        "from warehouse.storage.location import location_from_json\n"
        "from warehouse.storage.scratch import scratch_folder\n"
        "from warehouse.store import Warehouse\n"
        "location = location_from_json(json.loads(sys.argv[1]))\n"
        "with Warehouse(location).transaction() as transaction:\n"
        "    transaction.delete('questions', {})\n"
        "    frame = pl.DataFrame({'question_id': [str(i) for i in range(300_000)]})\n"
        "    transaction.append('questions', frame.with_columns(benchmark=pl.lit('b')))\n"
        "    with scratch_folder(location.parent) as folder:\n"
        "        print(folder.name)\n"
        "        sys.stdout.flush()\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    command = [sys.executable, "-c", code, told(warehouse.path)]
    killed = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    assert killed.returncode == -9
    left = warehouse.path.parent / killed.stdout.strip()
    assert left.is_dir()
    assert [row[1] for row in ids(warehouse)] == ["1"]
    warehouse.append("questions", questions("2"))
    assert [row[1] for row in ids(warehouse)] == ["1", "2"]
    with warehouse.fetch_to_disk("SELECT 1"):
        assert not left.exists()


WRITE = """
import json, sys
import polars as pl
from warehouse.storage.location import location_from_json
from warehouse.store import Warehouse
warehouse = Warehouse(location_from_json(json.loads(sys.argv[1])))
for i in range(5):
    frame = pl.DataFrame({"benchmark": [sys.argv[2]], "question_id": [str(i)]})
    warehouse.append("questions", frame)
    assert warehouse.fetch(
        "SELECT count(*) FROM questions WHERE benchmark = $b", {"b": sys.argv[2]}
    ).item() == i + 1
"""


@takes_minutes
def test_processes_take_turns(warehouse: Warehouse) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, told(warehouse.path), name])
        for name in "abc"
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(ids(warehouse)) == 15


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount the small disk that is filled here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_leaves_the_warehouse_as_it_was(tiny_disk: Path) -> None:
    warehouse = Warehouse(tiny_disk / "warehouse.duckdb")
    warehouse.append("questions", questions("1"))
    noise = pl.DataFrame({"question_id": [os.urandom(500).hex() for _ in range(10_000)]})
    with pytest.raises(NoSpace, match="is full"):
        warehouse.append("questions", noise.with_columns(benchmark=pl.lit("b")))
    assert [row[1] for row in ids(warehouse)] == ["1"]


def test_refuses_a_disk_that_cannot_be_written(tiny_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    for path in (tiny_disk / "w.duckdb", tiny_disk / "deep" / "w.duckdb"):
        with pytest.raises(WarehouseError, match="Read-only file system"):
            Warehouse(path).fetch("SELECT 1")
