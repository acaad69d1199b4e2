"""The lines and the matrix above the first page, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from assets.publishing.report.formatting import NO_VALUE, format_breakable
from assets.publishing.report.matrix import MAX_COLUMNS, MINUS, matrix_blocks, matrix_cells
from assets.publishing.report.verdicts import MAX_LISTED, summarise_changes, summarise_verdicts


def row(system: str, rank: int | None, tied: int, mean: float | None = 0.5) -> dict[str, Any]:
    """Return a row of the leaderboard by the headline metric."""
    mark = None if rank is None else "tied" if tied else "worse"
    known = {"rank": rank, "mark": mark, "mean": mean, "best": "high"}
    return {"system": system, **known}


def marks(*rows: dict[str, Any]) -> dict[str, str]:
    return {system: cell["mark"] for system, cell in matrix_cells(rows).items()}


def test_cells_mark_the_winner_or_who_is_tied_with_the_first() -> None:
    winner = {**row("a", 1, 1), "mark": "best"}
    assert marks(winner, row("b", 2, 0), row("c", 3, 0)) == {"a": "best", "b": "", "c": ""}
    tied = marks(row("a", 1, 1), row("b", 2, 1), row("c", 3, 0))
    assert tied == {"a": "tied", "b": "tied", "c": ""}
    assert marks(row("a", 1, 1)) == {"a": ""}
    assert marks(row("a", 1, 1), row("b", None, 0, None)) == {"a": "", "b": ""}


def test_cells_have_means_or_a_dash() -> None:
    cells = matrix_cells([row("a", 1, 1, 0.86087), row("b", None, 0, None)])
    assert [cell["text"] for cell in cells.values()] == ["0.861", NO_VALUE]


def change(system: str, by: float | None, *changed: str) -> dict[str, Any]:
    """Return a row of the changes since the publication before."""
    return {"system": system, "change": by, "changed": list(changed), "verdict": None}


def test_cells_show_the_change_since_the_publication_before() -> None:
    rows = [row(name, 1, 1) for name in "abcdef"]
    changes = [
        *(change("a", 0.12), change("b", -0.0336), change("c", 0.0004), change("d", None)),
        change("e", 0.3, "questions", "judge"),
    ]
    cells = matrix_cells(rows, changes)
    assert [cell["change"] for cell in cells.values()] == [
        *("+0.120", f"{MINUS}0.034", "", "", "other questions and judge", "")
    ]
    assert [cell["is_better"] for cell in cells.values()] == [True, *[False] * 5]
    low = matrix_cells([{**each, "best": "low"} for each in rows], changes)
    assert [cell["is_better"] for cell in low.values()] == [False, True, *[False] * 4]


def changed(name: str, since: str | None, **by: float) -> dict[str, Any]:
    """Return the card of a benchmark whose systems have changed."""
    rows = [row(system, 1, 1) for system in by]
    found = [
        change(system, value) if value < 1 else change(system, None, "judge")
        for system, value in by.items()
    ]
    return {"name": name, "since": since, "cells": matrix_cells(rows, found)}


def test_the_largest_changes_are_listed_first() -> None:
    cards = [
        changed("b1", "2026-01-01 10:00", a=0.1, b=-0.3, c=0),
        changed("b2", "2026-01-02 10:00", a=0.2, b=0),
        changed("b3", "2026-01-01 10:00", a=1, b=1),
        changed("b4", None),
    ]
    summary = summarise_changes(cards)
    assert summary is not None
    assert [(card["name"], said) for card, said in summary["listed"]] == [
        ("b1", f"\u2068b\u2069 {MINUS}0.300 to 0.500 (worse)"),
        ("b2", "\u2068a\u2069 +0.200 to 0.500 (better)"),
        ("b1", "\u2068a\u2069 +0.100 to 0.500 (better)"),
    ]
    assert (summary["more"], summary["since"]) == (1, "2026-01-02 10:00")
    (only,) = (summarise_changes(cards[2:]) or {})["listed"]
    assert only[1] == "other judge, so means are not comparable"


def test_a_significant_change_is_said_and_listed_first() -> None:
    rows = [row(name, 1, 1) for name in "abcd"]
    verdicts = {"a": "tied", "b": "worse", "c": None, "d": "not comparable"}
    found = [
        {**change(system, by), "verdict": verdicts[system]}
        for system, by in {"a": 0.3, "b": -0.1, "c": -0.2, "d": 0.15}.items()
    ]
    card = {"name": "b1", "since": "2026-01-01 10:00", "cells": matrix_cells(rows, found)}
    summary = summarise_changes([card])
    assert summary is not None
    assert [said.partition(" to ")[2] for _, said in summary["listed"]] == [
        *("0.500 (significantly worse)", "0.500 (better, not significant)", "0.500 (worse)")
    ]


def test_without_changes_or_an_earlier_publication() -> None:
    same = changed("b1", "2026-01-01 10:00", a=0)
    unchanged = {"listed": [], "more": 0, "same": 1, "since": "2026-01-01 10:00"}
    assert summarise_changes([same]) == {**unchanged, "new": 0}
    # A system, or the metric of a benchmark, that was not there before has not stayed the same.
    cells = {**same["cells"], **matrix_cells([row("b", 1, 1)])}
    assert summarise_changes([{**same, "cells": cells}]) == {**unchanged, "new": 1}
    other = {**changed("b2", None), "cells": matrix_cells([row("a", 1, 1), row("b", 2, 1)])}
    assert summarise_changes([same, other]) == {**unchanged, "new": 2}
    assert summarise_changes([changed("b1", None, a=0)]) is None


def card(name: str, **ranks: int | None) -> dict[str, Any]:
    """Return what the matrix needs of a benchmark: the ranks of its systems."""
    return {"name": name, "cells": {system: {"rank": rank} for system, rank in ranks.items()}}


def described(cards: list[dict[str, Any]]) -> list[tuple[list[str], list[str]]]:
    return [
        (block["systems"], [each["card"]["name"] for each in block["rows"]])
        for block in matrix_blocks(cards)
    ]


def test_benchmarks_that_share_systems_are_one_block() -> None:
    cards = [card("b1", x=1, y=2), card("b2", p=1), card("b3", z=1), card("b4", y=1, z=2)]
    # b1 and b3 share no system, but b4 has one of each.
    assert described(cards) == [(["x", "y", "z"], ["b1", "b3", "b4"]), (["p"], ["b2"])]


def test_systems_are_sorted_by_their_mean_rank() -> None:
    cards = [card("b1", a=2, b=1, c=3), card("b2", a=1, b=2, c=None, d=None), card("b3", b=1)]
    # a: 1.5, b: 4/3, c: 3, d: no rank
    assert described(cards) == [(["b", "a", "c", "d"], ["b1", "b2", "b3"])]
    cells = matrix_blocks(cards)[0]["rows"][2]["cells"]
    assert cells == [{"rank": 1}, None, None, None]


def test_many_systems_are_counted() -> None:
    ranks = {f"s{at:02d}": at for at in range(1, 13)}
    (block,) = matrix_blocks([card("b", **ranks)])
    assert block["systems"] == [f"s{at:02d}" for at in range(1, MAX_COLUMNS + 1)]
    assert block["more"] == 12 - MAX_COLUMNS
    assert len(block["rows"][0]["cells"]) == MAX_COLUMNS


def test_a_benchmark_without_scores_is_in_no_block() -> None:
    assert matrix_blocks([card("b")]) == []
    assert matrix_blocks([]) == []


def verdict(name: str, winner: str | None, said: str | None = "No winner.") -> dict[str, Any]:
    return {"name": name, "winner": winner, "verdict": said}


@pytest.mark.parametrize(
    ("winners", "said"),
    [
        (["a"], None),
        ([None], None),
        ([None, None], "None of 2 benchmarks has a winner."),
        (["a", None], "1 of 2 benchmarks has a winner: \u2068a\u2069 (1)."),
        (
            ["b", "a", None, "b"],
            "3 of 4 benchmarks have a winner: \u2068b\u2069 (2) and \u2068a\u2069 (1).",
        ),
    ],
)
def test_winners_are_counted(winners: list[str | None], said: str | None) -> None:
    cards = [verdict(f"b{at}", winner) for at, winner in enumerate(winners)]
    assert summarise_verdicts(cards)["sentence"] == said


def test_verdicts_with_a_winner_come_first_and_the_rest_is_counted() -> None:
    cards = [verdict(f"b{at}", "a" if at > 1 else None) for at in range(4)]
    summary = summarise_verdicts([*cards, verdict("empty", None, None)])
    assert [each["name"] for each in summary["listed"]] == ["b2", "b3", "b0", "b1"]
    assert summary["more"] is None
    more = [verdict(f"b{at}", "a" if at < 6 else None) for at in range(10)]
    summary = summarise_verdicts(more)
    assert len(summary["listed"]) == MAX_LISTED == 4
    assert summary["more"] == "and 6 more, 2 with a winner"
    assert summarise_verdicts(more[3:])["more"] == "and 3 more, without a winner"


def test_a_sentence_may_break_within_names_but_not_within_numbers() -> None:
    said = format_breakable("<b> (0.861) is best on recall.recall_at_5, before c.")
    assert said == "&lt;b&gt; (0.861) is best on recall.<wbr>recall_<wbr>at_5, before c."
