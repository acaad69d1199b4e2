"""Exports the published copy to a SQL database: a table for each table and view."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import LONGTEXT
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from records.packages import install_command
from warehouse.errors import WarehouseError
from warehouse.publish.publications import KEPT_TABLES
from warehouse.publish.stream import BATCH_ROWS
from warehouse.schema.quoting import literal, quoted
from warehouse.schema.tables import GROUPS
from warehouse.storage.connection import connect_file
from warehouse.storage.migrate import require_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    from sqlalchemy.engine import URL, Connection, Engine

    from warehouse.publish.snapshot import Snapshot
    from warehouse.schema.tables import Table

NOTES: Final = "scoreline_export"
"""The table that says which tables were exported, and with which columns."""

SCHEMA: Final = "scoreline"
"""The schema in a database that has schemas, unless another one is named."""

LEFT_OUT: Final = ("grades", "answer_grades", "publication_data", *KEPT_TABLES)
"""Tables whose content the views have in a form for queries."""

EXPORTED: Final = tuple(
    table
    for group in GROUPS
    for table in group.tables
    if group.title != "Bookkeeping" and table.name not in LEFT_OUT
)

_TEXT = sa.Text().with_variant(LONGTEXT(), "mysql", "mariadb")
_TYPES: Final[Mapping[str, Any]] = {
    "VARCHAR": _TEXT,
    "DOUBLE": sa.Double(),
    "BIGINT": sa.BigInteger(),
    "INTEGER": sa.Integer(),
    "BOOLEAN": sa.Boolean(),
    "DATE": sa.Date(),
    "TIMESTAMP": sa.DateTime(),
}
"""Types of columns; lists, mappings and JSON are written as JSON texts, all others as texts."""

_NESTED: Final = ("[]", "MAP(", "STRUCT(", "JSON")


@dataclass(frozen=True, slots=True)
class Target:
    """A SQL database to export to.

    Attributes:
        url: The SQLAlchemy URL.
        schema: The schema; null: `scoreline` where the database has schemas.
        password_env: The environment variable with the password; null: none, or that of the URL.
    """

    url: str
    schema: str | None = None
    password_env: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What was exported.

    Attributes:
        tables: The number of rows of each table, by its name with the schema.
        address: The database, without a password.
        replaced_nuls: The number of texts with NUL, which the database cannot store.
    """

    tables: Mapping[str, int]
    address: str
    replaced_nuls: int


def write_database(copy: Snapshot, target: Target, benchmark: str | None = None) -> Written:
    """Replace the tables of a schema by those of the published copy, in one transaction.

    Readers see either the old rows or the new ones. Rows are replaced, not tables, so grants, views
    and indexes of others stay; a table is created again only where its columns have changed.

    Args:
        copy: The published copy.
        target: The database.
        benchmark: The benchmark whose rows are replaced; null: all. Tables without benchmarks are
            always written completely.

    Raises:
        WarehouseError: The URL is not valid, a driver is missing, the database refuses something,
            or a table of the schema has another origin.
    """
    url = _address(target)
    # Drivers take passwords and names of key files as parameters, too.
    shown = url.set(query={}).render_as_string(hide_password=True)
    try:
        engine = _connect(url)
        try:
            with (
                connect_file(copy.path, read_only=True, settings=copy.settings) as source,
                engine.begin() as connection,
            ):
                require_version(source, copy.path)
                return _Export(source, connection, target, benchmark).write(shown)
        finally:
            engine.dispose()
    except ModuleNotFoundError as error:
        raise WarehouseError(_describe_driver(url, error)) from error
    except DBAPIError as error:
        # The message of SQLAlchemy repeats rows, that of the driver may repeat the password.
        said = _hide(" ".join(str(error.orig).split()), url)
        raise WarehouseError(f"cannot export to {shown}: {said}") from None
    except SQLAlchemyError as error:
        raise WarehouseError(f"cannot export to {shown}: {_hide(str(error), url)}") from None


def _hide(said: str, url: URL) -> str:
    """Return a message without the password and the parameters of a URL."""
    parameters = (value for values in url.normalized_query.values() for value in values)
    for value in filter(None, (str(url.password or ""), *parameters)):
        said = said.replace(value, "***")
    return said


def _address(target: Target) -> URL:
    """Return the URL with the password.

    Raises:
        WarehouseError: It is not valid, or the variable is not set; the URL is not repeated.
    """
    try:
        url = sa.make_url(target.url)
        url.get_dialect()
    except ModuleNotFoundError as error:
        raise WarehouseError(_describe_driver(sa.make_url(target.url), error)) from error
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise WarehouseError(
            "expected the URL of a database, such as postgresql://USER@HOST/DATABASE or "
            "sqlite:///results.db"
        ) from None
    if target.password_env is None:
        return url
    password = os.environ.get(target.password_env)
    if not password:
        raise WarehouseError(
            f"the environment variable {target.password_env}, which holds the password, is not set"
        )
    return url.set(password=password)


def _connect(url: URL) -> Engine:
    engine = sa.create_engine(url, hide_parameters=True)
    if engine.dialect.name == "sqlite":
        # The driver would begin a transaction only before the first row, and not lock the file.
        sa.event.listen(engine, "connect", _begin_nothing)
        sa.event.listen(engine, "begin", _begin_immediately)
    return engine


def _begin_nothing(connection: Any, _: object) -> None:
    connection.isolation_level = None


def _begin_immediately(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _describe_driver(url: URL, error: ModuleNotFoundError) -> str:
    needed = f"{url.get_backend_name()!r} needs the package {error.name!r}"
    extra = install_command("lake") if error.name in ("psycopg", "psycopg2") else None
    return f"{needed}: {extra or f'`pip install {error.name}`'}"


class _Export:
    """One export in a transaction."""

    def __init__(
        self,
        source: duckdb.DuckDBPyConnection,
        connection: Connection,
        target: Target,
        benchmark: str | None,
    ) -> None:
        self._source = source
        self._connection = connection
        self._benchmark = benchmark
        self._nuls = 0
        has_schemas = connection.dialect.name not in ("sqlite", "mysql", "mariadb")
        self._schema = target.schema or (SCHEMA if has_schemas else None)
        self._metadata = sa.MetaData(schema=self._schema)
        self._notes = sa.Table(
            NOTES,
            self._metadata,
            sa.Column("table_name", sa.String(100), primary_key=True),
            sa.Column("columns_digest", sa.String(64), nullable=False),
            sa.Column("exported_at", sa.DateTime(), nullable=False),
        )

    def write(self, address: str) -> Written:
        """Create the tables that are missing, then replace all rows."""
        if self._schema is not None and self._schema not in self._known("schema_names"):
            self._connection.execute(sa.schema.CreateSchema(self._schema))
        now = dt.datetime.now(dt.UTC).replace(tzinfo=None, microsecond=0)
        known = self._prepare_notes(now)
        tables = {table.name: self._described(table) for table in EXPORTED}
        existing = set(self._known("table_names", self._schema))
        foreign = sorted(existing & tables.keys() - known.keys())
        if foreign:
            place = "the database" if self._schema is None else f"the schema {self._schema!r}"
            raise WarehouseError(
                f"{place} has a table {foreign[0]!r} that no export has written: name another "
                "schema by --schema, or another database"
            )
        # Some databases commit when a table is created, so that comes first.
        for table in EXPORTED:
            described = tables[table.name]
            if known.get(table.name) == _digest(table) and table.name in existing:
                continue
            if table.name in existing:
                self._require_complete(table)
                described.drop(self._connection)
            described.create(self._connection)
            self._note(table, now)
        counts = {
            described.fullname: self._replace(table, described)
            for table, described in zip(EXPORTED, tables.values(), strict=True)
        }
        return Written(counts, address, self._nuls)

    def _known(self, what: str, *arguments: Any) -> list[str]:
        return list(getattr(sa.inspect(self._connection), f"get_{what}")(*arguments))

    def _prepare_notes(self, now: dt.datetime) -> dict[str, str]:
        """Return the digest of the columns of each table that was exported before.

        Of two exports at once, the second waits for the rows that the first updates.
        """
        self._notes.create(self._connection, checkfirst=True)
        self._connection.execute(self._notes.update().values(exported_at=now))
        rows = self._connection.execute(self._notes.select())
        return {row.table_name: row.columns_digest for row in rows}

    def _note(self, table: Table, now: dt.datetime) -> None:
        where = self._notes.c.table_name == table.name
        self._connection.execute(self._notes.delete().where(where))
        values = {"table_name": table.name, "columns_digest": _digest(table), "exported_at": now}
        self._connection.execute(self._notes.insert(), values)

    def _require_complete(self, table: Table) -> None:
        """Check that no rows of other benchmarks go with a table whose columns have changed."""
        if self._benchmark is not None and "benchmark" in table.column_names:
            raise WarehouseError(
                f"the table {table.name!r} was exported with other columns: export without "
                "--benchmark once, so that all its rows are replaced"
            )

    def _described(self, table: Table) -> sa.Table:
        columns = (sa.Column(each.name, _TYPES.get(each.type, _TEXT)) for each in table.columns)
        return sa.Table(table.name, self._metadata, *columns)

    def _replace(self, table: Table, described: sa.Table) -> int:
        """Replace the rows of a table, or those of one benchmark; return their number."""
        removed, where = described.delete(), ""
        if self._benchmark is not None and "benchmark" in table.column_names:
            removed = removed.where(described.c.benchmark == self._benchmark)
            where = f" WHERE benchmark = {literal(self._benchmark)}"
        self._connection.execute(removed)
        shown = ", ".join(f"{_read(c.name, c.type)} AS {quoted(c.name)}" for c in table.columns)
        count = 0
        sql = f"SELECT {shown} FROM {quoted(table.name)}{where}"  # noqa: S608
        self._source.execute(sql)
        while batch := self._source.fetchmany(BATCH_ROWS):
            named = (zip(table.column_names, self._storable(row), strict=True) for row in batch)
            self._connection.execute(described.insert(), list(map(dict, named)))
            count += len(batch)
        return count

    def _storable(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return a row without NUL in texts, which PostgreSQL does not have."""
        if self._connection.dialect.name != "postgresql":
            return row
        nuls = sum(isinstance(value, str) and "\0" in value for value in row)
        self._nuls += nuls
        if not nuls:
            return row
        return tuple(v.replace("\0", "\ufffd") if isinstance(v, str) else v for v in row)


def _read(name: str, kind: str) -> str:
    """Return the SQL of a column as a value of a plain type."""
    if kind == "JSON":
        return f"{quoted(name)}::VARCHAR"
    if any(each in kind for each in _NESTED):
        return f"to_json({quoted(name)})::VARCHAR"
    return quoted(name) if kind in _TYPES else f"{quoted(name)}::VARCHAR"


def _digest(table: Table) -> str:
    """Return a digest of the names and types of the columns of a table."""
    shown = repr([(column.name, column.type) for column in table.columns])
    return hashlib.sha256(shown.encode()).hexdigest()
