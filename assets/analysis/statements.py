"""How many statements about chance share the 5 % of errors of the report's pages.

A page with a hundred tests at 5 % has five false marks. So each statement is tested at 5 % divided
by the number of statements that stand on the first page (of all benchmarks) or on the page of its
benchmark. Then the probability of any false statement on a page, and of any false problem of
severity `high` in the whole project, is at most 5 %, whatever the statements have in common.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assets.project import threshold_of
from warehouse.queries.publications import looks_since

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.queries.benchmarks import Source


def count_statements(
    benchmarks: Mapping[str, Benchmark], *, has_history: bool
) -> dict[str, Benchmark]:
    """Return the benchmarks of a project with the number of their statements.

    The statements of the first page are, for each benchmark, which system is best by the headline
    metric, what has changed by it, and which means miss their thresholds; and each gate with a
    baseline. The page of a benchmark adds the best system and the changes by each other primary
    metric. A statement may be about several systems: Holm's adjustment is within it.

    Args:
        benchmarks: All benchmarks of the project by name.
        has_history: Whether publications are kept, so that changes can be stated.
    """
    by_metric = 1 + has_history
    on_first_page = sum(
        by_metric
        + any(True for _ in problem_thresholds(each))
        + sum(gate.baseline is not None for gate in each.gates)
        for each in benchmarks.values()
    )
    return {
        name: replace(each, statements=on_first_page + by_metric * (len(marked_metrics(each)) - 1))
        for name, each in benchmarks.items()
    }


def marked_metrics(benchmark: Benchmark) -> list[str]:
    """Return the addresses of the metrics by which the best system is marked.

    These are the primary metrics and the one that `rank_by` names.
    """
    primary = [
        f"{evaluator.name}.{metric.name}"
        for evaluator in benchmark.evaluators
        for metric in evaluator.measured()
        if metric.primary
    ]
    ranked_by = [] if benchmark.rank_by is None else [benchmark.rank_by]
    return list(dict.fromkeys([*ranked_by, *primary])) or [""]


def problem_thresholds(benchmark: Benchmark) -> Iterator[tuple[Evaluator, Metric]]:
    """Yield the metrics whose thresholds make problems: primary ones, and those set by name."""
    for evaluator in benchmark.evaluators:
        for metric in evaluator.measured():
            is_named = f"{evaluator.name}.{metric.name}" in benchmark.thresholds
            if threshold_of(benchmark, evaluator, metric) is not None and (
                metric.primary or is_named
            ):
                yield evaluator, metric


def share_of_level(source: Source, benchmark: str, version: datetime, metrics: int) -> int:
    """Return by what the p-values of changes since an earlier leaderboard are multiplied.

    That is the number of statements of the report's pages, or of the compared metrics if there are
    more; and for the j-th publication since the last tag j * (j + 1), as for the epochs of
    sequential gates: these shares of the level add up to 1, however many nights there are.

    Args:
        source: The published copy.
        benchmark: The benchmark.
        version: The time of the earlier leaderboard.
        metrics: The number of metrics that are compared.
    """
    statements = source.fetch(
        "SELECT coalesce(max(n_statements), 1) FROM leaderboard WHERE benchmark = $benchmark",
        {"benchmark": benchmark},
    ).item()
    looks = max(1, int(source.fetch(*looks_since(benchmark, version)).item()))
    return max(int(statements), metrics) * looks * (looks + 1)
