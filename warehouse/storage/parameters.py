"""Statements with parameters, without the libraries that DuckDB loads to bind Python values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from warehouse.schema.ddl import literal, quoted

if TYPE_CHECKING:
    import duckdb

Parameters: TypeAlias = Mapping[str, Any] | Sequence[Any]

MAX_INTEGER: Final = 2**63 - 1
MAX_ITEMS: Final = 1_000
"""The items of a list that are written as text; longer lists are read faster as values."""


def execute(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: Parameters | None = None
) -> duckdb.DuckDBPyConnection:
    """Execute a statement with parameters `$name`, or `?` for a sequence.

    To bind a Python value, DuckDB imports pandas, which takes longer than most commands. Plain
    values are therefore passed to a prepared statement as SQL literals.
    """
    if not parameters:
        return connection.execute(sql)
    is_named = isinstance(parameters, Mapping)
    values = parameters.values() if isinstance(parameters, Mapping) else parameters
    literals = [_literal(value) for value in values]
    # DuckDB prepares no CREATE.
    if None in literals or sql.lstrip()[:6].upper() == "CREATE":
        return connection.execute(sql, parameters)
    names = [f"{quoted(name)} := " for name in parameters] if is_named else [""] * len(literals)
    listed = ", ".join(f"{name}{text}" for name, text in zip(names, literals, strict=True))
    connection.execute(f"PREPARE scoreline_statement AS {sql}")
    return connection.execute(f"EXECUTE scoreline_statement({listed})")


def _literal(value: object) -> str | None:
    """Return a value as a SQL literal of the type to which DuckDB binds it; None if not plain."""
    text: str | None = None
    if value is None:
        text = "NULL"
    elif isinstance(value, bool):
        text = str(value).upper()
    elif type(value) is int and abs(value) <= MAX_INTEGER:
        text = str(value)
    elif type(value) is float and math.isfinite(value):
        text = f"{value!r}::DOUBLE"
    elif type(value) is str and "\0" not in value:
        text = literal(value)
    elif type(value) is datetime and value.tzinfo is None:
        text = f"TIMESTAMP '{value.isoformat(' ')}'"
    elif isinstance(value, list | tuple) and len(value) <= MAX_ITEMS:
        items = [_literal(item) for item in value]
        text = None if None in items else f"[{', '.join(map(str, items))}]"
    return text
