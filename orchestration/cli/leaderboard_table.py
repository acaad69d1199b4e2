"""Print leaderboards: one table per benchmark and slice, with one system per row."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from orchestration.cli.layout import is_natural, terminal_width
from orchestration.cli.output import OutputFormat, echo, say, table_columns, table_lines, write

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from assets.charts.sort_order import MetricName

    Row = dict[str, Any]
    Cells = dict[tuple[str, str, str], Row]

ARROWS = {"high": "↑", "low": "↓"}

OPTIONAL = ("coverage", "coverage %", "scored", "by chance")
"""The columns of a table of one metric that a narrow terminal does without."""


@dataclass(frozen=True, slots=True)
class Table:
    """A part of a leaderboard: a row for each system.

    Attributes:
        title: The heading.
        columns: The headings of the columns.
        rows: The rows.
    """

    title: str | None
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def lines(self, width: int) -> Iterator[str]:
        """Yield the lines of the table on a terminal."""
        return table_lines(
            self.columns, self.rows, width, title=self.title, optional=OPTIONAL, keys=KEYS
        )


class LeftOut(str):
    """The note of a short form about what it leaves out, such as `4 more systems`."""

    __slots__ = ()


KEYS = 2
"""The first columns of each table: rank and system."""


def in_percent(row: Row) -> Row:
    """Return a row of the leaderboard whose numbers are percentages, if its metric is a rate."""
    if {row["best_value"], row["worst_value"]} != {0.0, 1.0}:
        return row
    numbers = ("mean", "common_mean", "ci_low", "ci_high", "chance", "coverage")
    scaled = {name: 100 * row[name] for name in numbers if row.get(name) is not None}
    return {**row, **scaled, "unit": " %"}


def write_leaderboards(leaderboard: Iterable[Row], output_format: OutputFormat) -> None:
    """Print rows of the table `leaderboard` as one table per benchmark and slice.

    Args:
        leaderboard: Rows of the table `leaderboard`, by benchmark and slice.
        output_format: `table` or `md`.
    """
    is_table = output_format == "table"
    width = terminal_width(sys.stdout) if is_table else None
    groups = groupby(leaderboard, key=itemgetter("benchmark", "slice"))
    for number, (_, group) in enumerate(groups):
        is_first = number == 0
        for part in describe_leaderboard(list(group), width):
            if isinstance(part, str):
                say(part, err=not is_table)
                continue
            if not is_first:
                echo()
            is_first = False
            if width is None:
                write(part.columns, part.rows, output_format, part.title)
                continue
            for line in part.lines(width):
                echo(line)


def describe_leaderboard(
    rows: list[Row], width: int | None, most_systems: int | None = None
) -> Iterator[Table | str]:
    """Yield the leaderboard of one benchmark and slice: tables, and notes about them.

    Args:
        rows: The rows of the table `leaderboard`.
        width: The width of the terminal, in which as many metrics stand beside each other as fit;
            None for Markdown, where all do.
        most_systems: The most systems of a short form with one table, which counts what it leaves
            out at its end.
    """
    from assets.charts.sort_order import leading_metric, systems_best_first
    from assets.leaderboard.winner import describe_winner

    rows = sorted(rows, key=lambda row: row["position"] or 0)
    leading = leading_metric(rows)
    leading_rows = [row for row in rows if (row["evaluator"], row["metric"]) == leading]
    systems = systems_best_first(rows)
    shown = systems[:most_systems]
    part = "" if rows[0]["slice"] == "all" else f", {rows[0]['slice']}"
    title = f"{rows[0]['benchmark']}{part}"
    left_out = _count(len(systems) - len(shown), "system")
    if len({(row["evaluator"], row["metric"]) for row in rows}) == 1:
        by_system = {row["system"]: row for row in rows}
        yield from _one_metric([by_system[system] for system in shown], width, title)
    else:
        is_short = most_systems is not None
        more = yield from _metrics(shown, rows, leading_rows, width, title, is_short=is_short)
        left_out += _count(more, "metric")
    sentence = describe_winner(leading_rows)
    if sentence is not None:
        yield sentence
    if left_out:
        yield LeftOut(", ".join(left_out))


def _metrics(
    systems: Sequence[str],
    rows: list[Row],
    leading_rows: list[Row],
    width: int | None,
    title: str | None,
    *,
    is_short: bool,
) -> Generator[Table | str, None, int]:
    """Yield tables with as many metrics as fit, and notes; return how many are left out.

    Args:
        systems: The systems in their order.
        rows: All rows.
        leading_rows: The rows of the leading metric.
        width: The width of the terminal; None for Markdown.
        title: The heading of the first table.
        is_short: Whether there is only one table.
    """
    cells = {(row["system"], row["evaluator"], row["metric"]): row for row in rows}
    ranked = {row["system"]: row for row in leading_rows}
    metrics = list(dict.fromkeys((row["evaluator"], row["metric"]) for row in rows))
    measured = {(row["evaluator"], row["metric"]) for row in rows if row["mean"] is not None}
    empty = [metric for metric in metrics if metric not in measured] if measured else []
    metrics = [metric for metric in metrics if metric not in empty]
    start = 0
    while start < len(metrics):
        for end in range(len(metrics), start, -1):
            table = _several_metrics(systems, ranked, cells, metrics[start:end], width, title)
            if width is None or is_natural(table_columns(table.columns, table.rows), width):
                break
        yield table
        start, title = end, None
        if is_short:
            break
    if leading_rows:
        leading = f"{leading_rows[0]['evaluator']}.{leading_rows[0]['metric']}"
        notes = [f"# is the rank by {leading}", *_describe_signs(cells, metrics[:start])]
        yield f"{'; '.join(notes)}."
    yield from _describe_common(leading_rows)
    if empty:
        yield f"No system has a score for {', '.join(map('.'.join, empty))}."
    return len(metrics) - start


def _count(number: int, what: str) -> list[str]:
    return [f"{number} more {what}{'' if number == 1 else 's'}"] if number else []


def _format_heading(row: Row, width: int | None) -> str:
    """Return the metric with an arrow in its better direction; on a terminal on two lines."""
    between = "." if width is None else "\n"
    return f"{row['evaluator']}{between}{row['metric']} {ARROWS[row['best']]}{row.get('unit', '')}"


def _format_rank(row: Row) -> str | None:
    """Return a rank, with the range that the uncertainty allows in brackets."""
    if row.get("rank") is None:
        return None
    low, high = row["rank_low"], row["rank_high"]
    is_range = low is not None and low != high
    return f"{row['rank']} ({low} to {high})" if is_range else str(row["rank"])


def _one_metric(rows: list[Row], width: int | None, title: str | None) -> Iterator[Table | str]:
    """Yield the table of one metric, a row per system with its counts, and notes about it."""
    passes = {None: None, 0: False, 1: True}
    rows = [{**row, "#": _format_rank(row), "passes": passes[row["passes"]]} for row in rows]
    columns = {"#": "#", "system": "system", _format_heading(rows[0], width): "mean"}
    columns |= {"n": "n", "scored": "n_scored"}
    if any(row.get("n_not_asked") for row in rows):
        columns["not asked"] = "n_not_asked"
    if any(row["n_target_error"] for row in rows):
        columns["failed"] = "n_target_error"
    columns[f"coverage{rows[0].get('unit', '')}"] = "coverage"
    if any(row["ci_low"] is not None for row in rows):
        columns |= {"from": "ci_low", "to": "ci_high"}
    if any(row.get("chance") is not None for row in rows):
        columns["by chance"] = "chance"
    columns |= {
        name: name for name in ("passes", "gate") if any(row[name] is not None for row in rows)
    }
    table = [[row[column] for column in columns.values()] for row in rows]
    yield Table(title, list(columns), table)
    yield from _describe_common(rows)
    equal = [row["system"] for row in rows if row["ci_method"] == "no_variation"]
    if equal:
        yield f"No variation seen: all scores of {', '.join(equal)} are equal."


def _describe_common(rows: list[Row]) -> Iterator[str]:
    """Say on how many questions the ranks by one metric rest, if systems were asked others."""
    if any(row.get("n_not_asked") for row in rows):
        common = rows[0]["n_common"]
        if common:
            yield f"Ranks rest on the {common:,} questions that all systems were asked."
        else:
            yield "No ranks: no question was asked of all systems."


def _several_metrics(
    systems: Sequence[str],
    ranked: dict[str, Row],
    cells: Cells,
    shown: Sequence[MetricName],
    width: int | None,
    title: str | None,
) -> Table:
    """Return the table of several metrics: a row per system, a column per metric.

    Args:
        systems: The systems in their order.
        ranked: The rows of the leading metric by system.
        cells: All rows by system, evaluator and metric.
        shown: The metrics.
        width: The width of the terminal; None for Markdown.
        title: The heading of the table.
    """
    columns: dict[str, list[Any]] = {
        "#": [_format_rank(ranked.get(system, {})) for system in systems],
        "system": list(systems),
    }
    for metric in shown:
        own = [cells[system, *metric] for system in systems if (system, *metric) in cells]
        columns[_format_heading(own[0], width)] = _metric_column(systems, metric, cells)
    rows = [[cells[system, *m] for m in shown if (system, *m) in cells] for system in systems]
    # A metric of the whole set counts every answer to a question.
    counts = {
        system: min(row["n"] for key, row in cells.items() if key[0] == system)
        for system in systems
    }
    columns["n"] = [counts[system] for system in systems]
    if any(row.get("n_not_asked") for row in cells.values()):
        columns["not asked"] = [
            max((row["n_not_asked"] for row in own), default=None) for own in rows
        ]
    if any(row["n_target_error"] for row in cells.values()):
        columns["failed"] = [max((r["n_target_error"] for r in own), default=None) for own in rows]
    if any(row["gate"] for row in cells.values()):
        gates = [{row["gate"] for row in own} for own in rows]
        columns["gate"] = [
            next((each for each in ("failed", "passed") if each in own), None) for own in gates
        ]
    return Table(title, list(columns), list(zip(*columns.values(), strict=True)))


def _metric_column(systems: Sequence[str], metric: MetricName, cells: Cells) -> list[str]:
    """Return the means of a metric as texts of equal width, with their signs."""
    from assets.leaderboard.winner import best_systems

    rows = [cells.get((system, *metric), {}) for system in systems]
    best = best_systems([row for row in rows if row])
    means = [_format_mean(row) for row in rows]
    signs = ["*" if system in best else "" for system in systems]
    counts = [_describe_missing(row) for row in rows]
    columns = [(means, str.rjust), (signs, str.ljust), (counts, str.ljust)]
    padded = [
        [pad(text, max(map(len, texts))) for text in texts] for texts, pad in columns if any(texts)
    ]
    return [" ".join(parts) for parts in zip(*padded, strict=True)]


def _format_mean(row: Row) -> str:
    if row and row["n"] == row["n_not_applicable"]:
        return "n/a"
    if row.get("mean") is None:
        return "-"
    return f"{row['mean']:.2f}" if row.get("unit") else f"{row['mean']:.3f}"


def _describe_missing(row: Row) -> str:
    """Return `4/5` if one of five applicable samples has no score; empty if none is missing."""
    applicable = row["n"] - row["n_not_applicable"] if row else 0
    scored = row["n_scored"] if row else 0
    return "" if scored == applicable else f"{scored}/{applicable}"


def _describe_signs(cells: Cells, metrics: Sequence[MetricName]) -> list[str]:
    """Explain the signs that the tables of some metrics contain."""
    from assets.leaderboard.winner import best_systems

    shown = [[row for key, row in cells.items() if key[1:] == metric] for metric in metrics]
    counts = next(filter(None, (_describe_missing(row) for rows in shown for row in rows)), "")
    has_inputs = all(_format_mean(row) != "n/a" for rows in shown for row in rows)
    meanings = {
        "* the best, where another system is significantly worse": any(map(best_systems, shown)),
        f"{counts}: scored of applicable samples": bool(counts),
        "n/a: the metric needs an input that is missing": not has_inputs,
    }
    return [text for text, is_used in meanings.items() if is_used]
