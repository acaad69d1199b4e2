"""The matrix above the first page: systems by benchmarks, with values and marks."""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Any

from assets.leaderboard.winner import find_winner
from assets.publishing.report.formatting import NO_VALUE, format_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Row = dict[str, Any]

SMALLEST_CHANGE = 0.0005
"""Smaller changes have no digit that is shown."""

MINUS = "\N{MINUS SIGN}"

_SIGNIFICANT = {"better": True, "worse": True, "tied": False, "not enough data": False}
"""Whether a verdict, in words, says that a change is significant; others say nothing of it."""

MAX_COLUMNS = 8
"""The systems of a block; the pages of its benchmarks have all of them."""


def matrix_cells(
    rows: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Row]:
    """Return what the matrix shows of a benchmark, by system.

    Args:
        rows: Rows of the leaderboard by the headline metric over all questions.
        changes: Rows of `BenchmarkData.last_changes` by the same metric, with the `verdict` of
            `compare_publication`; None where it is unknown.
    """
    changed = {row["system"]: row for row in changes}
    winner = find_winner(rows)
    is_compared = sum(row["rank"] is not None for row in rows) > 1
    return {
        row["system"]: {
            "text": format_number(row["mean"]) if row["mean"] is not None else NO_VALUE,
            "mark": "best"
            if row["system"] == winner
            else "tied"
            if is_compared and winner is None and row["mark"] == "tied"
            else "",
            "rank": row["rank"],
            **_describe_change(changed.get(row["system"]), row),
        }
        for row in rows
    }


def _describe_change(change: Mapping[str, Any] | None, row: Mapping[str, Any]) -> Row:
    """Return how a mean has changed.

    Args:
        change: The row of the changes; None without an earlier mean.
        row: The row of the leaderboard.

    Returns:
        `by`, the difference, 0 without one that is shown; `change`, its text, or what else has
        changed, so that the means are not comparable; `is_better`; `is_significant`, None where
        it is unknown; `is_new`, whether there is no earlier mean.
    """
    same = {"by": 0.0, "change": "", "is_better": False, "is_significant": None, "is_new": False}
    if change is None:
        return {**same, "is_new": True}
    if change["changed"]:
        return {**same, "change": f"other {' and '.join(change['changed'])}"}
    by = change["change"]
    if by is None or abs(by) < SMALLEST_CHANGE:
        return same
    text = f"{by:+.3f}".replace("-", MINUS)
    return {
        **same,
        "by": by,
        "change": text,
        "is_better": (by > 0) == (row["best"] == "high"),
        "is_significant": _SIGNIFICANT.get(change["verdict"]),
    }


def matrix_blocks(cards: Sequence[Row]) -> list[Row]:
    """Return blocks of benchmarks that share systems, so that few cells are empty.

    Systems are sorted by their mean rank in the block, benchmarks by name; the block with the most
    benchmarks comes first.

    Args:
        cards: The `index_card` of each benchmark, sorted by name.

    Returns:
        For each block `systems`, `more` (the number of systems left out) and `rows`, each with the
        `card` and its `cells`, one for each system; None where the benchmark lacks it.
    """
    groups: list[tuple[set[str], list[Row]]] = []
    for card in cards:
        systems, own = set(card["cells"]), [card]
        separate = []
        for group in groups:
            if systems.isdisjoint(group[0]):
                separate.append(group)
            else:
                systems, own = systems | group[0], [*group[1], *own]
        groups = [*separate, (systems, own)]
    blocks = [_block(own) for systems, own in groups if systems]
    return sorted(blocks, key=lambda block: (-len(block["rows"]), block["rows"][0]["card"]["name"]))


def _block(cards: Iterable[Row]) -> Row:
    cards = sorted(cards, key=lambda card: str(card["name"]))
    ranks: dict[str, list[float]] = {}
    for card in cards:
        for system, cell in card["cells"].items():
            ranks.setdefault(system, [])
            if cell["rank"] is not None:
                ranks[system].append(cell["rank"])
    systems = sorted(ranks, key=lambda name: (fmean(ranks[name] or [math.inf]), name))
    shown = systems[:MAX_COLUMNS]
    return {
        "systems": shown,
        "more": len(systems) - len(shown),
        "rows": [
            {"card": card, "cells": [card["cells"].get(system) for system in shown]}
            for card in cards
        ],
    }
