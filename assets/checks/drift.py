"""Drift: what has moved since the last publication further than anybody should find out later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.errors import WarehouseError
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.validation.expectation import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.project import Project
    from warehouse.store import Warehouse

TABLE = "drift"
"""The name under which results are kept."""

SHOWN = 5

_FAILURES = """
SELECT benchmark, system || ', ' || evaluator AS what,
    (n_parse_failure + n_judge_error + n_target_error) / n AS amount
FROM leaderboard
WHERE slice = 'all' AND is_primary = 1 AND list_contains($benchmarks, benchmark)
"""

_COVERAGE = """
SELECT benchmark, system || ', ' || evaluator AS what, coverage AS amount
FROM leaderboard
WHERE slice = 'all' AND is_primary = 1 AND list_contains($benchmarks, benchmark)
"""

_COST = """
SELECT benchmark, system || ', answers' AS what, avg(cost_usd) AS amount
FROM predictions
WHERE cost_usd IS NOT NULL AND list_contains($benchmarks, benchmark)
GROUP BY ALL
UNION ALL
SELECT a.benchmark, a.evaluator || ', judgments', avg(j.cost_usd)
FROM (SELECT DISTINCT benchmark, evaluator, digest FROM asks) AS a
JOIN judgments AS j USING (digest)
WHERE j.cost_usd IS NOT NULL AND list_contains($benchmarks, a.benchmark)
GROUP BY ALL
"""


def check_drift(warehouse: Warehouse, project: Project, benchmarks: Sequence[str]) -> list[Verdict]:
    """Hold failures, coverage and costs against those that were last published.

    Only what is in both is compared: a new system has not drifted.

    Returns:
        One verdict a measure, all of them warnings; none before the first publication.
    """
    copy = project.publish / FILE_NAME
    if not copy.is_file():
        return []
    try:
        return list(_verdicts(warehouse, Snapshot(copy), project, benchmarks))
    except WarehouseError:
        # A copy of an earlier version, or one that is broken: this run publishes another.
        return []


def _verdicts(
    warehouse: Warehouse, published: Snapshot, project: Project, benchmarks: Sequence[str]
) -> Iterator[Verdict]:
    limits = project.drift
    for what, sql, sign, limit, relative in (
        ("the share of failed samples rises", _FAILURES, 1, limits.failure_rate, False),
        ("the coverage falls", _COVERAGE, -1, limits.coverage, False),
        ("the mean cost rises", _COST, 1, limits.cost, True),
    ):
        given = {"benchmarks": list(benchmarks)}
        before = {row[:2]: row[2] for row in published.fetch(sql, given).iter_rows()}
        moved = []
        for benchmark, whose, amount in sorted(warehouse.fetch(sql, given).iter_rows()):
            old = before.get((benchmark, whose))
            if old is None or amount is None:
                continue
            if sign * (amount - old) > limit * (old if relative else 1) + 1e-12:
                moved.append(f"{benchmark}, {whose}: {old:.4g} before, {amount:.4g} now")
        more = [f"and {len(moved) - SHOWN} more"] if len(moved) > SHOWN else []
        yield Verdict(
            table=TABLE,
            expectation=f"{what} by {limit:.0%} at most since the last publication",
            severity="warn",
            success=not moved,
            observed="; ".join([*moved[:SHOWN], *more]) or None,
        )
