"""What is written is read back, in whole transactions and by one writer at a time."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from warehouse.errors import (
    DuplicateKey,
    NoSpace,
    SchemaMismatch,
    UnknownColumn,
    WarehouseError,
    WarehouseLocked,
    WarehouseTooNew,
)
from warehouse.store import Warehouse
from warehouse.tables import SCHEMA_VERSION, TABLES, Table

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
    "INTEGER": (pl.Int32, st.integers(-(2**31), 2**31 - 1)),
    "BIGINT": (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    "UBIGINT": (pl.UInt64, st.integers(0, 2**64 - 1)),
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


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "deep" / "warehouse.duckdb", patience_s=0.2)


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    return Warehouse(tmp_path_factory.mktemp("lasting") / "warehouse.duckdb")


def questions(*ids: str, benchmark: str = "b", text: str = "?") -> pl.DataFrame:
    return pl.DataFrame(
        [{"benchmark": benchmark, "question_id": each, "question": text} for each in ids]
    )


def ids(warehouse: Warehouse) -> list[tuple[str, str, str]]:
    return warehouse.fetch(
        "SELECT benchmark, question_id, question FROM questions ORDER BY ALL"
    ).rows()


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


def test_a_spool_gives_what_fetch_gives(lasting: Warehouse) -> None:
    rows = pl.DataFrame(
        {
            "benchmark": "b",
            "question_id": [f"q{i:05}" for i in range(5000)],
            "tags": [[{"key": "k", "value": str(i % 3)}] if i % 2 else [] for i in range(5000)],
            "rubric": [None if i % 3 else '{"a":1}' for i in range(5000)],
            "gold_doc_ids": [[None, [], ["d"]][i % 3] for i in range(5000)],
        }
    )
    lasting.replace("questions", rows, {})
    sql = (
        "SELECT question_id, tags, rubric, gold_doc_ids FROM questions "
        "WHERE question_id < $last ORDER BY question_id"
    )
    with lasting.spool(sql, {"last": "q04500"}) as spool:
        assert spool.rows == 4500
        batches = list(spool.batches(rows=1000))
        assert [batch.height for batch in batches] == [1000, 1000, 1000, 1000, 500]
        expected = lasting.fetch(sql, {"last": "q04500"})
        assert_frame_equal(pl.concat(batches), expected)
        assert_frame_equal(spool.frame(), expected)
        # The warehouse is free while the spool is being read.
        lasting.replace("questions", rows, {})
    assert not spool.path.exists()
    assert not lasting.path.with_name(lasting.path.name + ".scratch").exists()


def test_an_empty_spool_has_no_batches(warehouse: Warehouse) -> None:
    with warehouse.spool("SELECT * FROM questions") as spool:
        assert (spool.rows, list(spool.batches())) == (0, [])
        assert spool.frame().columns == list(TABLES["questions"].column_names)


def test_first_use_creates_every_table(warehouse: Warehouse) -> None:
    assert warehouse.fetch("SELECT * FROM leaderboard").columns == list(
        TABLES["leaderboard"].column_names
    )
    assert warehouse.differences() == []


def test_replacing_twice_equals_replacing_once(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1", "2", benchmark="other"))
    for _ in range(2):
        warehouse.replace("questions", questions("1", "2"), {"benchmark": "b"})
    assert [row[:2] for row in ids(warehouse)] == [
        ("b", "1"),
        ("b", "2"),
        ("other", "1"),
        ("other", "2"),
    ]


def test_replacing_by_key_touches_those_keys_only(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1", "2"))
    warehouse.replace("questions", questions("2", "3", text="!"))
    assert ids(warehouse) == [("b", "1", "?"), ("b", "2", "!"), ("b", "3", "!")]


def test_nulls_in_a_key_are_equal(warehouse: Warehouse) -> None:
    problem = pl.DataFrame(
        {
            "benchmark": "b",
            "system": "s",
            "evaluator": [None],
            "metric": [None],
            "kind": "slow",
            "question_id": pl.Series([None], dtype=pl.String),
            "severity": "low",
            "message": "It is slow.",
        },
        schema_overrides={"evaluator": pl.String, "metric": pl.String},
    )
    for _ in range(2):
        warehouse.replace("problems", problem)
    assert warehouse.fetch("SELECT count(*) FROM problems").item() == 1


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ({}, 0),
        ({"benchmark": "b"}, 2),
        ({"benchmark": "b", "question_id": ["1", "9"]}, 3),
        ({"question_id": ("1",)}, 2),
        ({"question_id": []}, 4),
        ({"doc_id": None}, 0),
        ({"benchmark": None}, 4),
    ],
)
def test_deletes_what_is_equal(warehouse: Warehouse, where: dict[str, Any], left: int) -> None:
    warehouse.append("questions", questions("1", "2"))
    warehouse.append("questions", questions("1", "2", benchmark="c"))
    with warehouse.transaction() as transaction:
        assert transaction.delete("questions", where) == 4 - left
    assert len(ids(warehouse)) == left


def test_a_failed_transaction_changes_nothing(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1"))

    def fail_at_last() -> None:
        with warehouse.transaction() as transaction:
            transaction.replace("questions", questions("2"), {})
            assert transaction.fetch("SELECT question_id FROM questions").item() == "2"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_at_last()
    assert [row[1] for row in ids(warehouse)] == ["1"]


@pytest.mark.parametrize(
    ("table", "rows", "where", "error", "message"),
    [
        ("questions", {"questoin": "x"}, None, UnknownColumn, "did you mean 'question'"),
        ("questions", {"questoin": None}, None, UnknownColumn, "did you mean 'question'"),
        ("questions", {"benchmark": "b"}, None, UnknownColumn, 'lack "question_id"'),
        ("questions", {"benchmark": "b"}, {"doc": 1}, UnknownColumn, "did you mean 'doc_id'"),
        (
            "questions",
            {"benchmark": "b", "question_id": "1"},
            {"benchmark": "c"},
            WarehouseError,
            "1 new rows of 'questions' lie outside of what they replace: benchmark='c'",
        ),
        ("scores", {"benchmark": "b"}, None, WarehouseError, "'scores' is a view"),
    ],
)
def test_refuses_rows_that_do_not_fit(
    warehouse: Warehouse,
    table: str,
    rows: dict[str, Any],
    where: dict[str, Any] | None,
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        warehouse.replace(table, pl.DataFrame([rows]), where)


def test_names_a_key_that_comes_twice(warehouse: Warehouse) -> None:
    twice = questions("1", "2", "1")
    with pytest.raises(DuplicateKey, match=r"2 rows .* benchmark='b', question_id='1'"):
        warehouse.replace("questions", twice)
    assert ids(warehouse) == []


def test_finds_a_key_that_stands_there_twice(warehouse: Warehouse) -> None:
    with warehouse.transaction() as transaction:
        transaction.append("questions", questions("1", "2", "1"))
        transaction.require_unique("questions", {"benchmark": "other"})
        for where in (None, {"benchmark": "b"}):
            with pytest.raises(DuplicateKey, match="question_id='1'"):
                transaction.require_unique("questions", where)


def test_marks_are_kept_by_benchmark_and_stage(warehouse: Warehouse) -> None:
    with warehouse.transaction() as transaction:
        for benchmark, stage, digest in [("b", "q", "1"), ("b", "p", "2"), ("c", "q", "3")]:
            transaction.mark(benchmark, stage, digest)
        transaction.mark("b", "q", "4")
    assert warehouse.marks("b") == {"q": "4", "p": "2"}
    assert warehouse.marks("none") == {}


def test_frames_without_columns_add_nothing(warehouse: Warehouse) -> None:
    assert warehouse.append("questions", pl.DataFrame()) == 0
    assert warehouse.replace("questions", pl.DataFrame(), {"benchmark": "b"}) == 0


def test_a_misspelt_table_is_not_a_variable(warehouse: Warehouse) -> None:
    frame = pl.DataFrame({"x": [1]})
    with pytest.raises(duckdb.CatalogException, match="frame does not exist"):
        warehouse.fetch("SELECT * FROM frame")
    assert frame.height == 1


def test_scores_pad_short_lists_and_push_filters_down(warehouse: Warehouse) -> None:
    now = datetime(2026, 1, 1)  # noqa: DTZ001
    key = {"benchmark": "b", "system": "s", "evaluator": "e", "signature": "g"}
    with warehouse.transaction() as transaction:
        transaction.append(
            "signatures",
            pl.DataFrame([{**key, "version": 1, "metrics": ["x", "y"], "first_seen": now}]).drop(
                "benchmark", "system"
            ),
        )
        row = {**key, "input_digest": 1, "scored_at": now}
        transaction.append(
            "grades",
            [
                pl.DataFrame([{**row, "question_id": "1", "values": [0.5, 1.0]}]),
                pl.DataFrame(
                    [
                        {
                            **row,
                            "question_id": "2",
                            "values": [0.0, None],
                            "statuses": ["scored", "undefined"],
                            "reasons": ["target_error", "nothing to divide by"],
                        }
                    ]
                ),
            ],
        )
    shown = warehouse.fetch(
        "SELECT question_id, metric, value, status, reason FROM scores ORDER BY ALL"
    )
    assert shown.rows() == [
        ("1", "x", 0.5, "scored", None),
        ("1", "y", 1.0, "scored", None),
        ("2", "x", 0.0, "scored", "target_error"),
        ("2", "y", None, "undefined", "nothing to divide by"),
    ]
    plan = warehouse.fetch("EXPLAIN SELECT * FROM scores WHERE benchmark = 'b' AND system = 's'")
    scan = plan["explain_value"].item().split("UNNEST")[-1]
    assert re.search(r"benchmark='b'", scan)
    assert re.search(r"system='s'", scan)


def test_contexts_show_one_retrieved_thing_a_row(warehouse: Warehouse) -> None:
    key = {"benchmark": "b", "system": "s"}
    rows = [
        {**key, "question_id": "1", "contexts": ["u", "v"], "retrieved_doc_ids": ["d"]},
        {**key, "question_id": "2", "contexts": [], "retrieved_doc_ids": None},
        {**key, "question_id": "3", "contexts": None, "retrieved_doc_ids": None},
    ]
    warehouse.append("predictions", pl.DataFrame(rows))
    assert warehouse.fetch(
        "SELECT question_id, rank, doc_id, chunk_id, score, text FROM contexts ORDER BY ALL"
    ).rows() == [("1", 1, "d", None, None, "u"), ("1", 2, None, None, None, "v")]


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


def test_refuses_a_database_that_is_something_else(warehouse: Warehouse) -> None:
    warehouse.path.parent.mkdir()
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("CREATE TABLE t (x INTEGER)")
    with pytest.raises(SchemaMismatch, match="not a warehouse of Scoreline's"):
        warehouse.fetch("SELECT 1")


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 10_000])
def test_refuses_a_file_that_is_no_database(warehouse: Warehouse, content: bytes) -> None:
    warehouse.path.parent.mkdir()
    warehouse.path.write_bytes(content)
    for use in (lambda: warehouse.fetch("SELECT 1"), lambda: warehouse.append("marks", [])):
        with pytest.raises(WarehouseError, match="is not a DuckDB database"):
            use()
    assert warehouse.path.read_bytes() == content


def test_refuses_a_folder(warehouse: Warehouse) -> None:
    warehouse.path.mkdir(parents=True)
    with pytest.raises(WarehouseError, match="is a folder, expected a DuckDB file"):
        warehouse.fetch("SELECT 1")


def test_refuses_a_place_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WarehouseError, match="cannot be made: Not a directory"):
        Warehouse(tmp_path / "file" / "deep" / "w.duckdb").fetch("SELECT 1")


def test_waits_for_a_process_that_ignores_the_lock(warehouse: Warehouse) -> None:
    warehouse.fetch("SELECT 1")
    shell = (
        "import duckdb, sys\n"
        "connection = duckdb.connect(sys.argv[1])\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", shell, str(warehouse.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(WarehouseLocked, match=f"held open by process {process.pid}, "):
            warehouse.fetch("SELECT 1")
        process.communicate("")
    assert warehouse.fetch("SELECT 1").item() == 1


def test_a_killed_writer_leaves_the_warehouse_as_it_was(warehouse: Warehouse) -> None:
    warehouse.append("questions", questions("1"))
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "import polars as pl\n"
        "from warehouse.store import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).transaction() as transaction:\n"
        "    transaction.delete('questions', {})\n"
        "    frame = pl.DataFrame({'question_id': [str(i) for i in range(300_000)]})\n"
        "    transaction.append('questions', frame.with_columns(benchmark=pl.lit('b')))\n"
        "    os.mkdir(sys.argv[1] + '.scratch')\n"
        "    os.mkdir(sys.argv[1] + f'.scratch/{os.getpid()}@{os.uname().nodename}')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(warehouse.path)], check=False)
    assert killed.returncode == -9
    assert [row[1] for row in ids(warehouse)] == ["1"]
    warehouse.append("questions", questions("2"))
    assert [row[1] for row in ids(warehouse)] == ["1", "2"]
    assert list(warehouse.path.parent.glob("*.scratch/*")) == []


WRITE = """
import sys
from pathlib import Path
import polars as pl
from warehouse.store import Warehouse
warehouse = Warehouse(Path(sys.argv[1]))
for i in range(5):
    frame = pl.DataFrame({"benchmark": [sys.argv[2]], "question_id": [str(i)]})
    warehouse.append("questions", frame)
    assert warehouse.fetch(
        "SELECT count(*) FROM questions WHERE benchmark = $b", {"b": sys.argv[2]}
    ).item() == i + 1
"""


def test_processes_take_turns(warehouse: Warehouse) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(warehouse.path), name]) for name in "abc"
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
