"""The fold: scores become the leaderboard."""

import dagster as dg
import polars as pl

from assets import reporting
from assets.ingest import RunChoices
from assets.keys import BACKFILL, BENCHMARKS, LEADERBOARD, OWNERS, RESULTS, scores_key
from assets.project import Project
from assets.scores import used
from assets.standings import refresh
from warehouse.store import Warehouse

SYSTEMS_SHOWN = 20
"""Systems in the leaderboard that the interface shows; the table has all of them."""


def leaderboard(project: Project) -> dg.AssetsDefinition:
    """The asset `leaderboard`, which depends on the scores of every evaluator in use."""

    @dg.asset(
        key=LEADERBOARD,
        deps=[scores_key(name) for name in used(project)],
        partitions_def=BENCHMARKS,
        backfill_policy=BACKFILL,
        group_name=RESULTS,
        kinds={"polars", "duckdb"},
        owners=OWNERS,
        code_version="1",
        description="How systems stand on each benchmark: means with their counts, coverage, "
        "bounds and ranks. One row is one system's mean of one metric on one slice.",
    )
    def leaderboard(
        context: dg.AssetExecutionContext,
        config: RunChoices,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> dg.MaterializeResult[None]:
        """Fold the scores of each benchmark that have changed."""
        # Scores of some systems leave the mark of their stage as it was.
        anew = config.force or bool(config.systems)
        written = {
            name: refresh(warehouse, project.benchmarks[name], force=anew)
            for name in context.partition_keys
        }
        standings = warehouse.fetch(
            "SELECT benchmark, slice, system, evaluator, metric, mean, rank, is_primary "
            "FROM leaderboard WHERE list_contains($benchmarks, benchmark)",
            {"benchmarks": list(context.partition_keys)},
        )
        for name, rows in written.items():
            own = standings.filter(pl.col("benchmark") == name)
            context.add_asset_metadata(
                {
                    "dagster/partition_row_count": own.height,
                    **reporting.counts({"rows written": rows}),
                    "standings": dg.MetadataValue.md(shown(own)),
                },
                partition_key=name,
            )
        return dg.MaterializeResult[None]()

    return leaderboard


def shown(leaderboard: pl.DataFrame) -> str:
    """A small leaderboard in Markdown: one row a system, one column a primary metric.

    Systems stand by the mean of their ranks; those that have none come last.

    Args:
        leaderboard: The rows of one benchmark: slice, system, evaluator, metric, mean, rank and
            is_primary.
    """
    primary = leaderboard.filter(pl.col("slice") == "all", pl.col("is_primary") == 1)
    order = (
        primary.group_by("system")
        .agg(pl.col("rank").mean())
        .sort("rank", "system", nulls_last=True)["system"]
        .to_list()
    )
    means = {
        (system, f"{evaluator}.{metric}"): mean
        for system, evaluator, metric, mean in primary.select(
            "system", "evaluator", "metric", "mean"
        ).iter_rows()
    }
    columns = sorted({column for _, column in means})
    rows = [
        {"system": system} | {column: _number(means.get((system, column))) for column in columns}
        for system in order[:SYSTEMS_SHOWN]
    ]
    left = len(order) - SYSTEMS_SHOWN
    return reporting.markdown(rows) + (f"\n\nand {left:,} more systems" if left > 0 else "")


def _number(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.3f}"
