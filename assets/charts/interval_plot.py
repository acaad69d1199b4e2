"""The chart of a leaderboard as a small SVG, which needs no library to draw."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from assets.charts import style
from assets.charts.leaderboard import interval_rows

if TYPE_CHECKING:
    import polars as pl

LABEL_WIDTH, PLOT_WIDTH, VALUE_WIDTH = 190, 320, 70
LINE, TITLE = 20, 30
"""The heights of a system's line and of a metric's title."""

MAX_LABEL = 28
"""The most characters of a system's name; longer ones are cut."""


def interval_plot(board: pl.DataFrame) -> str | None:
    """Draw the means of the primary metrics with their intervals, one below the other.

    Args:
        board: The rows of one benchmark in the table `leaderboard`.

    Returns:
        The SVG; None if no primary metric has a value.
    """
    systems, metrics, rows = interval_rows(board)
    colours = style.system_colours(board["system"].unique().sort().to_list())
    by_name = {(row["metric"], row["system"]): row for row in rows.iter_rows(named=True)}
    parts: list[str] = []
    y = 0
    for metric in metrics:
        shown = [by_name[metric, name] for name in systems if (metric, name) in by_name]
        y += TITLE
        parts.append(f'<text x="4" y="{y - 9}" font-weight="bold">{_text(metric)}</text>')
        # The scale contains zero, as that of the report's chart does.
        low = min(0.0, *(row["from"] for row in shown))
        high = max(0.0, *(row["to"] for row in shown))
        for row in shown:
            parts.append(_line(row, y + LINE // 2, low, high, colours[row["system"]]))
            y += LINE
    if not parts:
        return None
    width, height = LABEL_WIDTH + PLOT_WIDTH + VALUE_WIDTH, y + 8
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" '
        f'font-size="12"><rect width="{width}" height="{height}" fill="white"/>'
        f"{''.join(parts)}</svg>"
    )


def _line(row: dict[str, float | str], y: int, low: float, high: float, colour: str) -> str:
    def x(column: str) -> float:
        share = (float(row[column]) - low) / (high - low) if high > low else 0.5
        return round(LABEL_WIDTH + 8 + (PLOT_WIDTH - 16) * share, 1)

    name = str(row["system"])
    name = name if len(name) <= MAX_LABEL else name[: MAX_LABEL - 1] + "…"
    start, end = x("from"), x("to")
    caps = f"M{start} {y}H{end}M{start} {y - 4}V{y + 4}M{end} {y - 4}V{y + 4}"
    rail = f"M{LABEL_WIDTH} {y}H{LABEL_WIDTH + PLOT_WIDTH}"
    return (
        f'<text x="{LABEL_WIDTH - 8}" y="{y + 4}" text-anchor="end">{_text(name)}</text>'
        f'<path d="{rail}" stroke="#ddd"/>'
        f'<path d="{caps}" stroke="{colour}" stroke-width="2" fill="none"/>'
        f'<circle cx="{x("mean")}" cy="{y}" r="4.5" fill="{colour}"/>'
        f'<text x="{LABEL_WIDTH + PLOT_WIDTH + 8}" y="{y + 4}">{row["mean"]:.4g}</text>'
    )


def _text(text: str) -> str:
    return escape(text.translate(style.UNDRAWABLE))
