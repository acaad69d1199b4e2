"""The findings: what a leaderboard tells besides its numbers, and what people say of it."""

from collections.abc import Iterator

import dagster as dg

from assets import metadata
from assets.analysis.calibration import calibrate
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
from assets.metadata import tell_dagster
from assets.project import Benchmark, Project, is_judged
from evaluators import catalog
from evaluators.statistics.intervals import FEW_CLUSTERS
from warehouse.queries.leaderboard import found_insights, found_problems
from warehouse.store import Warehouse

LEAKING = "privacy"
"""The family of evaluators that look for what an answer must not give away."""


def look(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Fill the table `problems` for one benchmark; returns the number of rows."""
    names = {evaluator.name: evaluator for evaluator in benchmark.evaluators}
    calibrated = warehouse.fetch(
        "SELECT DISTINCT evaluator FROM calibration "
        "WHERE benchmark = $benchmark AND is_calibrated = 1",
        {"benchmark": benchmark.name},
    )["evaluator"]
    query = found_problems(
        benchmark.name,
        judged=[name for name, evaluator in names.items() if is_judged(evaluator)],
        calibrated=calibrated.to_list(),
        leaking=[name for name in names if catalog.family(name) == LEAKING],
        few=FEW_CLUSTERS,
    )
    found = warehouse.fetch(query.sql, query.parameters)
    warehouse.replace("problems", found, where={"benchmark": benchmark.name})
    return found.height


RETRIEVAL = "retrieval"
"""The family of evaluators by which systems retrieve well or badly."""


def tell(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Fill the table `insights` for one benchmark; returns the number of rows."""
    names = [evaluator.name for evaluator in benchmark.evaluators]
    retrieving = [name for name in names if catalog.family(name) == RETRIEVAL]
    query = found_insights(benchmark.name, retrieving)
    found = warehouse.fetch(query.sql, query.parameters)
    warehouse.replace("insights", found, where={"benchmark": benchmark.name})
    return found.height


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
            place: metadata.counts({"dagster/partition_row_count": count})
            for place, count in rows.items()
        }
        tell_dagster(context, counted)
        yield dg.MaterializeResult[None](asset_key=key)
