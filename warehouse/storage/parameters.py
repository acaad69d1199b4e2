"""Statements with parameters, without the libraries that DuckDB loads to bind Python values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warehouse.schema.ddl import literal

if TYPE_CHECKING:
    import duckdb

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]

MAX_INTEGER: Final = 2**63 - 1
SHORT: Final = range(-(2**31), 2**31)
MAX_ITEMS: Final = 1_000
"""The items of a list that are written as text; longer lists are read faster as values."""

_TOKENS: Final = re.compile(
    r"""
    \b[eE]'(?:[^'\\]|\\.|'')*'     # text with backslashes
    | '(?:[^']|'')*'               # text
    | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$
    | "(?:[^"]|"")*"               # a quoted name
    | --[^\n]* | /\*.*?\*/         # comments
    | \$(?P<name>\w+) | (?P<next>\?)
    """,
    re.DOTALL | re.VERBOSE,
)
"""What may hold a `$` or `?` that is not a parameter, and parameters."""


def execute(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> duckdb.DuckDBPyConnection:
    """Execute a statement with parameters `$name`, or `?` for a sequence.

    To bind a Python value, DuckDB imports pandas, which takes longer than most commands. Plain
    values are therefore written into the statement as SQL literals; it is then also planned once,
    not twice as a prepared one.
    """
    if not parameters:
        return connection.execute(sql)
    is_named = isinstance(parameters, Mapping)
    values = parameters.items() if isinstance(parameters, Mapping) else enumerate(parameters)
    literals: dict[str | int | None, str | None] = {k: _literal(value) for k, value in values}
    used: set[str | int | None] = set()

    def write(token: re.Match[str]) -> str:
        name = token["name"] if is_named else len(used) if token["next"] else None
        text = literals.get(name)
        if text is None:
            return token[0]
        used.add(name)
        return text

    written = _TOKENS.sub(write, sql)
    # DuckDB binds other values, and says which parameters are missing or not used.
    return (
        connection.execute(written)
        if used == set(literals)
        else connection.execute(sql, parameters)
    )


def _literal(value: object) -> str | None:
    """Return a value as an SQL literal of the type to which DuckDB binds it; None if not plain."""
    text: str | None = None
    if value is None:
        text = "NULL"
    elif isinstance(value, bool):
        text = str(value).upper()
    elif type(value) is int and abs(value) <= MAX_INTEGER:
        text = f"CAST({value} AS {'INTEGER' if value in SHORT else 'BIGINT'})"
    elif type(value) is float and math.isfinite(value):
        text = f"'{value!r}'::DOUBLE"
    elif type(value) is str and "\0" not in value:
        text = f"{literal(value)}::VARCHAR"
    elif type(value) is datetime and value.tzinfo is None:
        text = f"TIMESTAMP '{value.isoformat(' ')}'"
    elif isinstance(value, list | tuple) and len(value) <= MAX_ITEMS:
        items = [_literal(item) for item in value]
        text = None if None in items else f"[{', '.join(map(str, items))}]"
    return text
