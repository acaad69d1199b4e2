"""Retention: counts and deletes old rows that are no longer needed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from warehouse.ledger.open import open_ledger
from warehouse.queries.publications import VERSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A rule for rows that can be deleted.

    `where` is the SQL condition on the rows; rows before `$before` are old. Rows that are `paid`
    cost money; they are then deleted only by name.
    """

    table: str
    what: str
    where: str
    paid: bool = False


RETENTION_RULES: Mapping[str, RetentionRule] = MappingProxyType(
    {
        "history": RetentionRule(
            "leaderboard_history",
            "old published leaderboards, without the latest of each benchmark and those with a tag",
            "published_at < $before AND published_at < (SELECT max(h.published_at) "  # noqa: S608
            "FROM leaderboard_history AS h WHERE h.benchmark = leaderboard_history.benchmark) "
            "AND (benchmark, published_at) NOT IN "
            f"(SELECT (benchmark, version) FROM ({VERSIONS}) WHERE tag IS NOT NULL)",
        ),
        "validations": RetentionRule(
            "validations",
            "old results of expectations",
            "coalesce(validated_at, TIMESTAMP '1970-01-01') < $before",
        ),
        "quarantine": RetentionRule(
            "quarantine",
            "old copies of rows that did not meet expectations",
            "quarantined_at < $before",
        ),
        "signatures": RetentionRule(
            "signatures",
            "configurations of evaluators without scores",
            "first_seen < $before AND NOT EXISTS (SELECT 1 FROM grades AS g "
            "WHERE g.evaluator = signatures.evaluator AND g.signature = signatures.signature)",
        ),
        "judgments": RetentionRule(
            "judgments",
            "replies of judges and systems that nothing uses any more; they were paid for, and the "
            "same call would be paid for again",
            "judged_at < $before AND NOT EXISTS (SELECT 1 FROM asks AS a "
            "WHERE a.digest = judgments.digest) AND NOT EXISTS (SELECT 1 FROM answers AS a "
            "WHERE a.digest = judgments.digest)",
            paid=True,
        ),
    }
)


def count_expired(warehouse: Warehouse, rule: RetentionRule, days: float) -> int:
    """Return the number of rows that a rule matches."""
    count = warehouse.fetch(
        f"SELECT count(*) FROM {rule.table} WHERE {rule.where}",  # noqa: S608
        {"before": _before(days)},
    )
    return int(count.item())


def delete_expired(warehouse: Warehouse, rule: RetentionRule, days: float) -> int:
    """Delete the rows that a rule matches; return their number."""
    if rule.table == "judgments":
        return _delete_judgments(warehouse, rule, days)
    return warehouse.write(
        lambda transaction: transaction.execute(
            f"DELETE FROM {rule.table} WHERE {rule.where}",  # noqa: S608
            {"before": _before(days)},
        )
    )


def _delete_judgments(warehouse: Warehouse, rule: RetentionRule, days: float) -> int:
    """Delete judgments from the tables and from the ledger, which would fill them in again."""
    values = {"before": _before(days)}

    def delete(transaction: Transaction) -> list[str]:
        digests = transaction.fetch(f"SELECT digest FROM judgments WHERE {rule.where}", values)  # noqa: S608
        transaction.execute(f"DELETE FROM judgments WHERE {rule.where}", values)  # noqa: S608
        return digests["digest"].to_list()

    with open_ledger(warehouse, "clean") as ledger:
        ledger.flush()
        digests = warehouse.write(delete)
        ledger.forget(digests)
    return len(digests)


def _before(days: float) -> datetime:
    return datetime.now(UTC).replace(tzinfo=None) - timedelta(days=days)
