"""Leaderboards on the terminal: one table a benchmark, with a system in each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.output import Form, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl

WIDEST = 3
"""The metrics that stand side by side; more would not fit a terminal."""

NAMED = 5
"""The systems that a sentence names; more of them are counted."""

ARROWS = {"high": "↑", "low": "↓"}


def write_boards(board: pl.DataFrame, form: Form) -> None:
    """Writes rows of the table `leaderboard` as one table for each benchmark and slice.

    Args:
        board: Rows of the leaderboard.
        form: `table` or `md`.
    """
    groups = board.partition_by("benchmark", "slice", maintain_order=True)
    for at, group in enumerate(groups):
        if at:
            click.echo()
        rows = list(group.iter_rows(named=True))
        metrics = list(dict.fromkeys((row["evaluator"], row["metric"]) for row in rows))
        part = "" if rows[0]["slice"] == "all" else f", {rows[0]['slice']}"
        title: str | None = f"{rows[0]['benchmark']}{part}"
        if len(metrics) == 1:
            _one(rows, form, title)
            continue
        numbered = {(r["evaluator"], r["metric"]) for r in rows if r["mean"] is not None}
        empty = [metric for metric in metrics if metric not in numbered] if numbered else []
        metrics = [metric for metric in metrics if metric not in empty]
        ranked = {(row["evaluator"], row["metric"]) for row in rows if row["rank"] is not None}
        leading = next((metric for metric in metrics if metric in ranked), metrics[0])
        together = WIDEST if form == "table" else len(metrics)
        for start in range(0, len(metrics), together):
            if start:
                click.echo()
            _several(rows, leading, metrics[start : start + together], form, title)
            title = None
        click.echo(
            f"# is the rank by {'.'.join(leading)}; "
            "coverage is the lowest of the metrics beside it.",
            err=form == "md",
        )
        if empty:
            names = ", ".join(".".join(metric) for metric in empty)
            click.echo(f"No system has a number by {names}.", err=form == "md")


def _heading(row: dict[str, Any], form: Form) -> str:
    """The metric's name with the direction in which it is good, on two lines in tables."""
    between = "\n" if form == "table" else "."
    return f"{row['evaluator']}{between}{row['metric']} {ARROWS[row['best']]}"


def _one(rows: list[dict[str, Any]], form: Form, title: str | None) -> None:
    """One metric: a row for each system with its counts."""
    failing = any(row["n_target_error"] for row in rows)
    columns = ["#", "system", _heading(rows[0], form), "n", "scored"]
    columns += ["failed"] if failing else []
    columns += ["coverage"]
    uncertain = any(row["ci_low"] is not None for row in rows)
    passing = any(row["passes"] is not None for row in rows)
    columns += ["from", "to"] if uncertain else []
    columns += ["passes"] if passing else []

    def cells(row: dict[str, Any]) -> Iterator[Any]:
        yield from (row["rank"], row["system"], row["mean"], row["n"], row["n_scored"])
        if failing:
            yield row["n_target_error"]
        yield row["coverage"]
        if uncertain:
            yield from (row["ci_low"], row["ci_high"])
        if passing:
            yield None if row["passes"] is None else bool(row["passes"])

    write(columns, [list(cells(row)) for row in rows], form, title)
    said = decisive(rows)
    if said is not None:
        click.echo(said, err=form == "md")


def decisive(rows: list[dict[str, Any]]) -> str | None:
    """Whether one system leads for certain, in a sentence; None where none leads.

    Args:
        rows: Rows of the leaderboard by one metric on one slice.
    """
    first = [row["system"] for row in rows if row["rank"] == 1]
    tied = [row["system"] for row in rows if row["tied_with_best"] == 1 and row["rank"] != 1]
    if not first or len(rows) == 1:
        return None
    if tied:
        more = len(tied) - NAMED
        names = ", ".join(tied[:NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"The ranking is not decisive: {names} cannot be told apart from {first[0]}."
    if len(first) > 1:
        return f"The ranking is not decisive: {', '.join(first[:NAMED])} are equal."
    if any(row["tied_with_best"] is None for row in rows if row["rank"] is not None):
        return None
    return f"{first[0]} is better than each of the others, by more than chance."


def _several(
    rows: list[dict[str, Any]],
    leading: tuple[str, str],
    shown: list[tuple[str, str]],
    form: Form,
    title: str | None,
) -> None:
    """Several metrics: a row for each system, a column for each metric that is `shown`.

    Systems stand in the order of their ranks by the metric `leading`.
    """
    cells = {(row["system"], row["evaluator"], row["metric"]): row for row in rows}
    headings = {(row["evaluator"], row["metric"]): _heading(row, form) for row in rows}
    ranks = {
        system: cells.get((system, *leading), {}).get("rank")
        for system in sorted({row["system"] for row in rows})
    }
    failing = any(row["n_target_error"] for row in rows)
    table = []
    for system in sorted(ranks, key=lambda name: (ranks[name] is None, ranks[name] or 0)):
        own = [cells.get((system, *metric)) for metric in shown]
        there = [row for row in own if row is not None]
        means = [None if row is None else row["mean"] for row in own]
        failed = [_most(there, "n_target_error")] if failing else []
        counts = [_most(there, "n"), *failed, _lowest(there, "coverage")]
        table.append([ranks[system], system, *means, *counts])
    columns = ["#", "system", *(headings[metric] for metric in shown)]
    columns += ["n", *(["failed"] if failing else []), "coverage"]
    write(columns, table, form, title)


def _most(rows: Iterable[dict[str, Any]], column: str) -> int | None:
    return max((row[column] for row in rows), default=None)


def _lowest(rows: Iterable[dict[str, Any]], column: str) -> float | None:
    values = [row[column] for row in rows if row[column] is not None]
    return min(values) if values else None
