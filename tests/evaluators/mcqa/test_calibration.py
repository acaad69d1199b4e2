"""Calibration of option confidence: bins, log loss, and scikit-learn as the oracle."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from assets.leaderboard.metric_slice import PartValues
from assets.leaderboard.score_matrix import QuestionIndex, QuestionSet
from evaluators.catalog import build
from evaluators.components.options.calibration import calibration_error, chance_levels
from evaluators.errors import BadParameters
from evaluators.library.mcqa.option_confidence import OptionConfidence
from evaluators.outcome import Undefined
from evaluators.scoring import aggregate, aggregate_unpacked, unpack_evidence
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.intervals import uncertainty
from evaluators.statistics.jackknife import pseudo_values
from tests.support.golden_cases import golden
from tests.support.samples import rows_to_fold, samples
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = OptionConfidence()
GOLDEN = golden("mcqa")
NO_CLUSTERS = QuestionIndex(np.array([], dtype=np.uint64), np.array([], dtype=np.uint64))
MCE_DEBIASED = "maximum_calibration_error_debiased"


def logs(*probabilities: float) -> list[float]:
    return [math.log(p) for p in probabilities]


def rows_of(confidence: Sequence[float], correct: Sequence[float]) -> pl.DataFrame:
    """Samples as `aggregate` takes them, of answers with option mass 1."""
    detail = [
        json.dumps({"chosen": 0, "confidence": value, "tied": False, "top": value, "outside": 0})
        for value in confidence
    ]
    right = [float(value) for value in correct]
    losses = ("negative_log_likelihood", "negative_log_likelihood_unnormalized")
    return pl.DataFrame(
        {
            **dict.fromkeys(("accuracy", "phi"), right),
            **dict.fromkeys(losses, [1.0] * len(detail)),
            "status": ["scored"] * len(detail),
            "failed": [False] * len(detail),
            "detail": detail,
        }
    )


def calibration(
    confidence: Sequence[float], correct: Sequence[float], bins: int = 15
) -> dict[str, Any]:
    return dict(aggregate(OptionConfidence(bins=bins), rows_of(confidence, correct)).scores)


@pytest.mark.parametrize("case", GOLDEN["calibration_cases"], ids=lambda case: case["note"])
@pytest.mark.parametrize("bins", [10, 15])
def test_golden_calibration(case: dict[str, Any], bins: int) -> None:
    found = calibration(**case["input"], bins=bins)
    expected = case["expected"]
    assert found["expected_calibration_error"] == pytest.approx(expected[f"ece_{bins}"], abs=1e-9)
    assert found["maximum_calibration_error"] == pytest.approx(expected[f"mce_{bins}"], abs=1e-9)


def test_the_silent_and_the_failed_are_certain_and_wrong() -> None:
    answered = [
        {"choice_logprobs": logs(0.9, 0.1), "correct_choice": 0},
        {"choice_logprobs": logs(0.1, 0.9), "correct_choice": 0},
    ]
    silent = [
        {"choice_logprobs": [], "correct_choice": 0},
        {"choice_logprobs": [None, None], "correct_choice": 0},
        {"choice_logprobs": [-0.1, -3.0], "correct_choice": 0, "error": "timeout"},
    ]
    unknown = {"choice_logprobs": [-0.1, -3.0]}
    rows = rows_to_fold(CONFIDENCE, samples([*answered, *silent, unknown]))
    found = aggregate(CONFIDENCE, rows)
    loss = (-(math.log(0.9) + math.log(0.1)) - 3 * math.log(1e-12)) / 5
    ece = (2 * 0.4 + 3) / 5
    chance = found.chance["expected_calibration_error"].level
    # Of two stated 0.9, one is right on average in 18 of 100 draws, both in 81.
    assert chance == pytest.approx(2 / 5 * (0.81 * 0.1 + 0.18 * 0.4 + 0.01 * 0.9), abs=0.01)
    others = {MCE_DEBIASED, "order_spread"}
    assert {name: value for name, value in found.scores.items() if name not in others} == {
        "expected_calibration_error": pytest.approx(ece),
        "maximum_calibration_error": 1.0,
        "log_loss": pytest.approx(loss),
        "expected_calibration_error_debiased": pytest.approx(ece - chance),
        # The option mass is 1, except where no option has any: the bin of 0.9 is 0.4 off.
        "expected_calibration_error_unnormalized": pytest.approx(ece),
        "log_loss_unnormalized": pytest.approx(loss),
    }
    assert isinstance(found.scores[MCE_DEBIASED], Undefined)


def test_log_loss_counts_a_right_option_of_probability_nought() -> None:
    rows = [{"choice_logprobs": [0.0, None], "correct_choice": right} for right in (0, 1)]
    found = aggregate(CONFIDENCE, rows_to_fold(CONFIDENCE, samples(rows))).scores
    assert found["log_loss"] == pytest.approx(-math.log(1e-12) / 2)


def test_nothing_to_calibrate() -> None:
    frame = samples([{"choice_logprobs": [None], "correct_choice": 0}])
    found = aggregate(CONFIDENCE, rows_to_fold(CONFIDENCE, frame)).scores
    assert {type(value) for value in found.values()} == {Undefined}


def test_bins_are_checked() -> None:
    assert build("option_confidence", {"bins": 10}) == OptionConfidence(bins=10)
    with pytest.raises(BadParameters, match="at least one bin, got 0"):
        build("option_confidence", {"bins": 0})


@pytest.mark.parametrize("seed", range(5))
def test_scikit_learn_agrees(seed: int) -> None:
    from sklearn.metrics import brier_score_loss, log_loss

    random = np.random.default_rng(seed)
    options = int(random.integers(2, 7))
    shares = random.dirichlet([0.6] * options, 300) + 1e-9
    shares /= shares.sum(axis=1, keepdims=True)
    mass = random.uniform(1e-6, 1, 300)
    right = random.integers(0, options, 300)
    frame = samples(
        [
            {"choice_logprobs": np.log(row * total).tolist(), "correct_choice": int(position)}
            for row, total, position in zip(shares, mass, right, strict=True)
        ],
        CONFIDENCE.columns,
    )
    rows = rows_to_fold(CONFIDENCE, frame)
    labels = list(range(options))
    loss = log_loss(right, shares, labels=labels)
    assert aggregate(CONFIDENCE, rows).scores["log_loss"] == pytest.approx(loss, rel=1e-9)
    assert rows["negative_log_likelihood"].mean() == pytest.approx(loss, rel=1e-9)
    brier = brier_score_loss(right, shares, labels=labels, scale_by_half=False)
    assert rows["brier"].mean() == pytest.approx(brier, rel=1e-9)
    assert rows["option_mass"].to_list() == pytest.approx(mass.tolist(), rel=1e-9)
    assert rows["accuracy"].to_list() == (shares.argmax(axis=1) == right).tolist()


def test_chance_level_is_the_mean_of_calibrated_systems() -> None:
    generator = np.random.default_rng(3)
    confidence = generator.uniform(0.25, 1, 100)
    drawn = [
        calibration_error(confidence, generator.random(100) < confidence, 15) for _ in range(4_000)
    ]
    for chance, errors in zip(chance_levels(confidence, 15), zip(*drawn, strict=True), strict=True):
        # 200 draws know the mean to a fourteenth of their spread.
        assert chance.level == pytest.approx(np.mean(errors), abs=4 * np.std(errors) / 14)
        assert np.mean(np.array(errors) > chance.high) == pytest.approx(0.025, abs=0.03)


def test_chance_level_does_not_depend_on_the_order() -> None:
    confidence = np.random.default_rng(4).uniform(0.25, 1, 50)
    assert chance_levels(confidence, 15) == chance_levels(confidence[::-1].copy(), 15)


def test_one_stated_probability_has_the_chance_level_of_a_binomial() -> None:
    from scipy.stats import binom

    n, p = 40, 0.8
    expected = binom(n, p).expect(lambda right: abs(right / n - p))
    level, largest = chance_levels(np.full(n, p), 15)
    assert level.level == pytest.approx(expected, abs=0.01)
    assert largest == level


@pytest.mark.parametrize("seed", range(3))
def test_failing_raises_every_calibration_error(seed: int) -> None:
    generator = np.random.default_rng(seed)
    confidence = generator.uniform(0.25, 1, 60)
    right = generator.random(60) < confidence - 0.1
    whole = calibration_error(confidence, right, 15)
    for count in (1, 5, 30):
        kept = np.delete(np.arange(60), generator.choice(60, count, replace=False))
        failing = calibration_error(confidence[kept], right[kept], 15, failed=count)
        assert failing.expected >= whole.expected - 1e-12
        assert failing.maximum == 1.0 >= whole.maximum


def test_the_debiased_error_is_the_excess_over_chance() -> None:
    generator = np.random.default_rng(5)
    confidence = generator.uniform(0.5, 1, 200)
    found = aggregate(CONFIDENCE, rows_of(confidence, generator.random(200) < confidence))
    for name in ("expected_calibration_error", "maximum_calibration_error"):
        raw, level = found.scores[name], found.chance[name].level
        assert isinstance(raw, float)
        assert found.scores[f"{name}_debiased"] == pytest.approx(raw - level)


@takes_minutes
def test_the_interval_of_a_calibrated_system_contains_0() -> None:
    """In the source's estimate it rarely does: noise alone moves the error away from 0."""
    covered = {"expected_calibration_error": 0, "expected_calibration_error_debiased": 0}
    for seed in range(20):
        generator = np.random.default_rng(seed)
        confidence = generator.uniform(0.5, 1, 60)
        packed = rows_of(confidence, generator.random(60) < confidence)
        rows = unpack_evidence(CONFIDENCE, packed)
        graded = aggregate_unpacked(CONFIDENCE, rows)
        pseudo = pseudo_values(CONFIDENCE, rows, np.arange(60), graded)
        for name in covered:
            part = PartValues(
                pseudo[name],
                np.ones(60),
                QuestionSet(np.arange(60, dtype=np.uint64), NO_CLUSTERS),
                graded.chance["expected_calibration_error"],
                is_debiased=name.endswith("debiased"),
            )
            data = sum_by_cluster(part.values[:, None], Groups())
            ends = uncertainty(data, pass_fail=np.array([False]), bounds=(-1.0, 1.0)).interval
            low, high = (float(end[0]) for end in part.cover_noise(ends))
            value = graded.scores[name]
            assert isinstance(value, float)
            assert low <= value <= high
            covered[name] += low <= 0 <= high
    assert min(covered.values()) >= 18
