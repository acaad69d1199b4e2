"""The fold: scores become the leaderboard."""

import base64

import dagster as dg
import polars as pl
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.charts.sort_order import systems_best_first
from assets.keys import BACKFILL, BENCHMARKS, LEADERBOARD, OWNERS, RESULTS, StageConfig, scores_key
from assets.leaderboard.refresh import refresh_leaderboard
from assets.metadata import add_partition_metadata
from assets.project import Project, used
from warehouse.store import Warehouse

SYSTEMS_SHOWN = 20
"""Systems in the leaderboard that the interface shows; the table has all of them."""


SYSTEMS_TRACED = 10
"""Systems whose means are plotted over time; of more benchmarks nobody would look at the lines."""


PLOTTED = 50
"""Benchmarks that a run may have for their standings to be plotted: of more, nobody looks at the
pictures one by one, and each takes a tenth of a second and its room among the events."""


def build_leaderboard(project: Project) -> dg.AssetsDefinition:
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
        config: StageConfig,
        warehouse: dg.ResourceParam[Warehouse],
        project: dg.ResourceParam[Project],
    ) -> dg.MaterializeResult[None]:
        """Fold the scores of each benchmark that have changed."""
        # Scores of some systems leave the mark of their stage as it was.
        anew = config.force or bool(config.systems)
        written = {
            name: refresh_leaderboard(warehouse, project.benchmarks[name], force=anew)
            for name in context.partition_keys
        }
        standings = warehouse.fetch(
            "SELECT * FROM leaderboard WHERE list_contains($benchmarks, benchmark)",
            {"benchmarks": list(context.partition_keys)},
        )
        apart = standings.partition_by("benchmark", as_dict=True)
        told: dict[tuple[dg.AssetKey, str], dict[str, RawMetadataValue]] = {}
        for name, rows in written.items():
            own = apart.get((name,), standings.clear())
            told[LEADERBOARD, name] = {
                "dagster/partition_row_count": own.height,
                **metadata.counts({"rows written": rows}),
                **trend_metadata(own),
                "standings": dg.MetadataValue.md(leaderboard_markdown(own)),
                **(plot_metadata(name, own) if len(written) <= PLOTTED else {}),
            }
        add_partition_metadata(context, told)
        return dg.MaterializeResult[None]()

    return leaderboard


def plot_metadata(benchmark: str, leaderboard: pl.DataFrame) -> dict[str, RawMetadataValue]:
    """The primary metrics with their intervals as a picture; nothing where there is no number.

    Args:
        benchmark: The benchmark's name.
        leaderboard: Its rows of the table `leaderboard`.
    """
    from assets.charts.leaderboard import leaderboard_chart
    from assets.charts.vega import render_png, render_svg

    spec = leaderboard_chart(leaderboard)
    if spec is None:
        return {}
    picture = base64.b64encode(render_png(render_svg(spec), scale=1.0)).decode()
    text = f"![means and 95 % intervals of {benchmark}](data:image/png;base64,{picture})"
    return {"plot": dg.MetadataValue.md(text)}


def trend_metadata(leaderboard: pl.DataFrame) -> dict[str, RawMetadataValue]:
    """Numbers that the interface plots over time: failures, coverage, and means of few systems.

    Args:
        leaderboard: The rows of one benchmark of the table `leaderboard`.
    """
    primary = leaderboard.filter(pl.col("slice") == "all", pl.col("is_primary") == 1)
    lost = primary.select(pl.col("n_parse_failure") + pl.col("n_judge_error")).sum().item()
    failed = primary.select(pl.col("n_target_error").max()).item()
    numbers = metadata.counts({"failed answers": int(failed or 0), "lost scores": int(lost)})
    coverage = primary["coverage"].min()
    if isinstance(coverage, float):
        numbers["lowest coverage"] = dg.MetadataValue.float(coverage)
    if primary["system"].n_unique() <= SYSTEMS_TRACED:
        for row in primary.filter(pl.col("mean").is_not_null()).iter_rows(named=True):
            name = f"{row['evaluator']}.{row['metric']} of {row['system']}"
            numbers[name] = dg.MetadataValue.float(row["mean"])
    return numbers


def leaderboard_markdown(leaderboard: pl.DataFrame) -> str:
    """A small leaderboard in Markdown: one row a system, one column a primary metric.

    Systems stand by the mean of their ranks; those that have none come last.

    Args:
        leaderboard: The rows of one benchmark: slice, system, evaluator, metric, mean, rank and
            is_primary.
    """
    primary = leaderboard.filter(pl.col("slice") == "all", pl.col("is_primary") == 1)
    order = systems_best_first(leaderboard)
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
    return metadata.markdown_table(rows) + (f"\n\nand {left:,} more systems" if left > 0 else "")


def _number(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.3f}"
