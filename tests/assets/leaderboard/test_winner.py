"""Test the sentence about the winner, and which systems are marked as the best."""

from __future__ import annotations

from typing import Any

import pytest

from assets.leaderboard.winner import best_systems, describe_winner, find_winner

Ranked = list[tuple[int | None, int | None]]


def leaderboard(ranked: Ranked, clusters: int = 40, scored: int = 40) -> list[dict[str, Any]]:
    """Return rows of one metric from ranks and tied_with_best; systems are a, b, c and so on."""
    return [
        {
            "system": chr(ord("a") + at),
            "rank": rank,
            "tied_with_best": tied,
            "n_clusters": clusters,
            "n_scored": scored,
        }
        for at, (rank, tied) in enumerate(ranked)
    ]


@pytest.mark.parametrize(
    ("ranked", "said"),
    [
        ([(1, 1), (2, 0)], "a is significantly better than every other system."),
        ([(2, 0), (1, 1)], "b is significantly better than every other system."),
        ([(1, 1), (2, 1), (3, 0)], "No winner: a and b are not significantly different."),
        ([(1, 1), (2, 1), (3, 1)], "No winner: a, b and c are not significantly different."),
        ([(1, 1), (1, 1), (3, 0)], "No winner: a and b are equal."),
        ([(1, 1), (2, None)], "No winner: the differences cannot be tested."),
        (
            [(1, 1), *((at, 1) for at in range(2, 9))],
            "No winner: a, b, c, d, e and 3 more are not significantly different.",
        ),
        ([(1, 1)], None),
        ([(1, 1), (None, None)], None),
        ([(None, None), (None, None)], None),
    ],
)
def test_describe_winner(ranked: Ranked, said: str | None) -> None:
    assert describe_winner(leaderboard(ranked)) == said


@pytest.mark.parametrize(
    ("clusters", "scored", "systems", "said"),
    [
        (5, 5, 2, "5 questions are too few"),
        (6, 6, 2, "a and b are not significantly different"),
        (6, 6, 3, "6 questions are too few"),
        (8, 8, 3, "a, b and c are not significantly different"),
        (5, 60, 2, "5 clusters are too few"),
        (1, 1, 2, "1 question is too few"),
    ],
)
def test_too_few_questions_are_named(clusters: int, scored: int, systems: int, said: str) -> None:
    rows = leaderboard([(at, 1) for at in range(1, systems + 1)], clusters, scored)
    assert describe_winner(rows) == f"No winner: {said}."


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
