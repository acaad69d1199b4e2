"""Dagster's SQLite databases, created without migrations and kept open while a run lasts.

Dagster's own classes open a connection for every statement. Other processes, such as `scoreline
dev`, can use them on the same files at the same time and see each event as soon as it is stored.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as db
from alembic.script import ScriptDirectory
from dagster._core.events import DagsterEventType
from dagster._core.storage.event_log.schema import (
    SqlEventLogStorageMetadata,
    SqlEventLogStorageTable,
)
from dagster._core.storage.event_log.sqlite import sqlite_event_log
from dagster._core.storage.runs.schema import RunStorageSqlMetadata
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.schema import ScheduleStorageSqlMetadata
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sql import get_alembic_config
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

from orchestration.runs.run_files import EVENTS, RUNS, SCHEDULES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dagster._core.events.log import EventLogEntry
    from dagster._serdes import ConfigurableClassData

DATABASES = {
    RUNS: RunStorageSqlMetadata,
    EVENTS: SqlEventLogStorageMetadata,
    SCHEDULES: ScheduleStorageSqlMetadata,
}
BATCH_SIZE = 1_000
"""How many events are stored together at most, which bounds the memory."""

VERSION_TABLE = (
    "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
    "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
)


def has_databases(folder: Path) -> bool:
    """Return whether all databases of an instance exist."""
    return all((folder / name).exists() for name in DATABASES)


def create_databases(folder: Path) -> None:
    """Create the databases of an instance, with the tables of the installed Dagster."""
    config = get_alembic_config(sqlite_event_log.__file__)
    version = ScriptDirectory.from_config(config).as_revision_number("head")
    for name, metadata in DATABASES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        engine = open_engine(folder / name)
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            connection.exec_driver_sql("BEGIN")
            metadata.create_all(connection)
            connection.exec_driver_sql(VERSION_TABLE)
            connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (version,))
        engine.dispose()
    storage = RunningStorage(str(folder))
    # The migrations of data find nothing to do, which they record.
    storage.run_storage.migrate()
    storage.run_storage.optimize()
    storage.event_log_storage.reindex_events()
    storage.event_log_storage.reindex_assets()
    storage.schedule_storage.migrate()
    storage.schedule_storage.optimize()
    storage.dispose()


def open_engine(file: Path) -> db.Engine:
    """Return an engine that keeps its connection to a database open.

    A commit survives the end of this process; a power failure may undo the latest ones, as SQLite
    does not wait for the disk.
    """
    engine = db.create_engine(
        db.URL.create("sqlite", database=str(file)),
        pool_size=1,
        max_overflow=-1,
        connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
    )

    @db.event.listens_for(engine, "connect")
    def _(connection: Any, _: object) -> None:
        connection.execute("PRAGMA synchronous=NORMAL")

    return engine


class RunStorage(SqliteRunStorage):
    """The runs and their tags."""

    @cached_property
    def _engine(self) -> db.Engine:
        return open_engine(Path(self._conn_string.removeprefix("sqlite:///")))

    @contextmanager
    def connect(self) -> Iterator[db.Connection]:
        """Begin a transaction."""
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close the database."""
        self._engine.dispose()


class EventStorage(sqlite_event_log.SqliteEventLogStorage):
    """The events: one database for each run, and one for what concerns several runs."""

    @cached_property
    def _engines(self) -> dict[str, db.Engine]:
        return {}

    @cached_property
    def _tables(self) -> frozenset[str]:
        return frozenset(
            db.inspect(self._engine(sqlite_event_log.INDEX_SHARD_NAME)).get_table_names()
        )

    @cached_property
    def _planned(self) -> list[EventLogEntry]:
        return []

    def has_table(self, table_name: str) -> bool:
        """Return whether the databases have a table; Dagster asks it for every event."""
        return table_name in self._tables

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event; planned materializations are stored with the first other event.

        Dagster reports them one by one, before a run starts.
        """
        if event.dagster_event_type is DagsterEventType.ASSET_MATERIALIZATION_PLANNED:
            self._planned.append(event)
            if len(self._planned) == BATCH_SIZE:
                self._store_planned()
            return
        self._store_planned()
        super().store_event(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store asset events of one run, in one transaction of each database."""
        self._store_planned()
        self._store_asset_events(events)

    def _store_planned(self) -> None:
        if self._planned:
            events = list(self._planned)
            self._planned.clear()
            self._store_asset_events(events)

    def _store_asset_events(self, events: Sequence[EventLogEntry]) -> None:
        rows = [self._event_to_row(event) for event in events]
        insert = SqlEventLogStorageTable.insert()
        with self.run_connection(events[0].run_id) as connection:
            connection.execute(insert, rows)
        returning = insert.returning(SqlEventLogStorageTable.c.id, sort_by_parameter_order=True)
        with self.index_transaction() as connection:
            ids = connection.execute(returning, rows).scalars().all()
            self._store_asset_event_tags(connection, events, ids)
            # What is recorded about an asset is that of its latest event.
            latest = {row["asset_key"]: position for position, row in enumerate(rows)}
            for position in latest.values():
                self._store_asset_event(connection, events[position], ids[position])

    @contextmanager
    def _connect(self, shard: str) -> Iterator[db.Connection]:
        with self._db_lock, self._engine(shard).begin() as connection:
            yield connection

    def _engine(self, shard: str) -> db.Engine:
        if shard not in self._engines:
            file = Path(self.path_for_shard(shard))
            is_new = not file.exists()
            self._engines[shard] = open_engine(file)
            if is_new:
                self._create_tables(self._engines[shard])
        return self._engines[shard]

    def _create_tables(self, engine: db.Engine) -> None:
        """Create the tables of a run's database, which are those of the index."""
        with self._engine(sqlite_event_log.INDEX_SHARD_NAME).begin() as index:
            query = "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY rowid"
            statements = index.exec_driver_sql(query).scalars().all()
            version = index.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one()
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
            # A process that shows this run may create them at the same time.
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            if connection.exec_driver_sql("SELECT 1 FROM sqlite_master").first() is None:
                for statement in statements:
                    connection.exec_driver_sql(statement)
                connection.exec_driver_sql("INSERT INTO alembic_version VALUES (?)", (version,))

    def dispose(self) -> None:
        """Close the databases."""
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()


class RunningStorage(DagsterSqliteStorage):
    """The storage of an instance whose databases exist, for the process that runs steps."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        folder = Path(base_dir)
        self.base_dir = base_dir
        self._run_storage = RunStorage(f"sqlite:///{folder / RUNS}")
        self._event_log_storage = EventStorage(str((folder / EVENTS).parent))
        self._schedule_storage = SqliteScheduleStorage(f"sqlite:///{folder / SCHEDULES}")
        self._inst_data = inst_data
        super(DagsterSqliteStorage, self).__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Open the storage of a folder."""
        return cls(inst_data=inst_data, **config_value)
