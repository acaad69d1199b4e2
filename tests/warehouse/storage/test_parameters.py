"""Parameters arrive as DuckDB would bind them, and nothing is imported for plain ones."""

from __future__ import annotations

import subprocess
import sys
from datetime import date

import duckdb
import pytest

from warehouse.storage.parameters import MAX_ITEMS, execute

PLAIN = [
    *("x", "a'b", '"', "$1 ?", "é\n", ""),
    *(5, -5, 2**31, 2**63 - 1, -(2**63) + 1),
    *(0.5, 3.0, 0.1, -0.0, 1e-300, 1e300),
    *(True, None, [], ["a"], [None, "a"], ("a", "b"), [1, 2], [1.5]),
]
OTHER = [float("inf"), "a\0b", 2**80, b"x", {"a": 1}, date(2026, 1, 2), ["x"] * (MAX_ITEMS + 1)]


@pytest.mark.parametrize("value", [*PLAIN, *OTHER], ids=lambda value: repr(value)[:20])
def test_values_and_types_are_those_of_bound_parameters(value: object) -> None:
    with duckdb.connect() as connection:
        for sql, parameters in (
            ("SELECT $a AS a, typeof($a) AS t", {"a": value}),
            ("SELECT ? AS a", [value]),
        ):
            bound = connection.execute(sql, parameters)
            expected = bound.description, repr(bound.fetchall())
            got = execute(connection, sql, parameters)
            assert (got.description, repr(got.fetchall())) == expected


def test_changes_copies_and_frames_take_parameters() -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS i FROM range(10)")
        changed = execute(connection, "DELETE FROM t WHERE i < $n", {"n": 4}).fetchone()
        assert changed == (4,)
        query = "SELECT i FROM t WHERE list_contains($some, i) ORDER BY i"
        frame = execute(connection, query, {"some": [3, 4, 5]}).pl()
        assert frame["i"].to_list() == [4, 5]


def test_a_missing_parameter_is_an_error() -> None:
    with duckdb.connect() as connection, pytest.raises(duckdb.InvalidInputException, match="b"):
        execute(connection, "SELECT $a, $b", {"a": 1})


def test_plain_parameters_do_not_import_pandas() -> None:
    code = (
        "import duckdb, sys; from warehouse.storage.parameters import execute; "
        "execute(duckdb.connect(), 'SELECT $a', {'a': ['x']}).fetchall(); "
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_table_is_created_with_parameters() -> None:
    with duckdb.connect() as connection:
        execute(connection, "\n  CREATE TEMP TABLE t AS SELECT $a AS a", {"a": 1})
        assert connection.execute("FROM t").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT '$a', 'it''s $a', $a",
        "SELECT E'it\\'s $a', $a",
        'SELECT $a AS "$a ""$a"',
        "SELECT $$ $a ' $$, $x$ $$a$$ $x$, $a",
        "SELECT $a -- $a '\n, $a /* $a\n' */ + 1",
        "SELECT [1, 2, 3][$a:], 1-$a, 2--$a\n",
    ],
)
def test_only_parameters_are_replaced(sql: str) -> None:
    with duckdb.connect() as connection:
        expected = connection.execute(sql, {"a": 2}).fetchall()
        assert execute(connection, sql, {"a": 2}).fetchall() == expected


def test_text_that_looks_like_sql_stays_text() -> None:
    value = "'; DROP TABLE t; -- $b ? $$"
    with duckdb.connect() as connection:
        named = execute(connection, "SELECT $a, $b", {"a": value, "b": "$a"})
        assert named.fetchall() == [(value, "$a")]
        assert execute(connection, "SELECT ?, ?", [value, "?"]).fetchall() == [(value, "?")]


def test_an_unused_parameter_is_an_error() -> None:
    with duckdb.connect() as connection, pytest.raises(duckdb.InvalidInputException, match="b"):
        execute(connection, "SELECT $a, '$b'", {"a": 1, "b": 2})
