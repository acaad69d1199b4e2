"""The assets `calibration`, `problems` and `insights`."""

from collections.abc import Iterator
from functools import partial

import dagster as dg

from assets import metadata
from assets.analysis.calibration import calibrate
from assets.analysis.findings import refresh_insights, refresh_problems
from assets.keys import (
    BACKFILL,
    CALIBRATION,
    INSIGHTS,
    LEADERBOARD,
    PROBLEMS,
    RESULTS,
    WAREHOUSE,
    partitions_of,
    warehouse_of,
)
from assets.metadata import add_partition_metadata
from assets.project import Project
from warehouse.queries.benchmarks import split_benchmarks

STEP = "find"

STAGES = {
    CALIBRATION.path[-1]: calibrate,
    PROBLEMS.path[-1]: refresh_problems,
    INSIGHTS.path[-1]: refresh_insights,
}
"""What writes the table of each asset, in the order of their dependencies."""


_SPEC = partial(dg.AssetSpec, group_name=RESULTS, kinds={"duckdb"}, code_version="1")


def build_findings(project: Project) -> dg.AssetsDefinition:
    """Return the three assets, which one step materialises."""

    # One step for all three: starting a step takes longer than their queries.
    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=[
            _SPEC(
                CALIBRATION,
                deps=[LEADERBOARD],
                description="Agreement of metrics with human labels, and the means corrected for "
                "disagreement. One row is one system's corrected mean of one metric by one method.",
            ),
            _SPEC(
                PROBLEMS,
                deps=[LEADERBOARD, CALIBRATION],
                description="Problems to look at: means worse than their thresholds, answers "
                "that flip, leaks, judge failures. One row is one problem.",
            ),
            _SPEC(
                INSIGHTS,
                deps=[LEADERBOARD],
                description="Findings across all scores: the best and the worst system, the "
                "hardest question, slices where the ranking reverses. One row is one insight.",
            ),
        ],
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def findings(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None]]:
        """Write the three tables for each benchmark of the run."""
        warehouse = warehouse_of(context, project)
        keys = {key.path[-1]: key for key in context.selected_asset_keys}
        parts = [
            [project.benchmarks[name] for name in names]
            for names, _ in split_benchmarks(warehouse, context.partition_keys)
        ]
        for stage, refresh in STAGES.items():
            key = keys[stage]
            rows = {
                name: count for part in parts for name, count in refresh(warehouse, part).items()
            }
            added = {
                (key, name): metadata.counts({"dagster/partition_row_count": count})
                for name, count in rows.items()
            }
            add_partition_metadata(context, added)
            yield dg.MaterializeResult[None](asset_key=key)

    return findings
