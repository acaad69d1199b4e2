"""The asset check that blocks publication when a system falls behind its baseline."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.analysis.comparability import NotComparable
from assets.analysis.gates.regression import evaluate_gate
from assets.checks.table_checks import select_benchmarks
from assets.keys import LEADERBOARD
from assets.project import Benchmark, Project, select_metrics
from warehouse.store import Warehouse

NAME = "gate"


def build_gate_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """Build the check of the configured gates, if there are any."""
    if not any(benchmark.gates for benchmark in project.benchmarks.values()):
        return []

    @dg.asset_check(
        asset=LEADERBOARD,
        name=NAME,
        blocking=True,
        description="No system is significantly worse than its baseline, question by question, by "
        "more than the tolerance.",
    )
    def gates(
        context: dg.AssetCheckExecutionContext,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> dg.AssetCheckResult:
        outcomes = [
            outcome
            for name in select_benchmarks(context, project)
            for outcome in _evaluate_gates(warehouse, project.benchmarks[name])
        ]
        failed = [line for line, passed in outcomes if not passed]
        return dg.AssetCheckResult(
            asset_key=LEADERBOARD,
            check_name=NAME,
            passed=not failed,
            severity=dg.AssetCheckSeverity.ERROR,
            description="; ".join(failed) or None,
            metadata={"verdicts": dg.MetadataValue.json([line for line, _ in outcomes])},
        )

    return [gates]


def _evaluate_gates(warehouse: Warehouse, benchmark: Benchmark) -> Iterator[tuple[str, bool]]:
    """Yield a sentence on each gate of a benchmark, and whether it passed."""
    for each in benchmark.gates:
        pair = f"{benchmark.name}: {each.system} compared with {each.baseline}"
        metrics = select_metrics(benchmark, each.metrics)
        try:
            results = evaluate_gate(
                warehouse, benchmark, each.system, each.baseline, metrics, each.tolerance
            )
        except NotComparable as error:
            yield f"{pair}: {error}", False
            continue
        for result in results:
            size = f"{result.value:+.3f} on {result.n_pairs} questions"
            line = f"{pair}: {result.address} {result.verdict} ({size})"
            yield line, result.passed
