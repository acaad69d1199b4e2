"""Results as a few lines of text: which system is best, with means, intervals and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from warehouse.foreign_text import show_hidden_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import polars as pl

    Row = Mapping[str, Any]

MOST_SYSTEMS = 10
MOST_NOTES = 10


def describe_results(leaderboard: pl.DataFrame, notes: Sequence[str]) -> str:
    """Say which system is best on each benchmark by its leading metric; add notes on inputs."""
    lines = [
        line
        for rows in leaderboard.filter(slice="all").partition_by("benchmark", maintain_order=True)
        for line in _describe_benchmark(rows.to_dicts())
    ]
    if leaderboard.is_empty():
        lines.append("No results.")
    lines += [f"note: {note}" for note in notes[:MOST_NOTES]]
    lines += _count_more(len(notes) - MOST_NOTES, "note", "`results.notes`")
    return "\n".join(show_hidden_line(line) for line in lines)


def _describe_benchmark(rows: Sequence[Row]) -> Iterator[str]:
    from assets.charts.sort_order import leading_metric, systems_best_first
    from assets.leaderboard.winner import describe_winner

    benchmark = rows[0]["benchmark"]
    leading = leading_metric(rows)
    by_system = {row["system"]: row for row in rows if (row["evaluator"], row["metric"]) == leading}
    sentence = describe_winner(list(by_system.values()))
    if sentence is None:
        sentence = "No winner: no system has a rank on {}.{}.".format(*leading or ("", ""))
    yield f"{benchmark}: {sentence}"
    systems = [name for name in systems_best_first(rows) if name in by_system]
    width = max(map(len, systems[:MOST_SYSTEMS]))
    for name in systems[:MOST_SYSTEMS]:
        yield f"  {name:<{width}}  {_describe_mean(by_system[name])}"
    yield from _count_more(len(systems) - MOST_SYSTEMS, "system", "`results.leaderboard`")


def _describe_mean(row: Row) -> str:
    """Return a mean with its interval and the number of scores."""
    applicable = row["n"] - row["n_not_applicable"]
    counted = "" if row["n_scored"] == applicable else f" of {applicable:,}"
    n = f"n = {row['n_scored']:,}{counted}"
    failed = f", {row['n_target_error']:,} failed" if row["n_target_error"] else ""
    if row["mean"] is None:
        return f"no value ({n}{failed})"
    if row["ci_low"] is None:
        return f"{row['mean']:.3f} (no interval, {n}{failed})"
    interval = f"95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}"
    return f"{row['mean']:.3f} ({interval}, {n}{failed})"


def _count_more(number: int, what: str, where: str) -> list[str]:
    plural = "" if number == 1 else "s"
    return [f"{number:,} more {what}{plural} in {where}"] if number > 0 else []
