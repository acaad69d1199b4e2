"""Agreement against scikit-learn and krippendorff, and against figures worked out by hand."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from benchmarks.simulations.labels import DRAWS, answer, draw
from evaluators.statistics.judges.agreement import (
    Confusion,
    Kappa,
    confusion,
    count_labels_needed,
    kappa,
    kappa_of_tables,
    kappas,
    rating_tables,
)
from evaluators.statistics.judges.few_labels import scale_weights
from evaluators.statistics.judges.krippendorff import alpha_with_interval

RATINGS = arrays.arrays(float, (2, 25), elements=st.integers(1, 5).map(float))
GAPPY = arrays.arrays(
    float, (4, 12), elements=st.one_of(st.integers(1, 4).map(float), st.just(float("nan")))
)


def test_the_trap_of_the_base_rate() -> None:
    found = Confusion(true_pass=85, false_pass=8, false_fail=5, true_fail=2)
    assert found.agreement == pytest.approx(0.87)
    assert found.kappa == pytest.approx(0.1666667)
    assert found.base_rate == pytest.approx(0.9)
    assert found.constant_agreement == pytest.approx(0.9)


def test_an_even_base_rate() -> None:
    found = Confusion(true_pass=40, false_pass=5, false_fail=10, true_fail=45)
    assert found.agreement == pytest.approx(0.85)
    assert found.kappa == pytest.approx(0.7)
    assert found.sensitivity == pytest.approx(0.8)
    assert found.specificity == pytest.approx(0.9)


def test_passes_and_failures_are_counted() -> None:
    judge = np.array([True, True, False, False, True])
    people = np.array([True, False, True, False, True])
    assert confusion(judge, people) == Confusion(2, 1, 1, 1)


def test_what_there_is_nothing_to_tell_from_is_none() -> None:
    nothing = Confusion(0, 0, 0, 0)
    assert nothing.agreement is nothing.kappa is nothing.base_rate is None
    passes = Confusion(7, 0, 0, 0)
    assert passes.specificity is passes.kappa is None
    assert passes.agreement == passes.sensitivity == 1
    assert np.isnan(kappa(np.ones(9), np.ones(9)).value)
    assert np.isnan(kappa(np.array([]), np.array([])).value)


@given(RATINGS, st.sampled_from(["none", "linear", "quadratic"]))
def test_kappa_is_that_of_scikit_learn(ratings: np.ndarray, weights: str) -> None:
    if len(np.unique(ratings)) == 1:
        return
    expected = cohen_kappa_score(*ratings, weights=None if weights == "none" else weights)
    assert kappa(*ratings, weights=weights).value == pytest.approx(expected)


def test_the_interval_of_kappa_covers_the_truth() -> None:
    # Two raters who each report the truth with a probability of 0.9, and half of all pass:
    # they agree by 0.82, chance by 0.5, so that kappa is 0.64.
    generator = np.random.default_rng(1)
    covered, trials = 0, 300
    for _ in range(trials):
        truth = generator.random(150) < 0.5
        one, other = (truth ^ (generator.random(150) < 0.1) for _ in range(2))
        found = kappa(one.astype(float), other.astype(float))
        covered += found.low <= 0.64 <= found.high
    assert 0.92 <= covered / trials <= 0.98


def ratings(
    generator: np.random.Generator, size: int, base_rate: float, truth: float
) -> tuple[np.ndarray, np.ndarray]:
    """A judge with the kappa `truth`: it copies some labels and guesses the others."""
    human = generator.random(size) < base_rate
    copied = generator.random(size) < truth
    return np.where(copied, human, generator.random(size) < base_rate), human


@pytest.mark.parametrize("size", [2, 5, 10, 30])
@pytest.mark.parametrize("truth", [0.0, 0.4, 0.8])
def test_the_interval_of_kappa_covers_the_truth_with_few_labels(size: int, truth: float) -> None:
    generator = np.random.default_rng(8)
    covered = trials = 0
    for _ in range(300):
        judge, human = ratings(generator, size, 0.5, truth)
        found = kappa(judge.astype(float), human.astype(float))
        trials += bool(np.isfinite(found.low))
        covered += found.low <= truth <= found.high
    assert covered / trials >= 0.92


def test_two_labels_do_not_make_kappa_certain() -> None:
    both = np.array([0.0, 1.0])
    found = kappa(both, both)
    assert found.value == found.high == 1
    assert found.low < 0
    assert count_labels_needed(confusion(both == 1, both == 1), found) == 18
    # A judge that always gives one verdict, or labels of one class, say nothing about kappa.
    assert np.isnan(kappa(np.ones(2), both).low)
    assert np.isnan(kappa(both, np.ones(2)).low)


def test_the_interval_is_that_of_the_posterior_with_jeffreys_prior() -> None:
    table = np.array([[12, 2], [3, 7]])
    cells = np.repeat([0, 1, 2, 3], table.ravel())
    found = kappa((cells >= 2).astype(float), (cells % 2).astype(float))
    draws = stats.dirichlet(table.ravel() + 0.5).rvs(40_000, random_state=1)
    tail = stats.norm.cdf(stats.t.ppf(0.025, 25))
    expected = np.quantile(kappas(draws.reshape(-1, 2, 2)), [tail, 1 - tail])
    assert (found.low, found.high) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("size", [2, 5, 10, 20, 50, 100])
@pytest.mark.parametrize("base_rate", [0.5, 0.9])
def test_chance_calibrates_no_judge(size: int, base_rate: float) -> None:
    generator = np.random.default_rng(7)
    found = {0.0: 0, 0.4: 0}
    for truth in found:
        for _ in range(150):
            judge, human = ratings(generator, size, base_rate, truth)
            agreed = kappa(judge.astype(float), human.astype(float))
            found[truth] += count_labels_needed(confusion(judge, human), agreed) == 0
    assert found[0.0] == 0
    assert found[0.4] / 150 <= 0.05


def test_the_labels_that_are_needed() -> None:
    def needed(table: Confusion, value: float, low: float) -> int | None:
        return count_labels_needed(table, Kappa(value, low, 1.0))

    assert needed(Confusion(30, 3, 3, 14), 0.7, 0.45) == 0
    # The lower half of the interval must shrink from 0.45 to 0.3: 1.5 times by 50 * (1.5^2 - 1).
    assert needed(Confusion(30, 3, 3, 14), 0.7, 0.25) == 63
    assert needed(Confusion(30, 3, 3, 14), 0.42, 0.2) == 6100
    assert needed(Confusion(8, 0, 0, 7), 1.0, 0.6) == 5
    # Too low, or one class: more labels of that kind do not help, except for the first ones.
    assert needed(Confusion(20, 10, 10, 10), 0.2, -0.1) is None
    assert needed(Confusion(40, 0, 10, 0), 0.0, np.nan) is None
    assert needed(Confusion(4, 0, 0, 0), np.nan, np.nan) == 16


def test_samples_of_a_cluster_count_once() -> None:
    generator = np.random.default_rng(2)
    one, other = generator.integers(0, 2, size=(2, 30)).astype(float)
    alone = kappa(one, other)
    ten = [np.repeat(each, 10) for each in (one, other)]
    together = kappa(*ten, clusters=np.repeat(np.arange(30), 10))
    assert together.value == pytest.approx(alone.value)
    # The draws differ.
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.03)
    assert np.ptp(kappa(*ten)[1:]) < np.ptp(alone[1:]) / 2


@given(GAPPY)
def test_alpha_is_that_of_krippendorff(ratings: np.ndarray) -> None:
    ours = alpha_with_interval(ratings).value
    if np.isnan(ours):
        pairable = ratings[:, np.isfinite(ratings).sum(axis=0) >= 2]
        assert len(np.unique(pairable[np.isfinite(pairable)])) <= 1
        return
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement="interval")
    assert ours == pytest.approx(expected, abs=1e-9)


def test_ratings_that_differ_in_one_unit_have_no_interval() -> None:
    ratings = np.ones((4, 12))
    ratings[3, 11] = 4.0
    found = alpha_with_interval(ratings)
    assert found.value == pytest.approx(
        krippendorff.alpha(ratings, level_of_measurement="interval")
    )
    assert np.isnan(found[1:]).all()


def test_tables_are_computed_one_by_one() -> None:
    tables = np.random.default_rng(3).integers(0, 20, size=(6, 3, 3)).astype(float)
    together = kappas(tables, "quadratic")
    assert together == pytest.approx([kappas(table[None], "quadratic")[0] for table in tables])


def test_a_weighted_kappa_is_that_of_scikit_learn() -> None:
    generator = np.random.default_rng(4)
    one, other = generator.integers(0, 2, (2, 60)).astype(float)
    weights = generator.uniform(0.2, 3.0, 60)
    tables = rating_tables(one, other, np.arange(60), weights)
    expected = cohen_kappa_score(one, other, sample_weight=weights)
    assert kappa_of_tables(tables).value == pytest.approx(expected)
    counts = confusion(one == 1, other, weights)
    assert counts.kappa == pytest.approx(expected)
    assert counts.sensitivity == pytest.approx(
        np.average(one[other == 1], weights=weights[other == 1])
    )
    assert counts.base_rate == pytest.approx(np.average(other, weights=weights))


def test_a_label_of_two_who_disagree_is_half_of_each() -> None:
    judge = np.array([1.0, 1.0, 0.0, 0.0, 1.0])
    people = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    apart = kappa(np.repeat(judge, 2), people.ravel()).value
    samples = np.repeat(np.arange(5), 2)
    tables = rating_tables(np.repeat(judge, 2), people.ravel(), samples, np.full(10, 0.5))
    assert kappa_of_tables(tables).value == pytest.approx(apart)
    counts = confusion(judge == 1, people.mean(axis=1))
    assert counts == Confusion(2.5, 0.5, 0.5, 1.5)
    assert counts.n == 5


@pytest.mark.parametrize("design", DRAWS)
def test_kappa_holds_however_labels_are_drawn(design: str) -> None:
    generator = np.random.default_rng(14)
    everyone = answer(generator, 200_000, 0.0)
    truth = cohen_kappa_score(everyone.verdicts, everyone.votes[:, 0])
    found = []
    for _ in range(100):
        answers = answer(generator, 500, 0.0)
        drawn = draw(generator, design, answers)
        chosen = np.flatnonzero(drawn.now)
        weights = scale_weights(drawn.weights[chosen])
        pair = answers.verdicts[chosen], answers.votes[chosen, 0]
        found.append(kappa_of_tables(rating_tables(*pair, np.arange(len(chosen)), weights)))
    values = np.array(found)
    assert values[:, 0].mean() == pytest.approx(truth, abs=0.03)
    assert ((values[:, 1] <= truth) & (truth <= values[:, 2])).mean() >= 0.9
