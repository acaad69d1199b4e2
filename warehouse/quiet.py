"""Connections to DuckDB that write nothing to standard output.

In a process without a script of its own, such as a step's that a fork server has made, DuckDB
takes itself for a console and draws a bar there for whatever takes two seconds, be it only to
close a file. The setting is one of a connection, and no connection inherits it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_QUIET = "SET enable_progress_bar = false"


def connect(
    database: str = ":memory:", *, read_only: bool = False, config: Mapping[str, Any] | None = None
) -> duckdb.DuckDBPyConnection:
    """A connection to an engine of its own; the only place where one is opened."""
    connection = duckdb.connect(database, read_only=read_only, config=dict(config or {}))
    connection.execute(_QUIET)
    return connection


def cursor_of(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """One more connection to the engine of another."""
    cursor = connection.cursor()
    cursor.execute(_QUIET)
    return cursor
