"""Corrected means: golden numbers, ppi-python, and the truth in simulations."""

from __future__ import annotations

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from evaluators.statistics.judges.agreement import Confusion, confusion
from evaluators.statistics.judges.corrected_means import prediction_powered, rogan_gladen

# Sensitivity 0.9 and specificity 0.8, told from a hundred passes and fifty failures.
JUDGE = Confusion(true_pass=90, false_fail=10, true_fail=40, false_pass=10)


def judged(truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The verdicts of a judge of sensitivity 0.9 and specificity 0.8."""
    draw = generator.random(len(truth))
    return np.where(truth, draw < 0.9, draw >= 0.8)


def test_rogan_and_gladen() -> None:
    found = rogan_gladen(0.70, 1000, JUDGE)
    assert found is not None
    theta = 0.7142857
    assert found.mean == pytest.approx(theta, abs=1e-7)
    terms = 0.7 * 0.3 / 1000 + (1 - theta) ** 2 * 0.8 * 0.2 / 50 + theta**2 * 0.9 * 0.1 / 100
    assert found.variance == pytest.approx(terms / 0.7**2, rel=1e-6)
    assert found.high - found.mean == pytest.approx(1.959964 * found.variance**0.5)


def test_a_share_below_the_judges_errors_is_none_at_all() -> None:
    found = rogan_gladen(0.05, 1000, JUDGE)
    assert found is not None
    assert (found.mean, found.low) == (0, 0)
    assert 0 < found.high < 0.2


@pytest.mark.parametrize(
    "judge",
    [
        Confusion(5, 5, 5, 5),  # no better than chance
        Confusion(1, 9, 9, 1),  # worse
        Confusion(9, 0, 1, 0),  # people failed nothing
        Confusion(0, 0, 0, 0),
    ],
)
def test_a_judge_that_tells_nothing_corrects_nothing(judge: Confusion) -> None:
    assert rogan_gladen(0.7, 100, judge) is None


def test_prediction_powered_golden() -> None:
    # The judge's mean is 0.80 and people give 0.06 less on average: 0.74.
    judge = np.array([0.7, 0.9] * 200)
    labelled = np.array([0.9, 0.7, 0.8, 0.8])
    found = prediction_powered(judge, labelled, labelled - [0.1, 0.02, 0.08, 0.04], tuned=False)
    assert found is not None
    assert found.mean == pytest.approx(0.74)


@pytest.mark.parametrize("noise", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("tuned", [True, False])
def test_prediction_powered_is_that_of_ppi_python(noise: float, tuned: bool) -> None:
    generator = np.random.default_rng(7)
    truth = generator.random(2200)
    judge = truth + generator.normal(0.1, noise, size=2200)
    labels, labelled, rest = truth[:200], judge[:200], judge[200:]
    found = prediction_powered(rest, labelled, labels, tuned=tuned)
    weight = None if tuned else 1
    expected = float(np.squeeze(ppi_mean_pointestimate(labels, labelled, rest, lam=weight)))
    low, high = (
        float(np.squeeze(end))
        for end in ppi_mean_ci(labels, labelled, rest, alpha=0.05, lam=weight)
    )
    assert found is not None
    # They divide by n in variances where we divide by n - 1.
    assert found.mean == pytest.approx(expected, abs=2e-4)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.005 * (high - low))


def test_a_judge_that_says_the_same_of_everything_adds_nothing() -> None:
    labels = np.random.default_rng(8).random(50)
    found = prediction_powered(np.full(500, 0.5), np.full(50, 0.5), labels)
    assert found is not None
    assert (found.mean, found.weight) == (pytest.approx(labels.mean()), 0)
    assert found.variance == pytest.approx(labels.var(ddof=1) / 50)


def test_without_unlabelled_samples_people_alone_count() -> None:
    labels = np.random.default_rng(9).random(50)
    found = prediction_powered(np.array([]), labels + 0.2, labels)
    assert found is not None
    assert found.mean == pytest.approx(labels.mean())
    assert prediction_powered(np.array([0.5]), labels[:1], labels[:1]) is None


def test_corrected_means_cover_the_truth() -> None:
    generator = np.random.default_rng(10)
    trials, share = 1500, 0.6
    hits = {"raw": 0, "rogan_gladen": 0, "ppi": 0, "tuned": 0}
    widths = {"ppi": 0.0, "tuned": 0.0}
    for _ in range(trials):
        truth = generator.random(1200) < share
        verdicts = judged(truth, generator)
        labels, labelled, rest = truth[:200], verdicts[:200], verdicts[200:]
        given = [each.astype(float) for each in (rest, labelled, labels)]
        corrected = {
            "rogan_gladen": rogan_gladen(rest.mean(), len(rest), confusion(labelled, labels)),
            "ppi": prediction_powered(*given, tuned=False),
            "tuned": prediction_powered(*given),
        }
        for name, found in corrected.items():
            assert found is not None
            hits[name] += found.low <= share <= found.high
            if name in widths:
                widths[name] += found.high - found.low
        error = 1.96 * np.sqrt(0.25 / len(rest))
        hits["raw"] += abs(rest.mean() - share) <= error
    assert hits["raw"] / trials < 0.9
    for name in ("rogan_gladen", "ppi", "tuned"):
        assert 0.935 <= hits[name] / trials <= 0.965, name
    assert widths["tuned"] < widths["ppi"]
