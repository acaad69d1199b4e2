"""Retention: rows that nothing is made from any more, counted and, when asked, deleted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A kind of rows that may go.

    Attributes:
        table: The table.
        what: What they are, in words.
        where: The SQL condition of the rows; `$before` is the time up to which they are old.
        paid: Whether money was paid for them, so that they go only when asked for by name.
    """

    table: str
    what: str
    where: str
    paid: bool = False


RETENTION_RULES: Mapping[str, RetentionRule] = MappingProxyType(
    {
        "history": RetentionRule(
            "leaderboard_history",
            "leaderboards that were published long ago; the last of each benchmark stay",
            "published_at < $before AND published_at < (SELECT max(h.published_at) "
            "FROM leaderboard_history AS h WHERE h.benchmark = leaderboard_history.benchmark)",
        ),
        "validations": RetentionRule(
            "validations",
            "results of expectations of long ago",
            "coalesce(validated_at, TIMESTAMP '1970-01-01') < $before",
        ),
        "quarantine": RetentionRule(
            "quarantine",
            "rows that broke expectations long ago",
            "quarantined_at < $before",
        ),
        "signatures": RetentionRule(
            "signatures",
            "configurations of evaluators that no score has any more",
            "first_seen < $before AND NOT EXISTS (SELECT 1 FROM grades AS g "
            "WHERE g.evaluator = signatures.evaluator AND g.signature = signatures.signature)",
        ),
        "judgments": RetentionRule(
            "judgments",
            "replies of judges that no sample asks for any more; they were paid for, and would be "
            "again should the same be asked once more",
            "judged_at < $before AND NOT EXISTS (SELECT 1 FROM asks AS a "
            "WHERE a.digest = judgments.digest)",
            paid=True,
        ),
    }
)


def count_expired(warehouse: Warehouse, leftover: RetentionRule, days: float) -> int:
    """The rows that may go."""
    counted = warehouse.fetch(
        f"SELECT count(*) FROM {leftover.table} WHERE {leftover.where}",  # noqa: S608
        {"before": _before(days)},
    )
    return int(counted.item())


def delete_expired(warehouse: Warehouse, leftover: RetentionRule, days: float) -> int:
    """Delete the rows that may go; returns how many they were."""
    return warehouse.write(
        lambda transaction: transaction.execute(
            f"DELETE FROM {leftover.table} WHERE {leftover.where}",  # noqa: S608
            {"before": _before(days)},
        )
    )


def _before(days: float) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)
