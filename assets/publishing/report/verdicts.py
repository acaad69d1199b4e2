"""The first lines of a page: which system is best by each primary metric, or why none is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from assets.leaderboard.winner import describe_winner, find_winner, join_names
from assets.publishing.report.formatting import isolate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.publishing.report.panel import BenchmarkData

MAX_VERDICTS = 8
"""The metrics with a verdict above the page of a benchmark; its leaderboard has all of them."""

MAX_CHANGES = 3
"""The changes above the first page; the matrix has all of them."""

MAX_LISTED = 4
"""The benchmarks with a verdict above the first page; the list of benchmarks has all of them."""


def describe_verdicts(data: BenchmarkData) -> list[dict[str, Any]]:
    """Return a sentence for each primary metric of a benchmark, and whether there is a winner.

    The headline metric is the first.
    """
    if data.without_scores is not None:
        return [{"sentence": isolate(data.without_scores), "has_winner": False}]
    ranked = [data.metric_rows(*name) for name in data.shown_metrics[:MAX_VERDICTS]]
    return [
        {"sentence": sentence, "has_winner": find_winner(rows) is not None}
        for rows in ranked
        if (sentence := describe_winner(rows, isolate)) is not None
    ]


def summarise_verdicts(cards: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the first lines of the first page.

    Args:
        cards: The `index_card` of each benchmark.

    Returns:
        `sentence` counts the winners, None for a single benchmark; `has_winner`; `listed` are the
        cards whose verdicts are shown, those with a winner first; `more` says what the others are.
    """
    won = [card for card in cards if card["winner"] is not None]
    others = [card for card in cards if card["winner"] is None and card["verdict"] is not None]
    left_out = len(won[MAX_LISTED:]), len([*won, *others][MAX_LISTED:])
    return {
        "sentence": _count_winners([card["winner"] for card in won], len(cards)),
        "has_winner": bool(won),
        "listed": [*won, *others][:MAX_LISTED],
        "more": _describe_more(*left_out),
    }


def summarise_changes(cards: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what has changed since the publication before, by the metrics that rank systems.

    Args:
        cards: The `index_card` of each benchmark.

    Returns:
        `listed` are pairs of a card and a sentence, significant changes first, then the largest,
        `more` counts the others, `same` the means that have not changed, `new` those without an
        earlier one; `since` is the time of the last publication before; None without one.
    """
    known = [card for card in cards if card["since"] is not None]
    if not known:
        return None
    found = []
    for card in known:
        others = {cell["change"] for cell in card["cells"].values() if not cell["by"]} - {""}
        found += [
            ((False, 0.0), card, f"{other}, so means are not comparable")
            for other in sorted(others)
        ]
        for system, cell in card["cells"].items():
            if cell["by"]:
                said = f"{isolate(system)} {cell['change']} to {cell['text']}"
                order = (cell["is_significant"] is True, abs(cell["by"]))
                found.append((order, card, f"{said} ({_describe_certainty(cell)})"))
    found.sort(key=lambda each: each[0], reverse=True)
    cells = [cell for card in cards for cell in card["cells"].values()]
    new = sum(cell["is_new"] for cell in cells)
    return {
        "listed": [(card, said) for _, card, said in found[:MAX_CHANGES]],
        "more": len(found[MAX_CHANGES:]),
        "same": sum(not cell["by"] and not cell["change"] for cell in cells) - new,
        "new": new,
        "since": max(card["since"] for card in known),
    }


def _describe_certainty(cell: dict[str, Any]) -> str:
    which = "better" if cell["is_better"] else "worse"
    if cell["is_significant"] is None:
        return which
    return f"significantly {which}" if cell["is_significant"] else f"{which}, not significant"


def _count_winners(winners: Sequence[str], benchmarks: int) -> str | None:
    if benchmarks <= 1:
        return None
    if not winners:
        return f"None of {benchmarks:,} benchmarks has a winner."
    counts = Counter(winners).most_common()
    names = join_names([f"{isolate(name)} ({n:,})" for name, n in counts])
    verb = "has" if len(winners) == 1 else "have"
    return f"{len(winners):,} of {benchmarks:,} benchmarks {verb} a winner: {names}."


def _describe_more(won: int, benchmarks: int) -> str | None:
    if not benchmarks:
        return None
    winners = f"{won:,} with a winner" if won else "without a winner"
    return f"and {benchmarks:,} more, {winners}"
