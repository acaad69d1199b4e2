"""The assets `calibration`, `problems` and `insights`."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
import polars as pl

from assets import metadata
from assets.analysis.calibration import calibrate
from assets.keys import BACKFILL, BENCHMARKS, CALIBRATION, INSIGHTS, LEADERBOARD, PROBLEMS, RESULTS
from assets.leaderboard.winner import describe_winner, find_winner
from assets.metadata import add_partition_metadata
from assets.project import Benchmark, Project, is_judged
from evaluators import catalog
from evaluators.statistics.intervals import FEW_CLUSTERS, VERY_FEW_CLUSTERS
from warehouse.queries.leaderboard import find_insights, find_problems
from warehouse.store import Warehouse

LEAKING = "privacy"
"""The family of evaluators that detect leaks of private data."""

RETRIEVAL = "retrieval"
"""The family of evaluators that measure retrieval."""


def refresh_problems(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Write the table `problems` for one benchmark and return the number of rows."""
    calibrated = warehouse.fetch(
        "SELECT evaluator FROM calibration WHERE benchmark = $benchmark "
        "GROUP BY evaluator HAVING min(is_calibrated) = 1",
        {"benchmark": benchmark.name},
    )["evaluator"]
    query = find_problems(
        benchmark.name,
        judged=[each.name for each in benchmark.evaluators if is_judged(each)],
        calibrated=calibrated.to_list(),
        leaking=_in_family(benchmark, LEAKING),
        named=list(benchmark.thresholds),
        few=FEW_CLUSTERS,
        very_few=VERY_FEW_CLUSTERS,
    )
    found = warehouse.fetch(*query)
    warehouse.replace("problems", found, where={"benchmark": benchmark.name})
    return found.height


def refresh_insights(warehouse: Warehouse, benchmark: Benchmark) -> int:
    """Write the table `insights` for one benchmark and return the number of rows."""
    found = warehouse.fetch(*find_insights(benchmark.name, _in_family(benchmark, RETRIEVAL)))
    found = pl.concat([_find_winner(warehouse, benchmark), found], how="diagonal_relaxed")
    warehouse.replace("insights", found, where={"benchmark": benchmark.name})
    return found.height


def _find_winner(warehouse: Warehouse, benchmark: Benchmark) -> pl.DataFrame:
    """Return the insight `winner`: the winner by the headline metric, or why there is none."""
    headline = warehouse.fetch(
        "SELECT * FROM leaderboard "
        "WHERE benchmark = $benchmark AND slice = 'all' AND is_headline = 1 ORDER BY rank, system",
        {"benchmark": benchmark.name},
    ).to_dicts()
    sentence = describe_winner(headline)
    if sentence is None:
        return pl.DataFrame()
    first, name = headline[0], "{evaluator}.{metric}".format(**headline[0])
    row = {
        **{column: first[column] for column in ("benchmark", "evaluator", "metric")},
        "kind": "winner",
        "system": find_winner(headline),
        "value": first["mean"],
        "message": f"{name}: {sentence}",
    }
    return pl.DataFrame([row])


def _in_family(benchmark: Benchmark, family: str) -> list[str]:
    return [each.name for each in benchmark.evaluators if catalog.family(each.name) == family]


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
    for key, refresh in STAGES.items():
        added = {}
        for name in context.partition_keys:
            rows = refresh(warehouse, project.benchmarks[name])
            added[key, name] = metadata.counts({"dagster/partition_row_count": rows})
        add_partition_metadata(context, added)
        yield dg.MaterializeResult[None](asset_key=key)
