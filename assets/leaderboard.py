"""The fold: scores become the leaderboard."""

import dagster as dg

from assets import reporting
from assets.ingest import RunChoices
from assets.keys import BACKFILL, BENCHMARKS, LEADERBOARD, OWNERS, RESULTS, scores_key
from assets.project import Project
from assets.scores import used
from assets.standings import refresh
from warehouse.store import Warehouse


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
        return dg.MaterializeResult[None](
            metadata={
                "dagster/partition_row_count": reporting.row_count(
                    warehouse, "leaderboard", context.partition_keys
                ),
                **reporting.counts({"rows written": sum(written.values())}),
                **reporting.table_metadata("leaderboard", str(warehouse.path)),
            }
        )

    return leaderboard
