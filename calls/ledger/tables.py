"""Tables outside the ledger that hold copies of what it stores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from calls.ledger.database import LedgerDatabase
    from calls.ledger.location import LedgerLocation


class LedgerTables(Protocol):
    """Tables that are filled from a ledger, such as those of a warehouse."""

    @property
    def location(self) -> LedgerLocation:
        """Where the ledger is."""

    def may_hold_replies(self) -> bool:
        """Return whether the ledger or the tables may hold replies, without creating anything."""

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """Yield what a new ledger takes over, in batches of rows of `judgments`."""

    def taken_over(self) -> None:
        """Remove what is not needed once a new ledger has taken it over."""

    def fill(self, database: LedgerDatabase) -> None:
        """Copy what the tables lack from the ledger, in one transaction."""
