"""Reads the rows of queries on DuckDB, SQLite and PostgreSQL, which cannot change anything."""

from __future__ import annotations

from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import xxhash

from warehouse.errors import WarehouseError, suggest_name
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.limits import too_many_fields
from warehouse.formats.readers.rows import Row
from warehouse.formats.readers.strict_json import first_repeated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.formats.query import Query

BATCH_ROWS: Final = 1_000
PATIENCE_S: Final = 3.0
"""How long a process may keep a DuckDB file open for writing."""

SQLITE: Final = b"SQLite format 3\0"

Columns: TypeAlias = list[str]
Batches: TypeAlias = "Iterator[tuple[Columns, list[tuple[Any, ...]]]]"
"""The rows of a result, some at a time, with the names of their columns."""


def query_rows(query: Query) -> Iterator[Row | Reject]:
    """Yield the rows of a query and their numbers, from 1, within bounded memory.

    Raises:
        InputError: The database or the query is not valid.
    """
    for number, fields in enumerate(_fields(query), start=1):
        try:
            plain = {name: _plain(value) for name, value in fields.items()}
        except TypeError as error:
            yield Reject(number, str(error), str(fields)[:SHOWN])
        else:
            yield Row(plain, number, str(plain)[:SHOWN])


def query_digest(query: Query) -> bytes:
    """Return a digest of the rows of a query, whatever their order; it reads all of them.

    Raises:
        InputError: The database or the query is not valid.
    """
    total = count = 0
    for fields in _fields(query):
        total += xxhash.xxh3_128_intdigest(repr(fields).encode(errors="surrogatepass"))
        count += 1
    return (total % 2**128).to_bytes(16, "little") + count.to_bytes(8, "little")


def _fields(query: Query) -> Iterator[dict[str, Any]]:
    names: Columns | None = None
    for columns, rows in _batches(query):
        if names is None:
            names = columns
            twice = first_repeated(names)
            reason = too_many_fields(len(names))
            if twice is not None:
                reason = f"two columns have the name {twice!r}"
            if reason is not None:
                raise query.wrong(reason)
        for row in rows:
            # PostgreSQL's binary data would otherwise look different in each process.
            values = (bytes(each) if isinstance(each, memoryview) else each for each in row)
            yield dict(zip(names, values, strict=True))


def _batches(query: Query) -> Batches:
    database = query.database
    if isinstance(database, str):
        return _postgres(query, database)
    if not database.is_file():
        names = [each.name for each in database.parent.glob("*") if each.is_file()]
        hint = suggest_name(database.name, names[:1000]) if names else ""
        raise query.wrong(f"there is no database {str(database)!r}{hint}")
    try:
        with database.open("rb") as file:
            beginning = file.read(len(SQLITE))
    except OSError as error:
        raise query.wrong(f"{str(database)!r} cannot be read: {error.strerror}") from error
    return (_sqlite if beginning == SQLITE else _duckdb)(query, database)


def _duckdb(query: Query, file: Path) -> Batches:
    import duckdb

    from warehouse.storage.connection import Settings, connect_file

    settings = Settings(memory_limit=query.memory_limit)
    try:
        with connect_file(
            file, read_only=True, settings=settings, patience_s=PATIENCE_S
        ) as connection:
            try:
                statements = connection.extract_statements(query.sql)
                kinds = [statement.type for statement in statements]
                if kinds != [duckdb.StatementType.SELECT]:
                    found = ", ".join(kind.name for kind in kinds) or "nothing"
                    raise query.wrong(f"expected one SELECT, found {found}")
                connection.execute(query.sql)
                columns = [str(name) for name, *_ in connection.description or []]
                while rows := connection.fetchmany(BATCH_ROWS):
                    yield columns, rows
            except duckdb.Error as error:
                raise query.wrong(_first_lines(error)) from error
    except WarehouseError as error:
        if str(error).startswith(query.origin):
            raise
        raise query.wrong(str(error)) from error


def _sqlite(query: Query, file: Path) -> Batches:
    import sqlite3

    allowed = {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
    }

    def authorize(action: int, first: str | None, second: str | None, *_: object) -> int:
        is_extension = action == sqlite3.SQLITE_FUNCTION and "load_extension" in (first, second)
        denied = action not in allowed or is_extension
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    try:
        with closing(
            sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        ) as connection:
            connection.set_authorizer(authorize)
            cursor = connection.execute(query.sql)
            columns = [str(name) for name, *_ in cursor.description or []]
            if not columns:
                raise query.wrong("expected one SELECT")
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield columns, rows
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        message = str(error)
        if message == "not authorized":
            message = "expected one SELECT that only reads"
        raise query.wrong(message) from error


def _postgres(query: Query, address: str) -> Batches:
    try:
        import psycopg2
    except ImportError as error:
        raise query.wrong(
            "PostgreSQL needs the package 'psycopg2-binary': `pip install scoreline[lake]`"
        ) from error
    from warehouse.storage.location import with_timeouts

    password = {} if query.password is None else {"password": query.password}
    try:
        with closing(psycopg2.connect(with_timeouts(address), **password)) as connection:
            connection.set_session(readonly=True)
            # A cursor with a name is one of the server, which does not send all rows at once.
            with connection.cursor("scoreline") as cursor:
                cursor.execute(query.sql.strip().rstrip(";"))
                while rows := cursor.fetchmany(BATCH_ROWS):
                    yield [str(column.name) for column in cursor.description], rows
    except (psycopg2.Error, UnicodeError) as error:
        raise query.wrong(_first_lines(error)) from error


def _first_lines(error: Exception) -> str:
    """Return the message of a database in one line, without the excerpt of the query."""
    lines = str(error).partition("\nLINE ")[0].splitlines()
    return " ".join(line.strip() for line in lines if line.strip())


def _plain(value: object) -> Any:
    """Return a value of a database as JSON has it.

    Raises:
        TypeError: It has no counterpart.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case Decimal():
            number = float(value)  # Infinite if it has too many digits, too.
            is_whole = isfinite(number) and value == value.to_integral_value()
            return int(value) if is_whole else number
        case dict():
            return {str(key): _plain(each) for key, each in value.items() if each is not None}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime() | date() | time():
            return value.isoformat()
        case bytes():
            raise TypeError("expected text, numbers, lists and objects, found binary data")
        case _:
            return str(value)
