"""Agreement against scikit-learn and krippendorff, and against figures worked out by hand."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.metrics import cohen_kappa_score

from evaluators.statistics.judges.agreement import Confusion, confusion, kappa, kappas
from evaluators.statistics.judges.krippendorff import krippendorff_alpha

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


def test_samples_of_a_cluster_count_once() -> None:
    generator = np.random.default_rng(2)
    one, other = generator.integers(0, 2, size=(2, 30)).astype(float)
    alone = kappa(one, other)
    ten = [np.repeat(each, 10) for each in (one, other)]
    together = kappa(*ten, clusters=np.repeat(np.arange(30), 10))
    assert together.value == pytest.approx(alone.value)
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high))
    assert np.ptp(kappa(*ten)[1:]) < np.ptp(alone[1:]) / 2


@given(GAPPY, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_alpha_is_that_of_krippendorff(ratings: np.ndarray, scale: str) -> None:
    ours = krippendorff_alpha(ratings, scale)
    if ours is None:
        pairable = ratings[:, np.isfinite(ratings).sum(axis=0) >= 2]
        assert len(np.unique(pairable[np.isfinite(pairable)])) <= 1
        return
    expected = krippendorff.alpha(reliability_data=ratings, level_of_measurement=scale)
    assert ours == pytest.approx(expected, abs=1e-9)


def test_tables_are_computed_one_by_one() -> None:
    tables = np.random.default_rng(3).integers(0, 20, size=(6, 3, 3)).astype(float)
    together = kappas(tables, "quadratic")
    assert together == pytest.approx([kappas(table[None], "quadratic")[0] for table in tables])
