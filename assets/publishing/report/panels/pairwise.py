"""Pairwise comparison: the win matrix of the systems, and the judge's preference for a position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.report.formatting import (
    NO_VALUE,
    format_count,
    format_number,
    format_percent,
    format_plural,
)
from assets.publishing.report.panel import BenchmarkData, Content, Panel

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRS = """
SELECT *
FROM pairwise
WHERE benchmark IN ({benchmarks})
ORDER BY evaluator, system_a, system_b
"""

MAX_SYSTEMS = 30
"""The systems of the matrix; the table `pairwise` has all of them."""

STRENGTH = "strength"


def build(data: BenchmarkData, pairs: pl.DataFrame) -> Content | None:
    """Return the win matrix of each evaluator that compares systems."""
    if pairs.is_empty():
        return None
    matrices = []
    for (evaluator,), rows in pairs.partition_by(
        "evaluator", as_dict=True, maintain_order=True
    ).items():
        strengths = data.metric_rows(str(evaluator), STRENGTH)
        found = {row["system"]: row for row in strengths}
        compared = {*rows["system_a"], *rows["system_b"]}
        systems = [system for system in data.ranked_systems if system in compared]
        matrices.append(
            {
                "evaluator": evaluator,
                "systems": systems[:MAX_SYSTEMS],
                "more": format_count(max(0, len(systems) - MAX_SYSTEMS)),
                "is_cut": len(systems) > MAX_SYSTEMS,
                "rows": [
                    (system, _strength(found.get(system)), cells)
                    for system, cells in win_matrix(rows, systems[:MAX_SYSTEMS])
                ],
                "order": order_sentence(rows),
            }
        )
    return Content(values={"matrices": matrices})


def win_matrix(
    rows: pl.DataFrame, systems: Sequence[str]
) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """Return a row of cells for each system; None for pairs that were not compared.

    Args:
        rows: The rows of the table `pairwise` of one evaluator.
        systems: The systems in their order.
    """
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows.iter_rows(named=True):
        a, b, ties = row["system_a"], row["system_b"], row["ties"]
        for one, other, wins, losses in (
            (a, b, row["wins_a"], row["wins_b"]),
            (b, a, row["wins_b"], row["wins_a"]),
        ):
            share = (wins + ties / 2) / (wins + losses + ties)
            counted = (wins, "win"), (losses, "loss"), (ties, "tie")
            cells[one, other] = {
                "share": share,
                "text": format_number(share, 2),
                "counts": ", ".join(_plural(n, noun) for n, noun in counted),
            }
    return [(system, [cells.get((system, other)) for other in systems]) for system in systems]


def order_sentence(rows: pl.DataFrame) -> str:
    """Return in a sentence how often the order of two answers changed the verdict on them."""
    counts = rows.select("n_judged", "n_changed", "prefers_first", "prefers_second").sum()
    judged, changed, first, second = counts.row(0)
    if not judged:
        return "The judge was not asked about any comparison."
    sentence = (
        f"With the order of the answers, the judge changed its verdict in {format_count(changed)} "
        f"of {format_plural(judged, 'comparison')} ({format_percent(changed / judged)})"
    )
    if not changed:
        return f"{sentence}."
    return (
        f"{sentence}, in favour of the answer shown first in {format_count(first)} of them and of "
        f"the one shown second in {format_count(second)}. They count as ties."
    )


def _plural(n: int, noun: str) -> str:
    return f"{n:,} losses" if noun == "loss" and n != 1 else format_plural(n, noun)


def _strength(row: dict[str, Any] | None) -> str:
    """Return a strength with its interval."""
    if row is None:
        return NO_VALUE
    ends = " to ".join(format_number(row[end], 2) for end in ("ci_low", "ci_high"))
    return f"{format_number(row['mean'], 2)} ({ends})"


PANEL = Panel(title="Pairwise comparison", position=45, build=build, queries={"pairs": PAIRS})
