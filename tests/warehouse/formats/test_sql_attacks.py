"""No query of a configuration changes a database, or reads a file that the configuration omits."""

from __future__ import annotations

import sqlite3
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import duckdb
import psycopg
import pytest

from tests.support.services import POSTGRES, database
from warehouse.errors import InputError, InvalidQuery
from warehouse.formats.format import Reject
from warehouse.formats.query import Query
from warehouse.formats.readers.sql import query_rows
from warehouse.publish.snapshot import Snapshot
from warehouse.publish.stream import stream_query
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORIGIN = "scoreline.yaml:3: benchmarks.b.questions"
TABLES = "CREATE TABLE q (a INTEGER); INSERT INTO q VALUES (1); CREATE TABLE v (b INTEGER); "
ROWS = "INSERT INTO v VALUES (1), (2), (3);"


def run(sql: str, database: Path | str) -> list[dict[str, object]]:
    rows = list(query_rows(Query(sql, database, ORIGIN)))
    assert not any(isinstance(row, Reject) for row in rows)
    return [row.fields for row in rows if not isinstance(row, Reject)]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with database() as name:
        address = f"postgresql://{POSTGRES['user']}@{POSTGRES['host']}/{name}"
        sql = f"{TABLES}{ROWS} CREATE SEQUENCE s; CREATE EXTENSION dblink;"
        sql += "CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'DELETE FROM v RETURNING 1';"
        subprocess.run(["psql", "--quiet", address, "--command", sql], check=True)
        yield address


def state(address: str) -> list[object]:
    """Return what an attack could change on the server."""
    counts = (
        "SELECT (SELECT count(*) FROM v), (SELECT last_value FROM s), (SELECT is_called FROM s), "
        "(SELECT count(*) FROM pg_class WHERE relkind = 'r'), "
        "(SELECT count(*) FROM pg_largeobject_metadata), "
        "(SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database "
        "WHERE locktype = 'advisory' AND datname = current_database())"
    )
    with psycopg.connect(address) as connection:
        (row,) = connection.execute(counts).fetchall()
    return list(row)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from q; commit; delete from v",
        "select * from q; commit; begin read write; create table other (a int)",
        "select * from q; commit; copy q to program 'touch {file}'",
        "select 1) to program 'touch {file}' --",
        "copy q to program 'touch {file}'",
        "copy (select 1) to '{file}'",
        "commit",
        "begin read write",
        "set transaction read write",
        "do $$ begin delete from v; end $$",
        "with gone as (delete from v returning *) select * from gone",
        "select * into other from q",
        "select * from q for update",
        "explain analyze delete from v",
        "prepare p as delete from v",
        "select nextval('s')",
        "select setval('s', 9)",
        "select own()",
        "select set_config('transaction_read_only', 'off', false)",
        "select set_config('default_transaction_read_only', 'off', false)",
        "select lo_import('/etc/hostname')",
        "select lo_create(0)",
        "select lo_from_bytea(0, '\\x00')",
        "select pg_read_file('/etc/hostname')",
        "select PG_Catalog . \"pg_read_file\" /* . */ ('/etc/hostname')",
        "select U&\"pg\\005fread_file\"('/etc/hostname')",
        "select * from pg_ls_dir('/etc')",
        "select dblink_exec('dbname=' || current_database(), 'delete from v')",
        "select * from dblink('dbname=' || current_database(), 'delete from v') as t (a text)",
        "select pg_advisory_lock(1)",
        "select pg_notify('a', 'b')",
        "select pg_terminate_backend(1)",
        "select pg_reload_conf()",
        "select query_to_xml('delete from v', true, true, '')",
    ],
)
def test_postgresql_is_only_read(postgres: str, tmp_path: Path, sql: str) -> None:
    before = state(postgres)
    file = tmp_path / "written"
    with pytest.raises(InputError, match=ORIGIN):
        run(sql.replace("{file}", str(file)), postgres)
    assert state(postgres) == before
    assert not file.exists()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select a, '100%' as share from q -- one row;", {"a": 1, "share": "100%"}),
        ("table q;", {"a": 1}),
        ("select random() < 2 and clock_timestamp() is not null as yes", {"yes": True}),
        ("with t as (select 'commit; delete' as a) select a from t", {"a": "commit; delete"}),
        ("select current_setting('transaction_read_only') as mode", {"mode": "on"}),
        ("select current_setting('default_transaction_read_only') as mode", {"mode": "on"}),
    ],
)
def test_postgresql_answers_a_select(postgres: str, sql: str, expected: dict[str, object]) -> None:
    assert run(sql, postgres) == [expected]


DUCKDB_ATTACKS = [
    "select 1; delete from v",
    "attach '{file}' as other",
    "copy q to '{file}'",
    "export database '{file}'",
    "install httpfs",
    "load httpfs",
    "pragma enable_profiling",
    "set enable_external_access = true",
    "call pragma_version()",
    "explain analyze select 1",
    "select * from read_csv('{secret}')",
    "select * from read_text('{secret}')",
    "select * from read_blob('{secret}')",
    "from '{secret}'",
    "select * from glob('{folder}/*')",
    "select * from sniff_csv('{secret}')",
    "select * from query('from read_text(''{secret}'')')",
    "select * from query_table('{secret}')",
    "select * from query('from enable_' || 'logging()')",
    "select * from Enable_Logging(storage = 'file', storage_config = {'path': '{file}'})",
    "select * from enable_profiling(format = 'json', save_location = '{file}')",
    "select (select write_log('x'))",
    "describe from enable_logging()",
    "select * from json_execute_serialized_sql(json_serialize_sql('from enable_logging()'))",
    "select * from 'https://example.org/x.csv'",
]


@pytest.mark.parametrize("sql", DUCKDB_ATTACKS)
def test_duckdb_reads_no_other_file(tmp_path: Path, sql: str) -> None:
    given, secret, written = (tmp_path / name for name in ("team.db", "secret.csv", "written"))
    secret.write_text("a\nhidden\n")
    with duckdb.connect(str(given)) as connection:
        connection.execute(TABLES + ROWS)
    before = given.read_bytes()
    for key, value in (("{file}", written), ("{secret}", secret), ("{folder}", tmp_path)):
        sql = sql.replace(key, str(value))
    with pytest.raises(InputError, match=ORIGIN) as raised:
        run(sql, given)
    assert "hidden" not in str(raised.value)
    assert given.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["secret.csv", "team.db"]


def test_the_words_of_refused_functions_may_name_columns(tmp_path: Path) -> None:
    given = tmp_path / "team.db"
    with duckdb.connect(str(given)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 'write_log()' AS query, 2 AS checkpoint")
    sql = "SELECT query, checkpoint FROM t WHERE query = 'write_log()'"
    assert run(sql, given) == [{"query": "write_log()", "checkpoint": 2}]


@pytest.mark.parametrize("sql", DUCKDB_ATTACKS)
def test_the_published_copy_reads_no_other_file(tmp_path: Path, sql: str) -> None:
    Warehouse(tmp_path / "published" / "scoreline.duckdb").fetch("SELECT 1")
    copy = Snapshot(tmp_path / "published" / "scoreline.duckdb")
    secret, written = tmp_path / "secret.csv", tmp_path / "written"
    secret.write_text("a\nhidden\n")
    before = copy.path.read_bytes()
    for key, value in (("{file}", written), ("{secret}", secret), ("{folder}", tmp_path)):
        sql = sql.replace(key, str(value))
    with pytest.raises(InvalidQuery):
        copy.fetch(sql)
    with pytest.raises(InvalidQuery), stream_query(copy, sql) as result:
        list(result.batches)
    assert copy.path.read_bytes() == before
    assert not written.exists()


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; delete from v",
        "attach '{file}' as other",
        "vacuum into '{file}'",
        "pragma writable_schema = 1",
        "pragma journal_mode = wal",
        "update sqlite_master set sql = ''",
        "select load_extension('{file}')",
        "with gone as (select 1) delete from v",
        "insert into v values (9) returning b",
        "create temp table t (a)",
        "begin immediate",
        "select readfile('/etc/hostname')",
        "select writefile('{file}', 'x')",
    ],
)
def test_sqlite_is_only_read(tmp_path: Path, sql: str) -> None:
    given, written = tmp_path / "team.db", tmp_path / "written"
    with closing(sqlite3.connect(given)) as connection:
        connection.executescript(TABLES + ROWS)
    before = given.read_bytes()
    with pytest.raises(InputError, match=ORIGIN):
        run(sql.replace("{file}", str(written)), given)
    assert given.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["team.db"]
