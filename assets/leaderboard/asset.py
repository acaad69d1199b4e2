"""The asset `leaderboard`."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
from dagster._core.definitions.metadata import RawMetadataValue

from assets import metadata
from assets.charts.interval_plot import interval_plot
from assets.charts.sort_order import MetricName, shown_metrics, systems_best_first
from assets.gates.refresh import refresh_gates
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
from assets.leaderboard.winner import best_systems, describe_winner
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

BOARD, PLOT = "Leaderboard", "Leaderboard plot"
"""Entries that the interface shows before the numbers: some of its tables sort entries by name,
upper case first, others show them in the order given."""

MAX_EXPANDED = 1_000
"""The interface shows Markdown without a click if it has fewer characters."""

MAX_PLOTTED_SYSTEMS = 10
"""The most systems in a picture."""

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
        added: dict[tuple[dg.AssetKey, str], dict[str, RawMetadataValue]] = {}
        for name, rows in written.items():
            own = by_benchmark.get((name,), leaderboards.clear())
            overall = own.filter(own["slice"] == "all").to_dicts()
            added[key, name] = {
                BOARD: dg.MetadataValue.md(leaderboard_markdown(overall)),
                **(plot_metadata(overall) if has_plots else {}),
                "dagster/partition_row_count": own.height,
                **metadata.counts({"rows written": rows}),
                **trend_metadata(overall),
            }
        add_partition_metadata(context, added)
        return dg.MaterializeResult[None]()

    return leaderboard


def plot_metadata(overall: Sequence[Mapping[str, Any]]) -> dict[str, RawMetadataValue]:
    """Return the picture of means and intervals by the headline metric; empty without a mean.

    It shows as many of the best systems as the interface draws without a click.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`.
    """
    text = ""
    for systems in range(MAX_PLOTTED_SYSTEMS, 0, -1):
        plot = interval_plot(overall, systems)
        if plot is None:
            return {}
        picture = base64.b64encode(plot.encode()).decode()
        text = f"![means and 95 % intervals](data:image/svg+xml;base64,{picture})"
        if len(text) < MAX_EXPANDED:
            break
    return {PLOT: dg.MetadataValue.md(text)}


def trend_metadata(overall: Sequence[Mapping[str, Any]]) -> dict[str, RawMetadataValue]:
    """Return numbers that the interface plots over time: failures, coverage and means.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`.
    """
    primary = [row for row in overall if row["is_primary"] == 1]
    lost = sum(row["n_parse_failure"] + row["n_judge_error"] for row in primary)
    failed = max((row["n_target_error"] for row in primary), default=0)
    numbers = metadata.counts({"failed answers": failed, "lost scores": lost})
    coverages = [row["coverage"] for row in primary if row["coverage"] is not None]
    if coverages:
        numbers["lowest coverage"] = dg.MetadataValue.float(min(coverages))
    if len({row["system"] for row in primary}) <= MAX_TRENDED_SYSTEMS:
        for row in primary:
            if row["mean"] is not None:
                name = f"{row['evaluator']}.{row['metric']} of {row['system']}"
                numbers[name] = dg.MetadataValue.float(row["mean"])
    return numbers


def leaderboard_markdown(overall: Sequence[Mapping[str, Any]]) -> str:
    """Return a leaderboard in Markdown: the verdict, then one row per system, best first.

    It has as many systems and primary metrics, the headline metric first, as the interface shows
    without a click.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`.
    """
    systems = systems_best_first(overall)
    by_metric = {
        name: {row["system"]: row for row in overall if (row["evaluator"], row["metric"]) == name}
        for name in shown_metrics(overall)
    }
    if not by_metric:
        return ""
    # Metrics give way to systems.
    sizes = [(len(systems), n) for n in range(len(by_metric), 0, -1)]
    sizes += [(n, 1) for n in range(len(systems) - 1, 0, -1)]
    text = ""
    for n_systems, n_metrics in sizes:
        text = _markdown(systems, by_metric, n_systems, n_metrics)
        if len(text) < MAX_EXPANDED:
            break
    return text


def _markdown(
    systems: Sequence[str],
    by_metric: Mapping[MetricName, Mapping[str, Mapping[str, Any]]],
    n_systems: int,
    n_metrics: int,
) -> str:
    metrics = list(by_metric)[:n_metrics]
    best = {name: best_systems(list(by_metric[name].values())) for name in metrics}
    table = metadata.markdown_table(
        [
            {"system": system}
            | {
                ".".join(name): _cell(by_metric[name].get(system), is_best=system in best[name])
                for name in metrics
            }
            for system in systems[:n_systems]
        ]
    )
    verdict = describe_winner(list(by_metric[metrics[0]].values()), metadata.markdown_text)
    more = [
        f"{n:,} more {noun}{'' if n == 1 else 's'}"
        for n, noun in (
            (len(systems) - n_systems, "system"),
            (len(by_metric) - n_metrics, "primary metric"),
        )
        if n
    ]
    left_out = f"and {', '.join(more)}" if more else None
    return "\n\n".join(part for part in (verdict, table, left_out) if part)


def _cell(row: Mapping[str, Any] | None, *, is_best: bool) -> str:
    """Return a mean with its interval; bold if it is one of the best."""
    if row is None or row["mean"] is None:
        return ""
    mean = f"**{row['mean']:.3f}**" if is_best else f"{row['mean']:.3f}"
    if row["mark"] == "tied" and row["rank"] != 1:
        mean += " tied"
    return (
        mean if row["ci_low"] is None else f"{mean} ({row['ci_low']:.3f} to {row['ci_high']:.3f})"
    )
