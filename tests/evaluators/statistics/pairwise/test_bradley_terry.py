"""Strengths: closed forms, published estimates, an independent fit, and their uncertainty."""

from __future__ import annotations

from itertools import combinations
from math import log

import numpy as np
import pytest
from statsmodels.genmod.families import Poisson
from statsmodels.genmod.generalized_linear_model import GLM

from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.intervals import uncertainty
from evaluators.statistics.pairwise.bradley_terry import fit_strengths, pseudo_strengths
from evaluators.statistics.pairwise.existence import LOST_ALL
from evaluators.statistics.pairwise.win_matrix import Comparisons, count_wins
from tests.evaluators.statistics.pairwise.games import chances, games, play
from tests.support.services import takes_minutes

UNBOUNDED = (-np.inf, np.inf)


@pytest.mark.parametrize(("won", "lost"), [(1, 1), (30, 10), (1, 9), (999, 1)])
def test_two_systems_without_ties_have_the_log_odds(won: int, lost: int) -> None:
    found = fit_strengths(games([[0, won], [lost, 0]]), 2)
    assert found.values == pytest.approx([log(won / lost) / 2, -log(won / lost) / 2], abs=1e-9)
    assert (found.reasons, found.log_ties) == ((None, None), None)


@pytest.mark.parametrize(("won", "lost", "tied"), [(30, 10, 20), (5, 5, 1), (2, 70, 8)])
def test_two_systems_with_ties_fit_exactly(won: int, lost: int, tied: int) -> None:
    found = fit_strengths(games([[0, won], [lost, 0]], [[0, tied], [0, 0]]), 2)
    assert found.values[0] - found.values[1] == pytest.approx(log(won / lost), abs=1e-9)
    assert found.log_ties == pytest.approx(log(tied / (won * lost) ** 0.5), abs=1e-9)


def test_citations_between_journals_of_statistics() -> None:
    # The counts are from Stigler 1994, the strengths relative to Biometrika from Turner and Firth,
    # who describe the R package BradleyTerry2 (2012).
    cited = [[0, 730, 498, 221], [33, 0, 68, 17], [320, 813, 0, 142], [284, 276, 325, 0]]
    found = fit_strengths(games(cited), 4)
    relative = found.values - found.values[0]
    assert relative[1:] == pytest.approx([-2.94907, -0.47957, 0.26895], abs=5e-6)
    assert found.values.mean() == pytest.approx(0, abs=1e-12)


def random_games(seed: int, *, systems: int = 5, n: int = 400) -> tuple[Comparisons, np.ndarray]:
    generator = np.random.default_rng(seed)
    strengths = generator.normal(size=systems)
    one, other = np.array(
        [generator.choice(systems, 2, replace=False) for _ in range(n)], dtype=np.int64
    ).T
    return play(strengths, -0.2, one, other, generator.random(n)), strengths


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ties_agree_with_a_log_linear_model(seed: int) -> None:
    # Fienberg and Larntz 1976: counts of wins, losses and ties of each pair are Poisson, with a
    # level for each pair, strengths, and the tie parameter.
    played, _ = random_games(seed)
    matrix = count_wins(played, 5)
    pairs = list(combinations(range(5), 2))
    counts, design = [], []
    for number, (one, other) in enumerate(pairs):
        level = np.eye(len(pairs))[number]
        first, second = np.eye(5)[one], np.eye(5)[other]
        counts += [matrix.wins[one, other], matrix.wins[other, one], matrix.ties[one, other]]
        for shares, tie in ((first, 0.0), (second, 0.0), ((first + second) / 2, 1.0)):
            design.append([*level, *shares[1:], tie])
    fitted = GLM(np.array(counts), np.array(design), family=Poisson()).fit(tol=1e-12).params
    found = fit_strengths(played, 5)
    assert found.values[1:] - found.values[0] == pytest.approx(fitted[10:14], abs=1e-7)
    assert found.log_ties == pytest.approx(fitted[14], abs=1e-7)


def test_expected_points_are_the_observed_ones() -> None:
    played, _ = random_games(4)
    found = fit_strengths(played, 5)
    win, tie, loss = chances(found.values, found.log_ties, played.one, played.other).T
    points = np.bincount(played.one, played.outcomes - win - tie / 2, 5)
    points += np.bincount(played.other, 1 - played.outcomes - loss - tie / 2, 5)
    assert points == pytest.approx(np.zeros(5), abs=1e-7)
    assert tie.sum() == pytest.approx((played.outcomes == 0.5).sum())


def test_order_names_and_repetition_do_not_matter() -> None:
    played, _ = random_games(5)
    found = fit_strengths(played, 5).values
    swapped = Comparisons(played.other, played.one, 1 - played.outcomes)
    assert fit_strengths(swapped, 5).values == pytest.approx(found, abs=1e-9)
    renamed = np.array([3, 0, 4, 1, 2])
    other = fit_strengths(
        Comparisons(renamed[played.one], renamed[played.other], played.outcomes), 5
    )
    assert other.values[renamed] == pytest.approx(found, abs=1e-9)
    twice = Comparisons(*(np.tile(each, 2) for each in played))
    assert fit_strengths(twice, 5).values == pytest.approx(found, abs=1e-9)


def test_a_system_that_lost_everything_does_not_change_the_others() -> None:
    played, _ = random_games(6)
    losses = Comparisons(np.arange(5), np.full(5, 5), np.ones(5))
    every = Comparisons(*(np.concatenate(both) for both in zip(played, losses, strict=True)))
    found = fit_strengths(every, 6)
    assert found.values[:5] == pytest.approx(fit_strengths(played, 5).values)
    assert np.isnan(found.values[5])
    assert found.reasons == (None,) * 5 + (LOST_ALL,)
    pseudo = pseudo_strengths(every, found, np.arange(405), 405)
    assert np.isnan(pseudo[:, 5]).all()
    # Comparisons with it say nothing about the others.
    assert np.isnan(pseudo[400:]).all()
    assert np.isfinite(pseudo[:400, :5]).all()


def test_nearly_one_sided_results_are_large_but_finite() -> None:
    found = fit_strengths(games([[0, 100_000], [1, 0]]), 2)
    assert found.values[0] == pytest.approx(log(100_000) / 2)


def test_pseudo_values_are_those_of_the_jackknife() -> None:
    played, _ = random_games(7, n=600)
    parts = np.arange(600) // 10
    found = fit_strengths(played, 5)
    pseudo = pseudo_strengths(played, found, parts, 60)
    assert pseudo.mean(axis=0) == pytest.approx(found.values)
    exact = np.array([fit_strengths(played.subset(parts != left), 5).values for left in range(60)])
    spread = np.sqrt(59 / 60 * ((exact - exact.mean(axis=0)) ** 2).sum(axis=0))
    assert np.std(pseudo, axis=0, ddof=1) / 60**0.5 == pytest.approx(spread, rel=0.01)
    left_out = 60 * found.values - 59 * exact
    assert np.corrcoef(pseudo[:, 0], left_out[:, 0])[0, 1] > 0.999


def test_error_of_independent_games_is_that_of_the_log_odds() -> None:
    won, lost = 300, 200
    played = games([[0, won], [lost, 0]])
    pseudo = pseudo_strengths(played, fit_strengths(played, 2), np.arange(500), 500)
    difference = pseudo[:, 0] - pseudo[:, 1]
    error = np.std(difference, ddof=1) / 500**0.5
    assert error == pytest.approx((1 / won + 1 / lost) ** 0.5, rel=0.005)


def test_a_part_without_which_systems_are_not_connected_leaves_no_error() -> None:
    # The third system occurs in one question only.
    played = games([[0, 5, 1], [4, 0, 0], [1, 0, 0]])
    alone = (played.one == 2) | (played.other == 2)
    parts = np.where(alone, 0, 1 + np.arange(len(alone)))
    pseudo = pseudo_strengths(played, fit_strengths(played, 3), parts, int(parts.max()) + 1)
    assert np.isnan(pseudo).all()
    one_part = np.zeros(len(alone), dtype=np.int64)
    assert np.isnan(pseudo_strengths(played, fit_strengths(played, 3), one_part, 1)).all()


STRENGTHS = np.array([1.0, 0.4, 0.1, -0.2, -0.5, -0.8])


def ring(
    generator: np.random.Generator, questions: int, shared: float, log_ties: float | None
) -> tuple[Comparisons, np.ndarray]:
    """Rings of systems, in a new order for each question; some results share their luck.

    Returns:
        The comparisons, and the question of each.
    """
    systems = len(STRENGTHS)
    order = np.array([generator.permutation(systems) for _ in range(questions)])
    one, other = order.ravel(), np.roll(order, -1, axis=1).ravel()
    # Sorted, shared luck is for the same systems throughout.
    one, other = np.minimum(one, other), np.maximum(one, other)
    luck = generator.random((questions, systems))
    is_shared = generator.random((questions, systems)) < shared
    luck = np.where(is_shared, luck[:, :1], luck).ravel()
    played = play(STRENGTHS, log_ties, one, other, luck)
    return played, np.repeat(np.arange(questions), systems)


@takes_minutes
@pytest.mark.parametrize("log_ties", [None, 0.3])
@pytest.mark.parametrize(("questions", "shared"), [(25, 0.0), (60, 0.6)])
def test_intervals_cover_the_true_strengths(
    log_ties: float | None, questions: int, shared: float
) -> None:
    generator = np.random.default_rng(11)
    repeats, covered = 200, []
    for _ in range(repeats):
        played, parts = ring(generator, questions, shared, log_ties)
        found = fit_strengths(played, len(STRENGTHS))
        assert np.isfinite(found.values).all()
        pseudo = pseudo_strengths(played, found, parts, questions)
        (low, high) = uncertainty(
            sum_by_cluster(pseudo, Groups()),
            pass_fail=np.zeros(len(STRENGTHS), dtype=bool),
            bounds=UNBOUNDED,
        ).interval
        covered.append(((low <= STRENGTHS) & (high >= STRENGTHS)).mean())
    error = np.std(covered, ddof=1) / repeats**0.5
    assert np.mean(covered) > 0.95 - 3.5 * error
    # With few questions, intervals of log-odds are somewhat too wide.
    assert np.mean(covered) < 0.985


def test_errors_are_larger_where_questions_decide() -> None:
    played, parts = ring(np.random.default_rng(12), 200, 0.8, None)
    found = fit_strengths(played, len(STRENGTHS))
    every = np.arange(len(parts))
    by_question, alone = (
        np.nanstd(pseudo_strengths(played, found, clusters, n), axis=0) / n**0.5
        for clusters, n in ((parts, 200), (every, len(every)))
    )
    assert by_question[0] > 1.2 * alone[0]
    assert by_question[-1] > 1.2 * alone[-1]
