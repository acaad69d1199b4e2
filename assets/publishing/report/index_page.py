"""The first page of the report: who won, what needs action, and every benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from markupsafe import Markup

from assets.leaderboard.winner import describe_winner, find_winner
from assets.publishing.report.formatting import (
    format_count,
    format_number,
    format_plural,
    format_time,
    gate_state,
    isolate,
)
from assets.publishing.report.matrix import matrix_blocks, matrix_cells
from assets.publishing.report.templates_env import INDEX_SCRIPTS, render_page
from assets.publishing.report.verdicts import summarise_changes, summarise_verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assets.publishing.report.panel import BenchmarkData

Row = dict[str, Any]

MAX_GATES = 6
"""The gates of a benchmark that the first page lists, failed ones first."""

MAX_ACTS = 3
"""The problems of high severity that stand above the first page."""

MAX_JUDGES = 2
"""The judges without calibration that are listed below them."""

ARROWS = {"high": "↑", "low": "↓"}

MAX_METRICS = 4
MAX_SYSTEMS = 5
INTERVAL_WIDTH = 110


def index_page(
    cards: Sequence[Row], publication: str, expectations: tuple[int, int] | None = None
) -> str:
    """Return the first page.

    Args:
        cards: The `index_card` of each benchmark.
        publication: The `publication_digest` of the copy, which tells later runs what this page is
            about.
        expectations: How many expectations were validated and how many of them failed, if there is
            a page about them.
    """
    acts = [(card, act) for card in cards for act in card["acts"]]
    acts.sort(key=lambda act: not act[1]["is_gate"])
    empty = [card for card in cards if card["without_scores"] is not None]
    judged = [card for card in cards if card["unvalidated_judge"] is not None]
    return render_page(
        "index.html.j2",
        INDEX_SCRIPTS,
        publication=publication,
        benchmarks=cards,
        published_at=format_time(max((card["published_at"] for card in cards), default=None)),
        summary=summarise_verdicts(cards),
        changes=summarise_changes(cards),
        acts=acts[:MAX_ACTS],
        n_acts=len(acts),
        empty=empty[:MAX_ACTS],
        n_empty=len(empty),
        judged=judged[:MAX_JUDGES],
        n_judged=len(judged),
        blocks=matrix_blocks(cards),
        expectations=None if expectations is None else describe_expectations(*expectations),
    )


def describe_expectations(n: int, failed: int) -> str:
    """Return how many expectations of the data hold."""
    if failed:
        return f"{format_count(failed)} of {format_plural(n, 'expectation')} of the data failed"
    return f"{format_plural(n, 'expectation')} of the data, all hold"


def index_card(data: BenchmarkData, changes: Mapping[str, str] | None = None) -> Row:
    """Return what the first page shows of a benchmark.

    Args:
        data: The benchmark.
        changes: The verdict on the change of each system by the headline metric, as
            `compare_publication` gives it, where it is known.
    """
    leading = leading_rows(data)
    return {
        **change_card(data, changes),
        "name": data.benchmark,
        "address": f"report/{quote(data.folder)}/index.html",
        "published_at": data.published_at,
        "totals": data.totals,
        "metric": metric_title(leading[0]).split(".", 1) if leading else None,
        "verdict": describe_winner(leading, isolate),
        "winner": find_winner(leading),
        "without_scores": data.without_scores,
        "unvalidated_judge": data.unvalidated_judge,
        "acts": [
            {"is_gate": "gate" in row["kinds"], "message": row["message"]}
            for row in data.high_problems.iter_rows(named=True)
        ],
        "gates": [
            {"state": gate_state(row), "message": row["message"]}
            for row in data.gates.head(MAX_GATES).iter_rows(named=True)
        ],
        "more_gates": max(0, data.gates.height - MAX_GATES),
        "n_systems": len(data.systems),
        "metrics": [metric_table(data, *name) for name in data.shown_metrics[:MAX_METRICS]],
        "more_metrics": [".".join(name) for name in data.shown_metrics[MAX_METRICS:]],
    }


def change_card(data: BenchmarkData, changes: Mapping[str, str] | None = None) -> Row:
    """Return the `cells` of the matrix, and `since` when the means in them have changed.

    Args:
        data: The benchmark.
        changes: As for `index_card`.
    """
    leading = leading_rows(data)
    name = data.shown_metrics[0] if leading else None
    changed = [
        {**row, "verdict": (changes or {}).get(row["system"])}
        for row in data.last_changes.iter_rows(named=True)
        if (row["evaluator"], row["metric"]) == name
    ]
    return {
        "cells": matrix_cells(leading, changed),
        "since": format_time(changed[0]["since"]) if changed else None,
    }


def leading_rows(data: BenchmarkData) -> list[Row]:
    """Return the leaderboard by the first metric of a benchmark, a row for each system."""
    return metric_rows(data, *data.shown_metrics[0]) if data.shown_metrics else []


def metric_rows(data: BenchmarkData, evaluator: str, metric: str) -> list[Row]:
    """Return the leaderboard by one metric, in the order of systems; also without a mean."""
    own = (evaluator, metric)
    by_system = {
        row["system"]: row for row in data.overall if (row["evaluator"], row["metric"]) == own
    }
    return [by_system[system] for system in data.ranked_systems if system in by_system]


def metric_title(row: Row) -> str:
    """Return the name of the metric of a row, with an arrow in its better direction."""
    return f"{row['evaluator']}.{row['metric']} {ARROWS[row['best']]}"


def metric_table(data: BenchmarkData, evaluator: str, metric: str) -> Row:
    """Return the first systems of a benchmark with their means by one metric."""
    rows = metric_rows(data, evaluator, metric)
    # The statements of the first page are about the metric that ranks the systems.
    winner = find_winner(rows) if (evaluator, metric) == data.shown_metrics[0] else None
    low, high = metric_scale(rows)
    return {
        "title": metric_title(rows[0]),
        "low": f"{low:.3g}",
        "high": f"{high:.3g}",
        "more": [row["system"] for row in rows[MAX_SYSTEMS:]],
        "rows": [
            {
                "system": row["system"],
                "mean": format_number(row["mean"]),
                "part": scored_part(row),
                "is_best": row["system"] == winner,
                "interval": "" if row["mean"] is None else interval_svg(row, low, high),
            }
            for row in rows[:MAX_SYSTEMS]
        ],
    }


def scored_part(row: Row) -> str:
    """Return how many of the applicable samples have a score; empty if all of them have one."""
    applicable = row["n"] - row["n_not_applicable"]
    if applicable == 0:
        return "not applicable"
    return "" if row["n_scored"] == applicable else f"{row['n_scored']:,} of {applicable:,} scored"


def metric_scale(rows: list[Row]) -> tuple[float, float]:
    """Return the bounds of a metric, or the range of its means and intervals."""
    low, high = rows[0]["scale_low"], rows[0]["scale_high"]
    if low is None or high is None:
        values = [row[column] for row in rows for column in ("mean", "ci_low", "ci_high")]
        known = [value for value in values if value is not None]
        low, high = min(0.0, *known), max(known)
    return (low, high) if low < high else (low - 1, high + 1)


def interval_svg(row: Row, low: float, high: float) -> Markup:
    """Return a mean as a point and its interval as a line, as inline SVG."""

    def x(value: float) -> float:
        return round(5 + (INTERVAL_WIDTH - 10) * (value - low) / (high - low), 1)

    label = f"mean {row['mean']:.3f}"
    line = Markup()
    if row["ci_low"] is not None:
        label += f", 95 % interval {row['ci_low']:.3f} to {row['ci_high']:.3f}"
        line = Markup('<line class="ci" x1="{}" x2="{}" y1="9" y2="9"></line>').format(
            x(row["ci_low"]), x(row["ci_high"])
        )
    return Markup(
        '<svg class="interval-bar" role="img" aria-label="{}" width="{}" height="18" '
        'viewBox="0 0 {} 18">'
        '<rect class="rail" x="4" y="8.5" width="{}" height="1"></rect>{}'
        '<circle class="mean" cx="{}" cy="9" r="4"></circle></svg>'
    ).format(label, INTERVAL_WIDTH, INTERVAL_WIDTH, INTERVAL_WIDTH - 8, line, x(row["mean"]))
