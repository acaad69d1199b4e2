"""Corrected means: golden numbers, ppi-python, brute force, and the truth in simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from benchmarks.simulations.labels import DRAWS, PEOPLE, answer, draw
from evaluators.statistics.judges.corrected_means import (
    Share,
    lang_reiczigel,
    prediction_powered,
    rogan_gladen,
)

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers

UNBOUNDED = (-np.inf, np.inf)


def samples(
    confusion: tuple[int, int, int, int], passed: int = 0, failed: int = 0
) -> tuple[Floats, Floats]:
    """Verdicts and labels: true and false passes, false and true failures, then unlabelled."""
    verdicts = np.repeat([1.0, 1, 0, 0, 1, 0], [*confusion, passed, failed])
    labels = np.repeat([1.0, 0, 1, 0, np.nan, np.nan], [*confusion, passed, failed])
    return verdicts, labels


def document_samples(
    generator: np.random.Generator, labels: int, *, whole: bool
) -> tuple[Floats, Floats, Integers]:
    """Fifty documents of ten answers, whose truth and judge errors depend on the document."""
    clusters = np.repeat(np.arange(50), 10)
    share, right, wrong = (
        generator.beta(*shape, 50)[clusters] for shape in ((1.95, 1.05), (3.6, 0.4), (0.8, 3.2))
    )
    truth = generator.random(500) < share
    verdicts = (generator.random(500) < np.where(truth, right, wrong)).astype(float)
    chosen = np.isin(clusters, generator.choice(50, labels // 10, replace=False))
    if not whole:
        chosen = np.isin(np.arange(500), generator.choice(500, labels, replace=False))
    return verdicts, np.where(chosen, truth, np.nan), clusters


# Sensitivity 0.9 from a hundred passes, specificity 0.8 from fifty failures.
JUDGE = (90, 10, 10, 40)


def test_rogan_and_gladen() -> None:
    found = rogan_gladen(*samples(JUDGE, 600, 250))
    assert found.mean == pytest.approx(0.7142857, abs=1e-7)
    # The interval by hand: n' = n + z^2, one verdict more of each kind.
    z = 1.959964
    share, right, wrong = (700 + z**2 / 2) / (1000 + z**2), 91 / 102, 41 / 52
    youden = right + wrong - 1
    theta = (share + wrong - 1) / youden
    of_right, of_wrong = right * (1 - right) / 102, wrong * (1 - wrong) / 52
    middle = theta + 2 * z**2 * (theta * of_right - (1 - theta) * of_wrong)
    variance = share * (1 - share) / (1000 + z**2)
    variance += theta**2 * of_right + (1 - theta) ** 2 * of_wrong
    half = z * variance**0.5 / youden
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-6)


def test_a_share_below_the_judges_errors_has_no_corrected_mean() -> None:
    found = rogan_gladen(*samples(JUDGE, 50, 800))
    assert found.mean is None
    assert found.reason == "the estimate -0.071 is outside the bounds 0 to 1"
    assert found.low == 0
    assert 0 < found.high < 0.2
    # Error rates that cannot be those of the other samples.
    worse = rogan_gladen(*samples(JUDGE, 0, 5000))
    assert (worse.mean, worse.low, worse.high) == (None, None, None)
    assert str(worse.reason).endswith("with its interval")


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        ((5, 5, 5, 5), "no better than chance"),
        ((1, 9, 9, 1), "no better than chance"),
        ((9, 0, 1, 0), "all labels of this system are 1"),
        ((0, 3, 0, 7), "all labels of this system are 0"),
        ((0, 0, 0, 0), "no labels of this system"),
    ],
)
def test_rates_that_are_unknown_correct_nothing(
    judge: tuple[int, int, int, int], reason: str
) -> None:
    found = rogan_gladen(*samples(judge, 70, 30))
    assert (found.mean, found.low, found.high) == (None, None, None)
    assert reason in str(found.reason)


def test_verdicts_that_are_the_truth_stay_as_they_are() -> None:
    found = rogan_gladen(*samples((33, 0, 0, 17), 293, 157))
    assert found.mean == pytest.approx(0.652)


def test_a_judge_without_errors_has_the_interval_of_agresti_and_coull() -> None:
    known = Share(1.0, 1e12)
    for passed in (0, 3, 57, 60):
        expected = proportion_confint(passed, 60, method="agresti_coull")
        # statsmodels cuts at 0 and 1.
        ends = np.clip(lang_reiczigel(Share(passed / 60, 60), known, known) or (0, 0), 0, 1)
        assert ends == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("truth", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("rates", [(0.9, 0.8), (0.7, 0.95)])
def test_lang_and_reiczigel_cover_the_truth(truth: float, rates: tuple[float, float]) -> None:
    # Exact: all outcomes of three binomials, as in their paper.
    share = truth * rates[0] + (1 - truth) * (1 - rates[1])
    binomials = [(60, share), (12, rates[0]), (15, rates[1])]
    chances = [stats.binom.pmf(np.arange(n + 1), n, p) for n, p in binomials]
    covered = 0.0
    for counts in np.ndindex(*(len(each) for each in chances)):
        chance = float(np.prod([own[at] for own, at in zip(chances, counts, strict=True)]))
        if chance > 1e-6:
            shares = (Share(at / n, n) for at, (n, _) in zip(counts, binomials, strict=True))
            ends = lang_reiczigel(*shares)
            covered += chance * (ends is None or ends[0] <= truth <= ends[1])
    assert covered >= 0.94


def test_prediction_powered_golden() -> None:
    # The judge's mean is 0.80 and people give 0.06 less on average: 0.74.
    scores = np.array([0.9, 0.7, 0.8, 0.8, *[0.7, 0.9] * 200])
    labels = np.full(404, np.nan)
    labels[:4] = scores[:4] - [0.1, 0.02, 0.08, 0.04]
    found = prediction_powered(scores, labels)
    assert (found.mean, found.weight) == (pytest.approx(0.74), 1)


@pytest.mark.parametrize("noise", [0.05, 0.3, 3.0])
@pytest.mark.parametrize("count", [25, 400])
def test_prediction_powered_is_that_of_ppi_python(noise: float, count: int) -> None:
    generator = np.random.default_rng(7)
    truth = generator.random(4000)
    judge = truth + generator.normal(0.1, noise, size=4000)
    found = prediction_powered(
        judge, np.where(np.arange(4000) < count, truth, np.nan), bounds=UNBOUNDED
    )
    labels, labelled, rest = truth[:count], judge[:count], judge[count:]
    weight = 1 if count == 25 else None
    expected = float(np.squeeze(ppi_mean_pointestimate(labels, labelled, rest, lam=weight)))
    ends = [
        float(np.squeeze(end))
        for end in ppi_mean_ci(labels, labelled, rest, alpha=0.05, lam=weight)
    ]
    width = ends[1] - ends[0]
    # They tune the weight on the labels that it serves, use z, and divide variances by n.
    assert found.mean == pytest.approx(expected, abs=1e-9 if weight else 0.05 * width)
    assert found.high - found.low == pytest.approx(
        width * stats.t.ppf(0.975, count - 1) / 1.96, rel=1.2 / count + 0.01
    )


def test_the_interval_is_that_of_the_jackknife_over_documents() -> None:
    generator = np.random.default_rng(4)
    clusters = generator.integers(0, 12, 90)
    scores = generator.normal(size=90)
    labels = np.where(generator.random(90) < 0.3, scores + generator.normal(size=90), np.nan)
    found = prediction_powered(scores, labels, clusters, UNBOUNDED)

    def estimate(rows: np.ndarray) -> float:
        own, judged = labels[rows], scores[rows]
        known = np.isfinite(own)
        return float(judged[~known].mean() + (own - judged)[known].mean())

    without = np.array([estimate(clusters != each) for each in range(12)])
    assert found.mean == pytest.approx(estimate(np.full(90, fill_value=True)))
    variance = 11 / 12 * ((without - found.mean) ** 2).sum()
    sizes = np.bincount(clusters[np.isfinite(labels)], minlength=12)
    degrees = sizes.sum() ** 2 / (sizes**2).sum() - 1
    half = stats.t.ppf(0.975, degrees) * variance**0.5
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))


@pytest.mark.parametrize("count", [10, 50])
def test_equal_labels_keep_the_verdicts(count: int) -> None:
    verdicts = (np.arange(500) % 5 > 0).astype(float)
    labels = np.where(np.arange(500) < count, 1.0, np.nan)
    found = prediction_powered(verdicts, labels)
    # The judge fails a fifth of all answers, and of those that humans pass.
    assert (found.weight, found.mean) == (1, pytest.approx(1))
    assert found.low < 0.97
    same = prediction_powered(np.where(np.arange(500) < count, 1.0, verdicts), labels)
    assert same.mean == pytest.approx(0.8)
    assert same.low + 0.05 < 0.8 < same.high - 0.05


def test_a_judge_that_says_the_same_of_everything_adds_nothing() -> None:
    labels = np.full(550, np.nan)
    labels[:50] = np.random.default_rng(8).random(50)
    found = prediction_powered(np.full(550, 0.5), labels, bounds=UNBOUNDED)
    assert (found.mean, found.weight) == (pytest.approx(labels[:50].mean()), 0)
    half = stats.t.ppf(0.975, 49) * labels[:50].std(ddof=1) / 50**0.5
    assert found.high - found.mean == pytest.approx(half, rel=0.02)


def test_without_unlabelled_samples_the_labels_alone_count() -> None:
    labels = np.random.default_rng(9).random(50)
    found = prediction_powered(labels + 0.2, labels)
    assert (found.mean, found.weight) == (pytest.approx(labels.mean()), 0)


def test_what_has_no_value_has_a_reason() -> None:
    scores = np.array([0.5, 0.2, 0.9, 1.0])
    one = prediction_powered(scores, np.array([0.5, np.nan, np.nan, np.nan]))
    assert (one.mean, one.low, one.reason) == (None, None, "corrected from two labels on")
    labels, together = np.array([0.5, 0.1, np.nan, np.nan]), np.array([1, 1, 2, 3])
    alone = prediction_powered(scores, labels, together)
    assert alone.mean == pytest.approx(0.9)
    assert (alone.low, alone.reason) == (None, "no interval: all labels are in one cluster")
    equal = prediction_powered(np.ones(9), np.ones(9), bounds=UNBOUNDED)
    assert (equal.mean, equal.low) == (1, None)
    assert "no spread" in str(equal.reason)


def test_a_mean_outside_the_scale_is_no_mean() -> None:
    # Humans pass what the judge failed, and the judge passes nearly all others.
    found = prediction_powered(*samples((10, 0, 10, 0), 460, 20))
    assert found.mean is None
    assert str(found.reason).startswith("the estimate 1.458 is outside the bounds")
    assert (found.low, found.high) in {(None, None), (found.low, 1.0)}


@pytest.mark.parametrize(("labels", "whole"), [(100, False), (100, True), (50, True)])
def test_dependent_labels_count_as_fewer(labels: int, whole: bool) -> None:
    generator = np.random.default_rng(11)
    trials = 400
    hits = {"powered": 0, "rogan_gladen": 0, "ignoring documents": 0}
    for _ in range(trials):
        drawn = document_samples(generator, labels, whole=whole)
        found = {
            "powered": prediction_powered(*drawn),
            "rogan_gladen": rogan_gladen(*drawn),
            "ignoring documents": prediction_powered(*drawn[:2]),
        }
        for name, each in found.items():
            hits[name] += each.low is None or each.low <= 0.65 <= each.high
    assert hits["ignoring documents"] / trials < (0.82 if whole else 0.93)
    assert hits["powered"] / trials >= 0.93
    assert hits["rogan_gladen"] / trials >= 0.93


@pytest.mark.parametrize("count", [10, 20, 50, 100])
@pytest.mark.parametrize("share", [0.6, 0.95])
def test_corrected_means_cover_the_truth(count: int, share: float) -> None:
    generator = np.random.default_rng(10)
    trials, hits = 400, {"powered": 0, "rogan_gladen": 0}
    bias = []
    for _ in range(trials):
        truth = generator.random(500) < share
        draw = generator.random(500)
        verdicts = np.where(truth, draw < 0.9, draw >= 0.8).astype(float)
        labels = np.where(np.arange(500) < count, truth, np.nan)
        powered, corrected = prediction_powered(verdicts, labels), rogan_gladen(verdicts, labels)
        hits["powered"] += powered.low <= share <= powered.high
        hits["rogan_gladen"] += corrected.low is None or corrected.low <= share <= corrected.high
        bias += [] if powered.mean is None else [powered.mean - share]
    for name, each in hits.items():
        assert each / trials >= 0.93, name
    if share == 0.6:  # no mean is outside the scale
        assert abs(np.mean(bias)) < 4 * np.std(bias) / len(bias) ** 0.5


def test_annotators_who_disagree_belong_to_both_classes() -> None:
    """By hand: of four labelled samples, two have one label of each kind."""
    verdicts = np.array([1.0, 1, 0, 0, *[1.0] * 6, *[0.0] * 4])
    labels = np.array([1.0, 0.5, 0.5, 0, *[np.nan] * 10])
    # Sensitivity (1 + 1/2) / 2 and specificity (1/2 + 1) / 2; the judge passes 8 of 14.
    found = rogan_gladen(verdicts, labels)
    assert found.mean == pytest.approx((8 / 14 + 0.75 - 1) / 0.5)
    # The same from the other side, as for a metric whose low values are best.
    other = rogan_gladen(1 - verdicts, 1 - labels)
    assert other.mean == pytest.approx(1 - found.mean)
    assert (other.low, other.high) == pytest.approx((1 - found.high, 1 - found.low))


def test_weights_are_those_of_repeated_samples() -> None:
    generator = np.random.default_rng(12)
    scores, labels = generator.random((2, 30))
    labels[12:] = np.nan
    weights = np.where(np.arange(30) % 3, 1.0, 4.0)
    found = prediction_powered(scores, labels, weights=weights, bounds=UNBOUNDED)
    own, judged = labels[:12], scores[:12]
    # Hajek's means of labels and of judgments, which the mean of all judgments corrects.
    error = np.average(own - judged, weights=weights[:12])
    assert found.mean == pytest.approx(scores.mean() + error)
    # The jackknife over samples.
    without = [
        np.delete(scores, at).mean()
        + np.average(
            np.delete(own, at) - np.delete(judged, at), weights=np.delete(weights[:12], at)
        )
        if at < 12
        else np.delete(scores, at).mean() + error
        for at in range(30)
    ]
    variance = 29 / 30 * ((np.array(without) - found.mean) ** 2).sum()
    effective = weights[:12].sum() ** 2 / (weights[:12] ** 2).sum()
    half = stats.t.ppf(0.975, effective - 1) * variance**0.5
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half))
    # The scale of weights does not matter; equal ones change nothing.
    assert prediction_powered(
        scores, labels, weights=weights / 7, bounds=UNBOUNDED
    ).high == pytest.approx(found.high)
    same = prediction_powered(scores, labels, weights=np.full(30, 3.0))
    assert same == prediction_powered(scores, labels)


def test_the_weighted_error_rates_are_those_of_repeated_labels() -> None:
    verdicts, labels = samples((4, 1, 2, 3), 20, 10)
    weights = np.where(verdicts == 1, 2.0, 1.0)
    # Labels twice where the judge passes, but no other sample.
    found = rogan_gladen(verdicts, labels, weights=weights)
    sensitivity, specificity = 8 / 10, 3 / 5
    share = verdicts.mean()
    youden = sensitivity + specificity - 1
    assert found.mean == pytest.approx((share + specificity - 1) / youden)


@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("design", DRAWS)
def test_estimates_hold_however_labels_are_drawn(design: str, people: str) -> None:
    generator = np.random.default_rng(13)
    error, raters = (0.0, 1) if people == "one" else (0.15, 2)
    truth = 0.65 * (1 - error) + 0.35 * error
    hits, bias = np.zeros(2), np.zeros(2)
    trials = 150
    for _ in range(trials):
        answers = answer(generator, 500, error)
        drawn = draw(generator, design, answers)
        verdicts, label = answers.verdicts, answers.votes[:, :raters].mean(axis=1)
        if "low" in people:
            verdicts, label = 1 - verdicts, 1 - label
        target = 1 - truth if "low" in people else truth
        labels = np.where(drawn.now, label, np.nan)
        for at, found in enumerate(
            (
                rogan_gladen(verdicts, labels, weights=drawn.weights),
                prediction_powered(verdicts, labels, weights=drawn.weights),
            )
        ):
            assert found.mean is not None
            assert found.low is not None
            assert found.high is not None
            hits[at] += found.low <= target <= found.high
            bias[at] += (found.mean - target) / trials
    assert (hits / trials >= 0.92).all()
    assert (np.abs(bias) < 0.03).all()
