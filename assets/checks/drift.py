"""Compares failures, coverage and costs with those of the last publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.errors import WarehouseError
from warehouse.publish.snapshot import Snapshot
from warehouse.validation.expectation import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.project import Project
    from warehouse.store import Warehouse

TABLE = "drift"
"""The name under which results are recorded."""

MAX_SHOWN = 5
"""The most changes that a verdict lists."""

_MEASURED = """
SELECT
    l.benchmark,
    l.system || ', ' || l.evaluator AS what,
    l.n_scored,
    l.n_parse_failure + l.n_judge_error + l.n_target_error - coalesce(a.n, 0) AS n_failed,
    nullif(l.n - l.n_not_applicable - coalesce(a.n, 0), 0) AS n_measured
FROM leaderboard AS l
LEFT JOIN (
    SELECT benchmark, system, evaluator, metric, count(*) AS n
    FROM (
        SELECT
            g.benchmark,
            g.system,
            g.evaluator,
            unnest(s.metrics) AS metric,
            unnest(g.statuses) AS status,
            unnest(g.reasons) AS reason
        FROM grades AS g
        JOIN signatures AS s USING (evaluator, signature)
        -- Before they are unnested: hardly any sample has an error.
        WHERE list_contains($benchmarks, g.benchmark) AND list_contains(g.statuses, 'judge_error')
    )
    WHERE status = 'judge_error' AND contains(reason, 'not asked')
    GROUP BY ALL
) AS a USING (benchmark, system, evaluator, metric)
WHERE l.slice = 'all' AND l.is_primary = 1 AND list_contains($benchmarks, l.benchmark)
"""
"""The counts of each primary metric. Samples to which it does not apply, and those about which the
judge was not asked (without a judge, or after the budget was reached), are not measured."""

_FAILURES = f"SELECT benchmark, what, n_failed / n_measured FROM ({_MEASURED})"  # noqa: S608

_COVERAGE = f"SELECT benchmark, what, n_scored / n_measured FROM ({_MEASURED})"  # noqa: S608

_COST = """
SELECT benchmark, system || ', answers' AS what, avg(cost_usd) AS amount
FROM predictions
WHERE cost_usd IS NOT NULL AND list_contains($benchmarks, benchmark)
GROUP BY ALL
UNION ALL
SELECT a.benchmark, a.evaluator || ', judgments', avg(j.cost_usd)
FROM (SELECT DISTINCT benchmark, evaluator, digest FROM asks) AS a
JOIN judgments AS j USING (digest)
WHERE j.cost_usd IS NOT NULL
    AND NOT starts_with(j.model, 'recorded:')
    AND list_contains($benchmarks, a.benchmark)
GROUP BY ALL
"""
"""Recorded replies cost nothing; their price says nothing about a judge."""


def check_drift(warehouse: Warehouse, project: Project, benchmarks: Sequence[str]) -> list[Verdict]:
    """Compare failures, coverage and costs with those that were last published.

    Only what was measured both times is compared: a new system has not drifted, and neither has
    an evaluator that was not applicable or not judged before.

    Returns:
        One verdict per measure, all of them warnings; none before the first publication.
    """
    copy = project.open_copy()
    if not copy.path.is_file():
        return []
    try:
        return list(_compare(warehouse, copy, project, benchmarks))
    except WarehouseError:
        # The copy is broken or of an earlier version. This run publishes another.
        return []


def _compare(
    warehouse: Warehouse, published: Snapshot, project: Project, benchmarks: Sequence[str]
) -> Iterator[Verdict]:
    limits = project.drift
    parameters = {"benchmarks": list(benchmarks)}
    for change, sql, sign, limit, is_relative in (
        ("the share of failed samples rises", _FAILURES, 1, limits.failure_rate, False),
        ("the coverage falls", _COVERAGE, -1, limits.coverage, False),
        ("the mean cost rises", _COST, 1, limits.cost, True),
    ):
        before = {row[:2]: row[2] for row in published.fetch(sql, parameters).iter_rows()}
        changes = []
        for benchmark, what, now in sorted(warehouse.fetch(sql, parameters).iter_rows()):
            old = before.get((benchmark, what))
            if old is None or now is None:
                continue
            if sign * (now - old) > limit * (old if is_relative else 1) + 1e-12:
                changes.append(f"{benchmark}, {what}: {old:.4g} before, {now:.4g} now")
        more = [f"and {len(changes) - MAX_SHOWN} more"] if len(changes) > MAX_SHOWN else []
        yield Verdict(
            table=TABLE,
            expectation=f"{change} by {limit:.0%} at most since the last publication",
            severity="warn",
            success=not changes,
            observed="; ".join([*changes[:MAX_SHOWN], *more]) or None,
        )
