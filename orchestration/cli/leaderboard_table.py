"""Print leaderboards: one table per benchmark and slice, with one system per row."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.output import OutputFormat, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.charts.sort_order import MetricName

    Row = dict[str, Any]
    Cells = dict[tuple[str, str, str], Row]

MAX_METRICS = 3
"""How many metrics fit side by side on a terminal."""

ARROWS = {"high": "↑", "low": "↓"}


def write_leaderboards(leaderboard: Iterable[Row], output_format: OutputFormat) -> None:
    """Print rows of the table `leaderboard` as one table per benchmark and slice.

    Args:
        leaderboard: Rows of the table `leaderboard`, by benchmark and slice.
        output_format: `table` or `md`.
    """
    from assets.charts.sort_order import leading_metric, systems_best_first
    from assets.leaderboard.winner import describe_winner

    groups = groupby(leaderboard, key=itemgetter("benchmark", "slice"))
    for at, (_, group) in enumerate(groups):
        if at:
            click.echo()
        rows = sorted(group, key=lambda row: row["position"] or 0)
        cells = {(row["system"], row["evaluator"], row["metric"]): row for row in rows}
        systems, leading = systems_best_first(rows), leading_metric(rows)
        part = "" if rows[0]["slice"] == "all" else f", {rows[0]['slice']}"
        title: str | None = f"{rows[0]['benchmark']}{part}"
        metrics = list(dict.fromkeys((row["evaluator"], row["metric"]) for row in rows))
        leading_rows = [row for row in rows if (row["evaluator"], row["metric"]) == leading]
        sentence = describe_winner(leading_rows)
        if len(metrics) == 1:
            ordered = [cells[system, *metrics[0]] for system in systems]
            _write_metric(ordered, output_format, title)
            if sentence is not None:
                click.echo(sentence, err=output_format == "md")
            continue
        measured = {(row["evaluator"], row["metric"]) for row in rows if row["mean"] is not None}
        empty = [metric for metric in metrics if metric not in measured] if measured else []
        metrics = [metric for metric in metrics if metric not in empty]
        width = MAX_METRICS if output_format == "table" else len(metrics)
        for start in range(0, len(metrics), width):
            if start:
                click.echo()
            ranked = {row["system"]: row for row in leading_rows}
            shown = metrics[start : start + width]
            _write_metrics(systems, ranked, cells, shown, output_format, title)
            title = None
        if leading is not None:
            notes = [f"# is the rank by {'.'.join(leading)}", *_describe_signs(cells, metrics)]
            click.echo(f"{'; '.join(notes)}.", err=output_format == "md")
        if sentence is not None:
            click.echo(sentence, err=output_format == "md")
        if empty:
            names = ", ".join(".".join(metric) for metric in empty)
            click.echo(f"No system has a score for {names}.", err=output_format == "md")


def _heading(row: Row, output_format: OutputFormat) -> str:
    """Return the metric with an arrow in its better direction; in tables on two lines."""
    between = "\n" if output_format == "table" else "."
    return f"{row['evaluator']}{between}{row['metric']} {ARROWS[row['best']]}"


def _rank(row: Row) -> str | None:
    """Return a rank, with the range that the uncertainty allows in brackets."""
    if row.get("rank") is None:
        return None
    low, high = row["rank_low"], row["rank_high"]
    is_range = low is not None and low != high
    return f"{row['rank']} ({low} to {high})" if is_range else str(row["rank"])


def _write_metric(rows: list[Row], output_format: OutputFormat, title: str | None) -> None:
    """Print one metric: a row per system with its counts."""
    passes = {None: None, 0: False, 1: True}
    rows = [{**row, "#": _rank(row), "passes": passes[row["passes"]]} for row in rows]
    columns = {"#": "#", "system": "system", _heading(rows[0], output_format): "mean"}
    columns |= {"n": "n", "scored": "n_scored"}
    if any(row["n_target_error"] for row in rows):
        columns["failed"] = "n_target_error"
    columns["coverage"] = "coverage"
    if any(row["ci_low"] is not None for row in rows):
        columns |= {"from": "ci_low", "to": "ci_high"}
    if any(row.get("chance") is not None for row in rows):
        columns["by chance"] = "chance"
    columns |= {
        name: name for name in ("passes", "gate") if any(row[name] is not None for row in rows)
    }
    table = [[row[column] for column in columns.values()] for row in rows]
    write(list(columns), table, output_format, title)
    equal = [row["system"] for row in rows if row["ci_method"] == "no_variation"]
    if equal:
        note = f"No variation seen: all scores of {', '.join(equal)} are equal."
        click.echo(note, err=output_format == "md")


def _write_metrics(
    systems: Sequence[str],
    ranked: dict[str, Row],
    cells: Cells,
    shown: Sequence[MetricName],
    output_format: OutputFormat,
    title: str | None,
) -> None:
    """Print several metrics: a row per system, a column per metric in `shown`.

    Args:
        systems: The systems in their order.
        ranked: The rows of the leading metric by system.
        cells: All rows by system, evaluator and metric.
        shown: The metrics.
        output_format: `table` or `md`.
        title: The heading of the table.
    """
    columns: dict[str, list[Any]] = {
        "#": [_rank(ranked.get(system, {})) for system in systems],
        "system": list(systems),
    }
    for metric in shown:
        own = [cells[system, *metric] for system in systems if (system, *metric) in cells]
        columns[_heading(own[0], output_format)] = _metric_column(systems, metric, cells)
    rows = [[cells[system, *m] for m in shown if (system, *m) in cells] for system in systems]
    columns["n"] = [max((row["n"] for row in own), default=None) for own in rows]
    if any(row["n_target_error"] for row in cells.values()):
        columns["failed"] = [max((r["n_target_error"] for r in own), default=None) for own in rows]
    if any(row["gate"] for row in cells.values()):
        gates = [{row["gate"] for row in own} for own in rows]
        columns["gate"] = [
            next((each for each in ("failed", "passed") if each in own), None) for own in gates
        ]
    write(list(columns), zip(*columns.values(), strict=True), output_format, title)


def _metric_column(systems: Sequence[str], metric: MetricName, cells: Cells) -> list[str]:
    """Return the means of a metric as texts of equal width, with their signs."""
    from assets.leaderboard.winner import best_systems

    rows = [cells.get((system, *metric), {}) for system in systems]
    best = best_systems([row for row in rows if row])
    means = [_mean(row) for row in rows]
    signs = ["*" if system in best else "" for system in systems]
    counts = [_missing(row) for row in rows]
    columns = [(means, str.rjust), (signs, str.ljust), (counts, str.ljust)]
    padded = [
        [pad(text, max(map(len, texts))) for text in texts] for texts, pad in columns if any(texts)
    ]
    return [" ".join(parts) for parts in zip(*padded, strict=True)]


def _mean(row: Row) -> str:
    if row and row["n"] == row["n_not_applicable"]:
        return "n/a"
    return f"{row['mean']:.3f}" if row.get("mean") is not None else "-"


def _missing(row: Row) -> str:
    """Return `4/5` if one of five applicable samples has no score; empty if none is missing."""
    applicable = row["n"] - row["n_not_applicable"] if row else 0
    scored = row["n_scored"] if row else 0
    return "" if scored == applicable else f"{scored}/{applicable}"


def _describe_signs(cells: Cells, metrics: Sequence[MetricName]) -> list[str]:
    """Explain the signs that the tables of some metrics contain."""
    from assets.leaderboard.winner import best_systems

    shown = [[row for key, row in cells.items() if key[1:] == metric] for metric in metrics]
    counts = next(filter(None, (_missing(row) for rows in shown for row in rows)), "")
    has_inputs = all(_mean(row) != "n/a" for rows in shown for row in rows)
    meanings = {
        "* the best, where another system is significantly worse": any(map(best_systems, shown)),
        f"{counts}: scored of applicable samples": bool(counts),
        "n/a: the metric needs an input that is missing": not has_inputs,
    }
    return [text for text, is_used in meanings.items() if is_used]
