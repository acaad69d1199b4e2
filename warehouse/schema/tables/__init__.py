"""The descriptions of all tables and views."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from warehouse.errors import UnknownTable, suggest_name
from warehouse.schema.migrations import latest
from warehouse.schema.table import Column, Group, Table
from warehouse.schema.tables.history import HISTORY
from warehouse.schema.tables.inputs import INPUTS
from warehouse.schema.tables.leaderboard import LEADERBOARDS
from warehouse.schema.tables.ledger import LEDGER
from warehouse.schema.tables.scores import SCORING
from warehouse.schema.tables.state import BOOKKEEPING
from warehouse.schema.tables.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "GROUPS",
    "SCHEMA_VERSION",
    "STORED",
    "TABLES",
    "Column",
    "Group",
    "Table",
    "table_named",
]

SCHEMA_VERSION = latest()
"""It increases with each file in `warehouse/schema/migrations/`."""

GROUPS: tuple[Group, ...] = (*(INPUTS, SCORING, LEADERBOARDS, HISTORY, LEDGER, VIEWS, BOOKKEEPING),)

TABLES: Mapping[str, Table] = MappingProxyType(
    {table.name: table for group in GROUPS for table in group.tables}
)


STORED = tuple(name for name, table in TABLES.items() if table.view_of is None)
"""The names of all tables without the views."""


def table_named(name: str) -> Table:
    """Return the description of a table.

    Raises:
        UnknownTable: The table does not exist; the message suggests a similar name.
    """
    try:
        return TABLES[name]
    except KeyError:
        raise UnknownTable(f"there is no table {name!r}{suggest_name(name, TABLES)}") from None
