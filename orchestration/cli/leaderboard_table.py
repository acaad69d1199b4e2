"""Print leaderboards: one table per benchmark and slice, with one system per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.output import OutputFormat, write

if TYPE_CHECKING:
    import polars as pl

MAX_METRICS = 3
"""How many metrics fit side by side on a terminal."""

MAX_SYSTEMS = 5
"""How many systems a sentence names; it counts the others."""

ARROWS = {"high": "↑", "low": "↓"}


def write_leaderboards(leaderboard: pl.DataFrame, output_format: OutputFormat) -> None:
    """Print rows of the table `leaderboard` as one table per benchmark and slice.

    Args:
        leaderboard: Rows of the table `leaderboard`.
        output_format: `table` or `md`.
    """
    groups = leaderboard.partition_by("benchmark", "slice", maintain_order=True)
    for at, group in enumerate(groups):
        if at:
            click.echo()
        rows = list(group.iter_rows(named=True))
        metrics = list(dict.fromkeys((row["evaluator"], row["metric"]) for row in rows))
        part = "" if rows[0]["slice"] == "all" else f", {rows[0]['slice']}"
        title: str | None = f"{rows[0]['benchmark']}{part}"
        if len(metrics) == 1:
            _write_metric(rows, output_format, title)
            continue
        numbered = {(r["evaluator"], r["metric"]) for r in rows if r["mean"] is not None}
        empty = [metric for metric in metrics if metric not in numbered] if numbered else []
        metrics = [metric for metric in metrics if metric not in empty]
        ranked = {(row["evaluator"], row["metric"]) for row in rows if row["rank"] is not None}
        leading = next((metric for metric in metrics if metric in ranked), metrics[0])
        width = MAX_METRICS if output_format == "table" else len(metrics)
        for start in range(0, len(metrics), width):
            if start:
                click.echo()
            _write_metrics(rows, leading, metrics[start : start + width], output_format, title)
            title = None
        click.echo(
            f"# is the rank by {'.'.join(leading)}; coverage is the lowest of the metrics shown.",
            err=output_format == "md",
        )
        if empty:
            names = ", ".join(".".join(metric) for metric in empty)
            click.echo(f"No system has a score for {names}.", err=output_format == "md")


def _heading(row: dict[str, Any], output_format: OutputFormat) -> str:
    """Return the metric with an arrow in its better direction; in tables on two lines."""
    between = "\n" if output_format == "table" else "."
    return f"{row['evaluator']}{between}{row['metric']} {ARROWS[row['best']]}"


def _write_metric(
    rows: list[dict[str, Any]], output_format: OutputFormat, title: str | None
) -> None:
    """Print one metric: a row per system with its counts."""
    columns = {"#": "rank", "system": "system", _heading(rows[0], output_format): "mean"}
    columns |= {"n": "n", "scored": "n_scored"}
    if any(row["n_target_error"] for row in rows):
        columns["failed"] = "n_target_error"
    columns["coverage"] = "coverage"
    if any(row["ci_low"] is not None for row in rows):
        columns |= {"from": "ci_low", "to": "ci_high"}
    if any(row["passes"] is not None for row in rows):
        columns["passes"] = "passes"
        passes = {None: None, 0: False, 1: True}
        rows = [{**row, "passes": passes[row["passes"]]} for row in rows]
    table = [[row[column] for column in columns.values()] for row in rows]
    write(list(columns), table, output_format, title)
    sentence = describe_lead(rows)
    if sentence is not None:
        click.echo(sentence, err=output_format == "md")


def describe_lead(rows: list[dict[str, Any]]) -> str | None:
    """Describe whether one system leads significantly; return None when no system leads.

    Args:
        rows: Rows of the leaderboard by one metric on one slice.
    """
    first = [row["system"] for row in rows if row["rank"] == 1]
    tied = [row["system"] for row in rows if row["tied_with_best"] == 1 and row["rank"] != 1]
    if not first or len(rows) == 1:
        return None
    if tied:
        more = len(tied) - MAX_SYSTEMS
        names = ", ".join(tied[:MAX_SYSTEMS]) + (f" and {more} more" if more > 0 else "")
        verb = "is" if len(tied) == 1 else "are"
        return f"No clear winner: {names} {verb} not significantly different from {first[0]}."
    if len(first) > 1:
        return f"No clear winner: {', '.join(first[:MAX_SYSTEMS])} are equal."
    if any(row["tied_with_best"] is None for row in rows if row["rank"] is not None):
        return None
    return f"{first[0]} is significantly better than every other system."


def _write_metrics(
    rows: list[dict[str, Any]],
    leading: tuple[str, str],
    shown: list[tuple[str, str]],
    output_format: OutputFormat,
    title: str | None,
) -> None:
    """Print several metrics: a row per system, a column per metric in `shown`.

    Systems are in the order of their ranks by the metric `leading`.
    """
    cells = {(row["system"], row["evaluator"], row["metric"]): row for row in rows}
    headings = {(row["evaluator"], row["metric"]): _heading(row, output_format) for row in rows}
    ranks = {
        system: cells.get((system, *leading), {}).get("rank")
        for system in sorted({row["system"] for row in rows})
    }
    failing = any(row["n_target_error"] for row in rows)
    table = []
    for system in sorted(ranks, key=lambda name: (ranks[name] is None, ranks[name] or 0)):
        own = [cells.get((system, *metric), {}) for metric in shown]
        counts = [max((row["n"] for row in own if row), default=None)]
        if failing:
            counts.append(max((row["n_target_error"] for row in own if row), default=None))
        coverages = [row["coverage"] for row in own if row.get("coverage") is not None]
        means = [row.get("mean") for row in own]
        table.append([ranks[system], system, *means, *counts, min(coverages, default=None)])
    columns = ["#", "system", *(headings[metric] for metric in shown)]
    columns += ["n", *(["failed"] if failing else []), "coverage"]
    write(columns, table, output_format, title)
