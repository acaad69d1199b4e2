"""The asset `leaderboard`."""

import base64
from collections.abc import Mapping

import dagster as dg
import polars as pl
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.analysis.gates.refresh import refresh_gates
from assets.charts.interval_plot import interval_plot
from assets.charts.sort_order import (
    ORDER_COLUMNS,
    overall_rows,
    shown_metrics,
    systems_best_first,
)
from assets.keys import (
    BACKFILL,
    LEADERBOARD,
    RESULTS,
    WAREHOUSE,
    StageConfig,
    partitions_of,
    scores_key,
    warehouse_of,
)
from assets.leaderboard.refresh import refresh_leaderboards
from assets.metadata import add_partition_metadata
from assets.project import Project, used_evaluators

STEP = "leaderboard"

SOURCES = {
    "mean": "value",
    "ci_low": "value",
    "ci_high": "value",
    "rank": "value",
    "n_scored": "status",
    "coverage": "status",
    "signature": "signature",
}
"""The column of `scores` from which a column of the leaderboard is computed; only those that
readers ask about, since each has an entry for every evaluator."""

MAX_LISTED_SYSTEMS = 20
"""The systems that the leaderboard in Dagster's interface lists; the table has all of them."""

MAX_TRENDED_SYSTEMS = 10
"""Means are plotted over time only for benchmarks with at most this many systems."""

MAX_PLOTTED_BENCHMARKS = 50
"""Larger runs attach no plots, which take space in the event log."""


def build_leaderboard(project: Project) -> dg.AssetsDefinition:
    """Return the asset, which depends on the scores of every evaluator in use."""
    used = used_evaluators(project)
    spec = dg.AssetSpec(
        LEADERBOARD,
        deps=[scores_key(name) for name in used],
        group_name=RESULTS,
        kinds={"polars", "duckdb"},
        code_version="1",
        metadata=metadata.column_lineage(
            {
                column: [(project.namespace.key(scores_key(name)), source) for name in used]
                for column, source in SOURCES.items()
            }
        ),
        description="How systems rank on each benchmark: means with their counts, coverage, "
        "bounds and ranks. One row is one system's mean of one metric on one slice.",
    )

    @dg.multi_asset(
        name=project.namespace.name(STEP),
        specs=[spec],
        partitions_def=partitions_of(project),
        backfill_policy=BACKFILL,
        required_resource_keys={project.namespace.name(WAREHOUSE)},
    )
    def leaderboard(
        context: dg.AssetExecutionContext, config: StageConfig
    ) -> dg.MaterializeResult[None]:
        """Aggregate the scores of each benchmark that have changed, and evaluate its gates."""
        warehouse = warehouse_of(context, project)
        (key,) = context.selected_asset_keys
        has_plots = len(context.partition_keys) <= MAX_PLOTTED_BENCHMARKS
        # Scoring only some systems does not update the fingerprint of the scores.
        force = config.force or bool(config.systems)
        benchmarks = [project.benchmarks[name] for name in context.partition_keys]
        written = refresh_leaderboards(warehouse, benchmarks, force=force)
        refresh_gates(warehouse, benchmarks)
        leaderboards = warehouse.fetch(
            "SELECT * FROM leaderboard WHERE list_contains($benchmarks, benchmark)",
            {"benchmarks": list(context.partition_keys)},
        )
        by_benchmark = leaderboards.partition_by("benchmark", as_dict=True)
        plots = plot_metadata(by_benchmark) if has_plots else {}
        added: dict[tuple[dg.AssetKey, str], dict[str, RawMetadataValue]] = {}
        for name, rows in written.items():
            own = by_benchmark.get((name,), leaderboards.clear())
            added[key, name] = {
                "dagster/partition_row_count": own.height,
                **metadata.counts({"rows written": rows}),
                **trend_metadata(own),
                "leaderboard": dg.MetadataValue.md(leaderboard_markdown(own)),
                **plots.get(name, {}),
            }
        add_partition_metadata(context, added)
        return dg.MaterializeResult[None]()

    return leaderboard


def plot_metadata(
    leaderboards: Mapping[tuple[object, ...], pl.DataFrame],
) -> dict[object, dict[str, RawMetadataValue]]:
    """Return charts of the primary metrics with their intervals, by benchmark.

    Args:
        leaderboards: The rows of the table `leaderboard`, by benchmark.

    Returns:
        The metadata of each benchmark that has a mean.
    """
    plots: dict[object, dict[str, RawMetadataValue]] = {}
    for (name,), rows in leaderboards.items():
        plot = interval_plot(rows)
        if plot is not None:
            picture = base64.b64encode(plot.encode()).decode()
            text = f"![means and 95 % intervals of {name}](data:image/svg+xml;base64,{picture})"
            plots[name] = {"plot": dg.MetadataValue.md(text)}
    return plots


def trend_metadata(leaderboard: pl.DataFrame) -> dict[str, RawMetadataValue]:
    """Return numbers that the interface plots over time: failures, coverage and means.

    Args:
        leaderboard: The benchmark's rows of the table `leaderboard`.
    """
    primary = leaderboard.filter(pl.col("slice") == "all", pl.col("is_primary") == 1)
    lost = primary.select(pl.col("n_parse_failure") + pl.col("n_judge_error")).sum().item()
    failed = primary.select(pl.col("n_target_error").max()).item()
    numbers = metadata.counts({"failed answers": int(failed or 0), "lost scores": int(lost)})
    coverage = primary["coverage"].min()
    if isinstance(coverage, float):
        numbers["lowest coverage"] = dg.MetadataValue.float(coverage)
    if primary["system"].n_unique() <= MAX_TRENDED_SYSTEMS:
        for row in primary.filter(pl.col("mean").is_not_null()).iter_rows(named=True):
            name = f"{row['evaluator']}.{row['metric']} of {row['system']}"
            numbers[name] = dg.MetadataValue.float(row["mean"])
    return numbers


def leaderboard_markdown(leaderboard: pl.DataFrame) -> str:
    """Return a leaderboard in Markdown: one row per system, one column per primary metric.

    Systems are sorted by their rank in the headline metric, whose column is the first.

    Args:
        leaderboard: The rows of one benchmark in the table `leaderboard`.
    """
    overall = overall_rows(leaderboard)
    order = systems_best_first(overall.select(ORDER_COLUMNS).to_dicts())
    means = {
        (system, (evaluator, metric)): mean
        for system, evaluator, metric, mean in overall.select(
            "system", "evaluator", "metric", "mean"
        ).iter_rows()
    }
    metrics = shown_metrics(overall)
    rows = [
        {"system": system}
        | {".".join(name): _number(means.get((system, name))) for name in metrics}
        for system in order[:MAX_LISTED_SYSTEMS]
    ]
    more = len(order) - MAX_LISTED_SYSTEMS
    return metadata.markdown_table(rows) + (f"\n\nand {more:,} more systems" if more > 0 else "")


def _number(mean: float | None) -> str:
    return "" if mean is None else f"{mean:.3f}"
