"""The assets `calibration`, `problems` and `insights`."""

from collections.abc import Iterator
from functools import partial

import dagster as dg

from assets import metadata
from assets.analysis.calibration import calibrate
from assets.analysis.findings import refresh_insights, refresh_problems
from assets.keys import BACKFILL, BENCHMARKS, CALIBRATION, INSIGHTS, LEADERBOARD, PROBLEMS, RESULTS
from assets.metadata import add_partition_metadata
from assets.project import Project
from warehouse.queries.benchmarks import split_benchmarks
from warehouse.store import Warehouse

STEP = "find"

STAGES = {CALIBRATION: calibrate, PROBLEMS: refresh_problems, INSIGHTS: refresh_insights}
"""What writes the table of each asset, in the order of their dependencies."""


_SPEC = partial(dg.AssetSpec, group_name=RESULTS, kinds={"duckdb"}, code_version="1")


# One step for all three: starting a step takes longer than their queries.
@dg.multi_asset(
    name=STEP,
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
    partitions_def=BENCHMARKS,
    backfill_policy=BACKFILL,
)
def findings(
    context: dg.AssetExecutionContext,
    warehouse: dg.ResourceParam[Warehouse],
    project: dg.ResourceParam[Project],
) -> Iterator[dg.MaterializeResult[None]]:
    """Write the three tables for each benchmark of the run."""
    parts = [
        [project.benchmarks[name] for name in names]
        for names, _ in split_benchmarks(warehouse, context.partition_keys)
    ]
    for key, refresh in STAGES.items():
        rows = {name: count for part in parts for name, count in refresh(warehouse, part).items()}
        added = {
            (key, name): metadata.counts({"dagster/partition_row_count": count})
            for name, count in rows.items()
        }
        add_partition_metadata(context, added)
        yield dg.MaterializeResult[None](asset_key=key)
