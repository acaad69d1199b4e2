"""The asset check that fails when a system does not pass its gates."""

from collections.abc import Iterator, Sequence

import dagster as dg
from dagster._core.errors import DagsterAssetCheckFailedError

from assets.checks.table_checks import select_benchmarks
from assets.keys import LEADERBOARD, PUBLISHED, WAREHOUSE, warehouse_of
from assets.project import Project

NAME = "gate"
STEP = "check_gates"


def build_gate_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """Build the check of the configured gates, if there are any."""
    if not any(benchmark.gates for benchmark in project.benchmarks.values()):
        return []
    # The check does not block: the results that explain a failed gate are published.
    spec = dg.AssetCheckSpec(
        NAME,
        asset=project.namespace.key(LEADERBOARD),
        additional_deps=[project.namespace.key(PUBLISHED)],
        description="Every system passes its gates: it is not worse than its baseline, and its "
        "means reach their limits. The run publishes first, and then fails if a gate does.",
    )

    @dg.multi_asset_check(
        name=project.namespace.name(STEP),
        specs=[spec],
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def check_gates(
        context: dg.AssetCheckExecutionContext,
    ) -> Iterator[dg.AssetCheckResult]:
        warehouse = warehouse_of(context, project)
        (key,) = context.selected_asset_check_keys
        verdicts = warehouse.fetch(
            "SELECT benchmark || ': ' || message AS message, passed FROM gates "
            "WHERE list_contains($benchmarks, benchmark) ORDER BY ALL",
            {"benchmarks": select_benchmarks(context, project)},
        )
        failed = verdicts.filter(verdicts["passed"] == 0)["message"].to_list()
        yield dg.AssetCheckResult(
            asset_key=key.asset_key,
            check_name=NAME,
            passed=not failed,
            severity=dg.AssetCheckSeverity.ERROR,
            description="; ".join(failed) or None,
            metadata={"verdicts": dg.MetadataValue.json(verdicts["message"].to_list())},
        )
        if failed:
            # Fails the run, so that it raises an alert.
            raise DagsterAssetCheckFailedError(f"{len(failed)} of {verdicts.height} gates failed")

    return [check_gates]
