"""Pass rates of several answers, against the enumeration of all choices of answers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from evaluators.statistics.pass_rates import all_pass, any_passes

MOST = 8


@pytest.mark.parametrize("k", range(1, MOST + 1))
def test_rates_are_the_shares_of_all_choices_of_answers(k: int) -> None:
    for n in range(k, MOST + 1):
        for c in range(n + 1):
            verdicts = [True] * c + [False] * (n - c)
            choices = list(combinations(verdicts, k))
            given = np.array([n]), np.array([c]), k
            every = sum(map(all, choices)) / len(choices)
            some = sum(map(any, choices)) / len(choices)
            assert all_pass(*given) == pytest.approx(every, abs=1e-12)
            assert any_passes(*given) == pytest.approx(some, abs=1e-12)


def test_fewer_answers_than_needed_have_no_rate() -> None:
    answers, passed = np.array([0, 2, 3]), np.array([0, 2, 3])
    assert np.isnan(all_pass(answers, passed, 3)).tolist() == [True, True, False]
    assert np.isnan(any_passes(answers, passed, 3)).tolist() == [True, True, False]


def test_rates_are_unbiased_unlike_the_power_of_the_mean() -> None:
    n, k, chance = 5, 3, 0.4
    passed = np.random.default_rng(1).binomial(n, chance, 200_000)
    answers = np.full(len(passed), n)
    error = 4 * 0.5 / np.sqrt(len(passed))
    assert all_pass(answers, passed, k).mean() == pytest.approx(chance**k, abs=error)
    assert any_passes(answers, passed, k).mean() == pytest.approx(1 - (1 - chance) ** k, abs=error)
    # The obvious estimate, (c / n)^k, is too high.
    assert ((passed / n) ** k).mean() > chance**k + error
