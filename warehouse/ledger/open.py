"""Opens the ledger of a warehouse, whose tables are filled from it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from calls.ledger.database import LedgerDatabase
from calls.ledger.ledger import Ledger
from calls.ledger.location import LedgerFile, LedgerSchema
from warehouse.ledger.tables import fill_tables, read_journals, read_tables, remove_journals
from warehouse.storage.location import Lake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from calls.ledger.location import LedgerLocation
    from warehouse.storage.location import Location
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class WarehouseTables:
    """The tables `judgments` and `asks` of a warehouse; see `LedgerTables`."""

    warehouse: Warehouse

    @property
    def location(self) -> LedgerLocation:
        """The file beside the warehouse, or the catalog of the lake."""
        return ledger_location(self.warehouse.path, self.warehouse.ledger)

    def may_hold_replies(self) -> bool:
        """Return whether there may be replies, without creating anything."""
        return self.warehouse.exists() or has_ledger(self.warehouse)

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the judgments of the tables and of the journals of version 0.1."""
        return chain(read_tables(self.warehouse), read_journals(_journal_folder(self.warehouse)))

    def taken_over(self) -> None:
        """Remove the journals."""
        remove_journals(_journal_folder(self.warehouse))

    def fill(self, database: LedgerDatabase) -> None:
        """Copy what the tables lack, in one transaction."""
        fill_tables(self.warehouse, database)


@contextmanager
def open_ledger(warehouse: Warehouse, run_id: str, spender: str | None = None) -> Iterator[Ledger]:
    """Open the ledger of a warehouse.

    Args:
        warehouse: The warehouse.
        run_id: The run that is recorded with every call.
        spender: Under what the calls spend, with a budget of its own; None: the run.
    """
    ledger = Ledger(WarehouseTables(warehouse), run_id, spender)
    try:
        yield ledger
    finally:
        ledger.close()


def has_ledger(warehouse: Warehouse) -> bool:
    """Return whether there is a ledger, or journals of version 0.1, without creating one."""
    if _journal_folder(warehouse).is_dir():
        return True
    location = ledger_location(warehouse.path, warehouse.ledger)
    if isinstance(location, LedgerFile):
        return location.path.exists()
    database = LedgerDatabase(location)
    try:
        return database.id is not None
    finally:
        database.close()


def ledger_location(warehouse: Location, file: Path | None = None) -> LedgerLocation:
    """Return where the ledger of a warehouse is.

    Args:
        warehouse: The location of the warehouse.
        file: The file of the ledger of a DuckDB file; None: beside it.
    """
    if isinstance(warehouse, Lake):
        return LedgerSchema(
            warehouse.connection, warehouse.schema, lambda: warehouse.password, str(warehouse)
        )
    return LedgerFile(file or ledger_file(warehouse), str(warehouse))


def ledger_file(warehouse: Path) -> Path:
    """Return the SQLite file of the ledger of a warehouse file."""
    return warehouse.with_name(warehouse.name + ".ledger")


def _journal_folder(warehouse: Warehouse) -> Path:
    return warehouse.path.with_name(warehouse.path.name + ".journal")
