"""Reads the rows of queries on DuckDB, SQLite and PostgreSQL, which cannot change anything.

Each database parses the query itself, as one SELECT, before anything of it is executed.
"""

from __future__ import annotations

import re
from contextlib import closing
from datetime import date, datetime, time
from decimal import Decimal
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import xxhash

from calls.file_system import special_file
from records.packages import install_command
from warehouse.errors import WarehouseError, suggest_name
from warehouse.formats.format import SHOWN, Reject
from warehouse.formats.readers.limits import too_many_fields
from warehouse.formats.readers.rows import Row
from warehouse.formats.readers.strict_json import first_repeated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import psycopg

    from warehouse.formats.query import Query

BATCH_ROWS: Final = 1_000
PATIENCE_S: Final = 3.0
"""How long a process may keep a DuckDB file open for writing."""

SQLITE: Final = b"SQLite format 3\0"

HARMLESS: Final = frozenset(
    {
        "clock_timestamp",
        "gen_random_bytes",
        "gen_random_uuid",
        "random",
        "random_normal",
        "timeofday",
        "uuid_generate_v1",
        "uuid_generate_v1mc",
        "uuid_generate_v4",
        "uuidv4",
        "uuidv7",
    }
)
"""Functions of PostgreSQL that are volatile because their values differ, not because they act."""

VOLATILE: Final = """
SELECT DISTINCT proname::text FROM pg_catalog.pg_proc
WHERE provolatile = 'v' AND proname = ANY(%s) AND NOT 'internal'::regtype = ANY(proargtypes) AND (
    pronamespace = 'pg_catalog'::regnamespace
    OR oid IN (
        SELECT objid FROM pg_catalog.pg_depend
        WHERE classid = 'pg_catalog.pg_proc'::regclass AND deptype = 'e'
    )
)
"""
"""Which of some names are volatile functions of PostgreSQL itself or of an extension.

A read-only transaction does not keep them from files, locks, other connections or processes.
Those with an argument of type `internal` cannot be called by a query.
"""

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
            yield dict(zip(names, row, strict=True))


def _batches(query: Query) -> Batches:
    database = query.database
    if isinstance(database, str):
        return _postgres(query, database)
    kind = special_file(database)
    if kind is not None:
        raise query.wrong(f"{str(database)!r} is {kind}, expected a DuckDB or SQLite file")
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

    from warehouse.storage.connect import require_select
    from warehouse.storage.connection import Settings, connect_file

    settings = Settings(memory_limit=query.memory_limit, sealed=True)
    try:
        with connect_file(
            file, read_only=True, settings=settings, patience_s=PATIENCE_S
        ) as connection:
            try:
                require_select(connection, query.sql)
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
        import psycopg
    except ImportError as error:
        raise query.wrong(
            f"PostgreSQL needs the package 'psycopg': {install_command('lake')}"
        ) from error
    from warehouse.storage.location import with_timeouts

    sql = query.sql.strip().rstrip(";")
    try:
        with closing(
            psycopg.connect(with_timeouts(address), password=query.password)
        ) as connection:
            connection.read_only = True
            # For this transaction only: a connection pool may give the session to another user.
            connection.execute("SET LOCAL default_transaction_read_only = on")
            _require_harmless(query, connection)
            # A cursor with a name is one of the server, which does not send all rows at once. The
            # server prepares `DECLARE ... FOR` and the query as one statement, which must be a
            # SELECT; a second statement is a syntax error.
            with connection.cursor("scoreline") as cursor:
                cursor.execute(sql.encode())
                while rows := cursor.fetchmany(BATCH_ROWS):
                    yield [str(column.name) for column in cursor.description or ()], rows
    except (psycopg.Error, UnicodeError) as error:
        raise query.wrong(_first_lines(error)) from error


def _require_harmless(query: Query, connection: psycopg.Connection) -> None:
    """Check that a query does not mention a function of PostgreSQL that acts.

    Raises:
        InputError: It does.
    """
    text = query.sql.lower()
    words = {*re.findall(r"[\w$]+", text)} - HARMLESS
    # An identifier in this notation is spelt with escapes.
    if 'u&"' in text:
        raise query.wrong('only reading is allowed: write the name in U&"..." without escapes')
    for (name,) in connection.execute(VOLATILE, [sorted(words)]).fetchall():
        raise query.wrong(
            f"only reading is allowed: the function {name!r} of PostgreSQL may do more"
        )


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
