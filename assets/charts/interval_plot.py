"""The chart of a leaderboard as a small SVG, which needs no library to draw."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from assets.charts import style
from assets.charts.sort_order import shown_metrics, systems_best_first
from warehouse.foreign_text import show_hidden

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LABEL_WIDTH, WIDTH, LINE = 150, 400, 20
"""The width of the names, that of the picture, and the height of a system, in pixels."""

MAX_LABEL = 20
"""The most characters of a system's name; longer ones are cut."""

COLOUR = "#0b5cad"


def interval_plot(overall: Sequence[Mapping[str, Any]], max_systems: int) -> str | None:
    """Draw means with their intervals by the first metric, on the whole scale of the metric.

    The text is short, so that Dagster's interface shows the picture without a click.

    Args:
        overall: The rows of one benchmark over all questions in the table `leaderboard`.
        max_systems: The systems to draw, the best ones.

    Returns:
        The SVG; None if no primary metric has a value.
    """
    metrics = shown_metrics(overall)
    if not metrics:
        return None
    by_name = {
        row["system"]: row
        for row in overall
        if (row["evaluator"], row["metric"]) == metrics[0] and row["mean"] is not None
    }
    order = systems_best_first(overall)
    shown = [by_name[system] for system in order if system in by_name][:max_systems]
    known = [
        row[column]
        for row in shown
        for column in ("mean", "ci_low", "ci_high", "best_value", "worst_value")
        if row[column] is not None
    ]
    low, high = min(0.0, *known), max(0.0, *known)

    def x(value: float) -> int:
        share = (value - low) / (high - low) if high > low else 0.5
        return round(LABEL_WIDTH + 10 + (WIDTH - LABEL_WIDTH - 20) * share)

    names, lines, points = "", "", ""
    for at, row in enumerate(shown):
        y = LINE * at + LINE // 2
        names += f'<text x="{LABEL_WIDTH}" y="{y + 4}">{_name(row)}</text>'
        points += f"M{x(row['mean'])} {y}h0"
        if row["ci_low"] is not None:
            lines += f"M{x(row['ci_low'])} {y}H{x(row['ci_high'])}"
    height = LINE * len(shown) + 18
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12" text-anchor="end">'
        f'<path fill="#fff" d="M0 0H{WIDTH}V{height}H0"/>{names}'
        f'<text x="{x(low) + 4}" y="{height - 4}">{low:.3g}</text>'
        f'<text x="{x(high) + 4}" y="{height - 4}">{high:.3g}</text>'
        f'<g stroke="{COLOUR}" stroke-width="2"><path d="{lines}"/>'
        f'<path stroke-width="9" stroke-linecap="round" d="{points}"/></g></svg>'
    )


def _name(row: Mapping[str, Any]) -> str:
    name = show_hidden(str(row["system"]).translate(style.UNDRAWABLE))
    return escape(name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…", quote=False)
