"""Test the sentence about the winner, and which systems are marked as the best."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from assets.leaderboard.marks import add_marks
from assets.leaderboard.winner import best_systems, describe_winner, find_winner

Ranked = list[tuple[int | None, int | None]]


def leaderboard(ranked: Ranked, **changes: Any) -> list[dict[str, Any]]:
    """Return rows of one metric from ranks and tied_with_best; systems are a, b, c and so on.

    The first rank has the mean 0.9, each further one 0.1 less.
    """
    return [
        {
            "system": chr(ord("a") + at),
            "slice": "all",
            "mark": _mark(ranked, rank, tied),
            "evaluator": "citation",
            "metric": "f1",
            "best": "high",
            "rank": rank,
            "tied_with_best": tied,
            "n_clusters": 40,
            "n_scored": 40,
            "n_not_asked": 0,
            "n_common": 40,
            "common_mean": None if rank is None else 1 - rank / 10,
            **changes,
        }
        for at, (rank, tied) in enumerate(ranked)
    ]


def _mark(ranked: Ranked, rank: int | None, tied: int | None) -> str | None:
    """Return the mark of a system: it wins if all others are worse."""
    if rank is None or tied is None or sum(each[0] is not None for each in ranked) == 1:
        return None
    others = [each[1] for each in ranked if each[0] not in (None, rank)]
    has_won = rank == 1 and sum(each[0] == 1 for each in ranked) == 1 and set(others) == {0}
    return "best" if has_won else "tied" if tied else "worse"


def test_exploratory_rows_have_neither_a_winner_nor_marks() -> None:
    # By the comparisons of the slice alone, a is significantly better than b.
    rows = leaderboard([(1, 1), (2, 0)], slice="lang=de", mark=None)
    assert (best_systems(rows), find_winner(rows)) == ([], None)
    assert describe_winner(rows) == (
        "No marks on lang=de: slices are exploratory, because among many of them some differ by "
        "chance."
    )
    assert describe_winner(leaderboard([(1, 1), (2, 0)], mark=None)) == (
        "No marks for citation.f1: metrics that are not primary are exploratory, because among "
        "many of them some differ by chance."
    )


@pytest.mark.parametrize(
    ("ranked", "first", "second"),
    [
        ([(1, 1), (2, 0)], "a (0.900)", "b (0.800)"),
        ([(2, 0), (3, 0), (1, 1)], "c (0.900)", "a (0.800)"),
        ([(1, 1), (2, 0), (2, 0), (4, 0)], "a (0.900)", "b (0.800) and c (0.800)"),
    ],
)
def test_the_winner_is_named_with_the_next_system(ranked: Ranked, first: str, second: str) -> None:
    assert describe_winner(leaderboard(ranked)) == (
        f"{first} is best on citation.f1, before {second}: the difference is significant."
    )


SIX = "b (0.800), c (0.700), d (0.600), e (0.500), f (0.400) and 2 more"


@pytest.mark.parametrize(
    ("ranked", "why"),
    [
        ([(1, 1), (2, 1), (3, 0)], "40 questions are too few to tell a (0.900) from b (0.800)"),
        (
            [(1, 1), (1, 1), (3, 1)],
            "40 questions are too few to tell a (0.900) and b (0.900) from c (0.700)",
        ),
        (
            [(1, 1), *((at, 1) for at in range(2, 9))],
            f"40 questions are too few to tell a (0.900) from {SIX}",
        ),
        ([(1, 1), (1, 1), (3, 0)], "a (0.900) and b (0.900) are equal"),
        (
            [(1, 1), (2, None)],
            "the differences between a (0.900) and b (0.800) cannot be tested",
        ),
        ([(1, 1)], "a (0.900) is the only system with a value"),
        ([(1, 1), (None, None)], "a (0.900) is the only system with a value"),
    ],
)
def test_the_reason_is_given_without_a_winner(ranked: Ranked, why: str) -> None:
    assert describe_winner(leaderboard(ranked)) == f"No winner on citation.f1: {why}."


def test_without_ranks_nothing_is_said() -> None:
    assert describe_winner(leaderboard([(None, None), (None, None)])) is None


TWO = "a (0.900) and b (0.800)"
TOO_FEW = "are too few for any significant difference between"
THREE = "a (0.900), b (0.800) and c (0.700)"


@pytest.mark.parametrize(
    ("clusters", "scored", "systems", "why"),
    [
        (5, 5, 2, f"5 questions {TOO_FEW} {TWO}"),
        (6, 6, 2, "6 questions are too few to tell a (0.900) from b (0.800)"),
        (6, 6, 3, f"6 questions {TOO_FEW} {THREE}"),
        (8, 8, 3, "8 questions are too few to tell a (0.900) from b (0.800) and c (0.700)"),
        (5, 60, 2, f"60 questions in 5 clusters {TOO_FEW} {TWO}"),
        (1, 3, 2, f"3 questions in 1 cluster {TOO_FEW} {TWO}"),
        (12, 24, 2, "24 questions in 12 clusters are too few to tell a (0.900) from b (0.800)"),
        (1, 1, 2, f"1 question is too few for any significant difference between {TWO}"),
    ],
)
def test_the_number_of_questions_is_the_reason(
    clusters: int, scored: int, systems: int, why: str
) -> None:
    ranked: Ranked = [(at, 1) for at in range(1, systems + 1)]
    rows = leaderboard(ranked, n_clusters=clusters, n_scored=scored)
    assert describe_winner(rows) == f"No winner on citation.f1: {why}."


def test_systems_with_equal_values_are_not_told_apart_by_them() -> None:
    # Of equal means, the one with fewer failed answers has the better rank.
    rows = leaderboard([(1, 1), (2, 1)], common_mean=0.5)
    assert describe_winner(rows) == (
        "No winner on citation.f1: a (0.500) and b (0.500) are not significantly different."
    )


def test_systems_with_other_questions_are_compared_on_common_ones() -> None:
    rows = leaderboard([(1, 1), (2, 1)], n_common=20, n_not_asked=20, mean=0.1)
    why = "20 common questions are too few to tell a (0.900) from b (0.800)"
    assert describe_winner(rows) == f"No winner on citation.f1: {why}."


def test_the_better_direction_is_named_where_lower_is_better() -> None:
    assert describe_winner(leaderboard([(2, 0), (1, 1)], best="low"), "<{}>".format) == (
        "<b> (0.900) is best on citation.f1 (lower is better), before <a> (0.800): "
        "the difference is significant."
    )


@pytest.mark.parametrize(
    ("ranked", "best", "winner"),
    [
        ([(1, 1), (2, 0), (3, 0)], ["a"], "a"),
        ([(1, 1), (2, 1), (3, 0)], ["a", "b"], None),
        ([(1, 1), (2, 1), (3, 1)], [], None),
        ([(1, 1), (2, None)], [], None),
        ([(1, 1)], [], None),
        ([(None, None)], [], None),
    ],
)
def test_only_significantly_best_systems_are_marked(
    ranked: Ranked, best: list[str], winner: str | None
) -> None:
    assert best_systems(leaderboard(ranked)) == best
    assert find_winner(leaderboard(ranked)) == winner


@pytest.mark.parametrize(("p_of_a_and_c", "mark_of_a"), [(0.001, "best"), (0.06, "tied")])
def test_a_winner_has_its_own_verdict_against_every_rival(
    p_of_a_and_c: float, mark_of_a: str
) -> None:
    """A beats B and B beats C; only if A beats C by a comparison of their own, A has won."""
    rows = leaderboard([(1, 1), (2, 0), (3, 0)])
    keys = {"benchmark": "support", "slice": "all", "evaluator": "citation", "metric": "f1"}
    compared = pl.DataFrame(
        [
            {**keys, "system_a": a, "system_b": b, "verdict": "better", "p_page": p}
            for a, b, p in (("a", "b", 0.001), ("b", "c", 0.001), ("a", "c", p_of_a_and_c))
        ]
    )
    marked = add_marks(
        pl.DataFrame(rows)
        .drop("mark")
        .with_columns(**{name: pl.lit(value) for name, value in keys.items()}),
        compared,
    ).to_dicts()
    assert [row["mark"] for row in marked] == [mark_of_a, "worse", "worse"]
    if mark_of_a == "best":
        assert find_winner(marked) == "a"
        return
    assert find_winner(marked) is None
    assert describe_winner(marked) == (
        "No winner on citation.f1: a (0.900) is not significantly better than every other system."
    )
