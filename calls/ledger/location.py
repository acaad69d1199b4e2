"""Where a ledger is: an SQLite file or a schema of PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LedgerFile:
    """An SQLite file.

    Attributes:
        path: The file.
        owner: To what the ledger belongs, for messages.
    """

    path: Path
    owner: str


@dataclass(frozen=True, slots=True)
class LedgerSchema:
    """A schema of a PostgreSQL database.

    Attributes:
        connection: The connection string for libpq, without a password.
        schema: The schema of the tables.
        password: Returns the password; None if libpq finds it.
        owner: To what the ledger belongs, for messages.
    """

    connection: str
    schema: str
    password: Callable[[], str | None]
    owner: str


LedgerLocation: TypeAlias = LedgerFile | LedgerSchema
