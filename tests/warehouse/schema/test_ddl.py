"""Statements, documentation and check follow from the table descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pytest

from warehouse.schema import ddl
from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        for statement in ddl.create_statements():
            opened.execute(statement)
        yield opened


def test_creates_what_is_described(connection: duckdb.DuckDBPyConnection) -> None:
    assert ddl.check(connection) == []
    names = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
    assert {name for (name,) in names} == set(TABLES)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("DROP TABLE labels", "table 'labels' is missing"),
        ("ALTER TABLE labels DROP value", "column 'value' of table 'labels' is missing"),
        (
            "ALTER TABLE labels ALTER value TYPE FLOAT",
            "column 'value' of table 'labels' is FLOAT, expected DOUBLE",
        ),
        (
            "ALTER TABLE labels ALTER value DROP NOT NULL",
            "column 'value' of table 'labels' is nullable",
        ),
        ("ALTER TABLE labels ADD mood INTEGER", "column 'mood' of table 'labels' is not described"),
        (
            "CREATE OR REPLACE VIEW contexts AS SELECT 1 AS benchmark",
            "column 'benchmark' of table 'contexts' is INTEGER, expected VARCHAR",
        ),
    ],
)
def test_names_each_difference(
    connection: duckdb.DuckDBPyConnection, change: str, difference: str
) -> None:
    connection.execute(change)
    assert difference in ddl.check(connection)


def test_does_not_mind_other_tables(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE TABLE mine (x INTEGER)")
    assert ddl.check(connection) == []
