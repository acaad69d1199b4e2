"""A warehouse of every earlier version becomes one of this version, and nothing in it is lost."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from warehouse.errors import NoSpace, SchemaMismatch, SchemaOutdated
from warehouse.publish.snapshot import Snapshot
from warehouse.schema import migrations
from warehouse.schema.ddl import check
from warehouse.schema.tables import SCHEMA_VERSION, TABLES
from warehouse.storage import migrate
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Mapping

FIRST = Path(__file__).with_name("version_1.sql")
ROWS = """
INSERT INTO questions BY NAME SELECT 'old' AS benchmark, 'q' || i AS question_id FROM range(5) t(i);
INSERT INTO predictions BY NAME
    SELECT 'old' AS benchmark, 's' AS system, 'q' || i AS question_id, 'yes' AS answer
    FROM range(5) t(i);
INSERT INTO judgments BY NAME
    SELECT 'd' || i AS digest, 'm' AS model, '[]' AS messages, 0 AS replicate, 'paid for' AS reply,
        'scored' AS status, TIMESTAMP '2026-01-01' AS judged_at FROM range(7) t(i);
INSERT INTO leaderboard BY NAME
    SELECT 'old' AS benchmark, 'all' AS slice, 's' AS system, 'e' AS evaluator, 'm' AS metric,
        0.5 AS mean, 5 AS n, 5 AS n_scored, 0 AS n_not_applicable, 0 AS n_undefined,
        0 AS n_parse_failure, 0 AS n_judge_error, 0 AS n_target_error, 'high' AS best,
        1 AS is_primary, 'e|1' AS signature, TIMESTAMP '2026-01-01' AS published_at;
INSERT INTO leaderboard_history
    SELECT TIMESTAMP '2026-01-01' + INTERVAL (i) DAY, 'old', 'all', 's', 'e', 'm' || j, 0.5, 0.4,
        0.6, 5, 'e|1' FROM range(3) t(i), range(2) u(j);
INSERT INTO marks VALUES ('old', 'questions', 'x', TIMESTAMP '2026-01-01');
INSERT INTO marks VALUES ('old', 'leaderboard', 'x', TIMESTAMP '2026-01-01');
"""
"""Rows for tables whose columns of version 1 are named, so that they fit later versions too."""

PACKED_CALLS = """
INSERT INTO asks VALUES
    ('b', 's', 'q', 'e', 0, 'd0'), ('b', 's', 'q', 'e', 1, 'd1'),
    ('b', 's', 'q', 'e', 100003, 'd2'), ('b', 's', 'q', 'e', 2000001, 'd3'),
    ('b', 's', 'q', 'e', 4200002, 'd4'), ('b', 's', 'q', 'e', 2, 'd5');
UPDATE judgments SET replicate = 2001 WHERE digest = 'd5';
"""
"""Calls of earlier versions: for answer `r`, member `m` counted from 2,000,000 r + 100,000 m on."""

NUMBERED_CALLS = "SELECT digest, repeat, member, replicate, turn, step FROM asks ORDER BY ALL"

NUMBERS = [
    ("d0", 0, 0, 0, 0, 0),
    ("d1", 0, 0, 0, 0, 1),
    ("d2", 0, 1, 0, 0, 3),
    ("d3", 1, 0, 0, 0, 1),
    ("d4", 2, 2, 0, 0, 2),
    ("d5", 0, 0, 2, 0, 2),
]


@pytest.fixture
def old(tmp_path: Path) -> Warehouse:
    """A warehouse as version 1 wrote it, with something in its main tables."""
    path = tmp_path / "warehouse.duckdb"
    made = FIRST.read_text(encoding="utf-8")
    with duckdb.connect(str(path)) as connection:
        connection.execute(made + ROWS)
    return Warehouse(path)


def counts(connection: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
    tables = ("questions", "predictions", "judgments", "leaderboard")
    rows = (connection.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables)
    return {table: row[0] for table, row in zip(tables, rows, strict=True) if row}


KEPT = {"questions": 5, "predictions": 5, "judgments": 7, "leaderboard": 1}


@pytest.mark.parametrize("use", ["read", "write"])
def test_version_1_becomes_this_version_at_its_first_use(old: Warehouse, use: str) -> None:
    if use == "read":
        assert old.fetch("SELECT count(*) FROM judgments").item() == 7
    else:
        with old.transaction() as transaction:
            transaction.record_fingerprint("new", "questions", "y")
    with old.reading() as connection:
        # Fails when a described table has changed and no file in warehouse/migrations says how.
        assert check(connection) == []
        assert counts(connection) == KEPT
    # What came about otherwise is made anew; what did not is left in peace.
    assert set(old.fingerprints("old")) == {"questions"}
    backup = old.path.with_name("warehouse.version-1.duckdb")
    with duckdb.connect(str(backup), read_only=True) as connection:
        assert migrate.schema_version(connection, backup) == 1
        assert counts(connection) == KEPT


def test_a_fresh_warehouse_is_what_an_upgraded_one_is(old: Warehouse, tmp_path: Path) -> None:
    shape = (
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal ORDER BY ALL"
    )
    fresh = Warehouse(tmp_path / "fresh.duckdb")
    assert old.fetch(shape).rows() == fresh.fetch(shape).rows()
    assert {row[0] for row in fresh.fetch(shape).iter_rows()} == set(TABLES)


def test_earlier_leaderboards_become_publications(old: Warehouse) -> None:
    rows = old.fetch("SELECT day(published_at), run_id, tag FROM publications ORDER BY ALL").rows()
    assert rows == [(1, None, None), (2, None, None), (3, None, None)]


def test_packed_numbers_of_calls_become_columns(old: Warehouse) -> None:
    with duckdb.connect(str(old.path)) as connection:
        connection.execute(PACKED_CALLS)
    assert old.fetch(NUMBERED_CALLS).rows() == NUMBERS


def test_files_with_fields_that_were_unknown_are_read_again(old: Warehouse) -> None:
    stored = {"questions": '{"turn": 1}', "predictions": '{"tokens_in": 1}', "neither": None}
    with duckdb.connect(str(old.path)) as connection:
        for name, extra in stored.items():
            for table in ("questions", "predictions"):
                given = extra if name == table else '{"turns": 1}'
                system = {"system": "s"} if table == "predictions" else {}
                row = {"benchmark": name, **system, "question_id": "q", "extra": given}
                places = ", ".join(f"${each}" for each in row)
                connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", row)
                connection.execute(
                    "INSERT INTO marks VALUES (?, ?, 'x', TIMESTAMP '2026-01-01')", [name, table]
                )
            connection.execute(
                "INSERT INTO meta VALUES (?, 'y')", [f"pieces of predictions of {name}"]
            )
    marks = old.fetch("SELECT benchmark, stage FROM marks WHERE benchmark <> 'old' ORDER BY ALL")
    assert marks.rows() == [
        ("neither", "predictions"),
        ("neither", "questions"),
        ("predictions", "questions"),
        ("questions", "predictions"),
    ]
    pieces = old.fetch("SELECT name FROM meta WHERE starts_with(name, 'pieces') ORDER BY ALL")
    names = [name.rpartition(" ")[2] for name in pieces["name"]]
    assert names == ["neither", "questions"]


def test_every_version_has_its_step() -> None:
    assert list(migrations.steps()) == list(range(2, SCHEMA_VERSION + 1))


def test_what_a_killed_writer_left_in_the_log_is_brought_along(old: Warehouse) -> None:
    log = old.path.with_name(old.path.name + ".wal")
    with duckdb.connect(str(old.path)) as connection:
        connection.execute("SET checkpoint_threshold = '1GB'")
        connection.execute("INSERT INTO marks VALUES ('b', 's', 'late', TIMESTAMP '2026-01-01')")
        kept, copied = old.path.with_name("kept"), old.path.with_name("copied")
        shutil.copyfile(old.path, kept)
        shutil.copyfile(log, copied)
    kept.replace(old.path)
    copied.replace(log)
    assert old.fingerprints("b") == {"s": "late"}


def test_without_room_for_the_copy_nothing_changes(
    old: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = old.path.read_bytes()
    usage = shutil.disk_usage(old.path.parent)._replace(free=0)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "disk_usage", lambda _: usage)
        with pytest.raises(NoSpace, match="starts with a backup, which needs"):
            old.fetch("SELECT 1")
    assert old.path.read_bytes() == before
    assert list(old.path.parent.glob("*.version-1*")) == []


def test_a_step_that_fails_changes_nothing(old: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    incomplete = {2: "DROP TABLE judgments; ALTER TABLE questions RENAME TO lost"}
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "steps", lambda: incomplete)
        with pytest.raises(SchemaMismatch, match="cannot be migrated from version 1"):
            old.fetch("SELECT 1")
    with duckdb.connect(str(old.path), read_only=True) as connection:
        assert migrate.schema_version(connection, old.path) == 1
        assert counts(connection) == KEPT
        assert connection.execute("SELECT count(*) FROM scores").fetchone() == (0,)


def test_a_published_copy_is_never_changed(old: Warehouse) -> None:
    before = old.path.read_bytes()
    with pytest.raises(SchemaOutdated, match="the next `scoreline run` migrates it"):
        Snapshot(old.path).fetch("SELECT 1")
    assert old.path.read_bytes() == before
