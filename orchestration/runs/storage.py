"""Dagster's SQLite storage, with databases of events that stay open while a run lasts.

Dagster's own class opens a connection for every event, and stores each in up to three transactions.
Other processes, such as `scoreline dev`, can use it on the same files at the same time and see each
event as soon as it is stored.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import sqlalchemy as db
from dagster._core.events import DagsterEventType
from dagster._core.storage.event_log.schema import SqlEventLogStorageTable
from dagster._core.storage.event_log.sqlite.sqlite_event_log import (
    INDEX_SHARD_NAME,
    SqliteEventLogStorage,
)
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage

from orchestration.runs.run_files import EVENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dagster._core.events.log import EventLogEntry
    from dagster._serdes import ConfigurableClassData

BATCH_SIZE = 1_000
"""How many events are stored together at most, which bounds the memory."""


class EventStorage(SqliteEventLogStorage):
    """The events: one database for each run, and one for what concerns several runs."""

    @cached_property
    def _engines(self) -> dict[str, db.Engine]:
        return {}

    @cached_property
    def _tables(self) -> frozenset[str]:
        return frozenset(db.inspect(self._engine(INDEX_SHARD_NAME)).get_table_names())

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
        """Return the engine of a database, which keeps its connection open."""
        if shard not in self._engines:
            engine = db.create_engine(
                self.conn_string_for_shard(shard),
                pool_size=1,
                max_overflow=-1,
                connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS, "check_same_thread": False},
            )
            self._initdb(engine)
            self._engines[shard] = engine
        return self._engines[shard]

    def dispose(self) -> None:
        """Close the databases."""
        for engine in self._engines.values():
            engine.dispose()
        self._engines.clear()
        super().dispose()


class RunningStorage(DagsterSqliteStorage):
    """The storage of an instance for the process that runs steps."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = EventStorage(str((Path(base_dir) / EVENTS).parent))

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        """Open the storage of a folder."""
        return cls(inst_data=inst_data, **config_value)
