"""The gate as a check: nothing follows from a leaderboard on which a system fell behind."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.analysis.comparability import NotComparable
from assets.analysis.regression_gate import evaluate_gate
from assets.checks.table_checks import select_benchmarks
from assets.keys import LEADERBOARD
from assets.project import Benchmark, Project, select_metrics
from warehouse.store import Warehouse

NAME = "gate"


def build_gate_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """The check of the gates that are configured; none where there are none."""
    if not any(benchmark.gates for benchmark in project.benchmarks.values()):
        return []

    @dg.asset_check(
        asset=LEADERBOARD,
        name=NAME,
        blocking=True,
        description="No system is significantly worse than the baseline that it is held against, "
        "question by question, by more than the tolerance.",
    )
    def gates(
        context: dg.AssetCheckExecutionContext,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> dg.AssetCheckResult:
        told = [
            line
            for name in select_benchmarks(context, project)
            for line in _told(warehouse, project.benchmarks[name])
        ]
        failed = [line for line, passed in told if not passed]
        return dg.AssetCheckResult(
            asset_key=LEADERBOARD,
            check_name=NAME,
            passed=not failed,
            severity=dg.AssetCheckSeverity.ERROR,
            description="; ".join(failed) or None,
            metadata={"verdicts": dg.MetadataValue.json([line for line, _ in told])},
        )

    return [gates]


def _told(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[tuple[str, bool]]:
    """What came of each gate of a benchmark in words, and whether it lets pass."""
    for each in benchmark.gates:
        pair = f"{benchmark.name}: {each.system} beside {each.baseline}"
        metrics = select_metrics(benchmark, each.metrics)
        try:
            found = evaluate_gate(
                warehouse, benchmark, each.system, each.baseline, metrics, each.tolerance
            )
        except NotComparable as error:
            yield f"{pair}: {error}", False
            continue
        for one in found:
            size = f"{one.difference:+.3f} on {one.n_pairs} questions"
            yield f"{pair}: {one.address} {one.verdict} ({size})", one.verdict != "regressed"
