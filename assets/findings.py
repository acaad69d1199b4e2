"""The findings: what a leaderboard tells besides its numbers, and what people say of it."""

from collections.abc import Iterator

import dagster as dg

from assets import reporting
from assets.calibration import calibrate
from assets.insights import tell
from assets.keys import (
    BACKFILL,
    BENCHMARKS,
    CALIBRATION,
    INSIGHTS,
    LEADERBOARD,
    OWNERS,
    PROBLEMS,
    RESULTS,
)
from assets.problems import look
from assets.project import Project
from assets.telling import tell_dagster
from warehouse.store import Warehouse

STEP = "find"

STAGES = {CALIBRATION: calibrate, PROBLEMS: look, INSIGHTS: tell}
"""What fills the table of each asset, in the order in which they build on one another."""


# One step for all three: a step costs more than their queries.
@dg.multi_asset(
    name=STEP,
    specs=[
        dg.AssetSpec(
            CALIBRATION,
            deps=[LEADERBOARD],
            group_name=RESULTS,
            kinds={"duckdb"},
            owners=OWNERS,
            code_version="1",
            description="How far metrics agree with people's labels, and the means corrected by "
            "that. One row is one system's corrected mean of one metric by one method.",
        ),
        dg.AssetSpec(
            PROBLEMS,
            deps=[LEADERBOARD, CALIBRATION],
            group_name=RESULTS,
            kinds={"duckdb"},
            owners=OWNERS,
            code_version="1",
            description="What somebody should look at: means worse than their thresholds, answers "
            "that flip, leaks, judges that fail. One row is one problem.",
        ),
        dg.AssetSpec(
            INSIGHTS,
            deps=[LEADERBOARD],
            group_name=RESULTS,
            kinds={"duckdb"},
            owners=OWNERS,
            code_version="1",
            description="What the scores tell as a whole: the best and the worst system, the "
            "hardest question, slices where the order turns. One row is one insight.",
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
    """Fill the three tables for each benchmark of the run."""
    for key, fill in STAGES.items():
        rows = {
            (key, name): fill(warehouse, project.benchmarks[name])
            for name in context.partition_keys
        }
        counted = {
            place: reporting.counts({"dagster/partition_row_count": count})
            for place, count in rows.items()
        }
        tell_dagster(context, counted)
        yield dg.MaterializeResult[None](asset_key=key)
