"""Calibration of option confidence: bins, log loss, and scikit-learn as the oracle."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from evaluators.library.mcqa.option_confidence import OptionConfidence
from evaluators.outcome import Undefined
from evaluators.scoring import aggregate
from tests.golden_cases import golden
from tests.samples import rows_to_fold, samples

if TYPE_CHECKING:
    from collections.abc import Sequence

CONFIDENCE = OptionConfidence()
GOLDEN = golden("mcqa")


def logs(*probabilities: float) -> list[float]:
    return [math.log(p) for p in probabilities]


def calibration(
    confidence: Sequence[float], correct: Sequence[float], bins: int = 15
) -> dict[str, Any]:
    detail = [json.dumps({"chosen": 0, "confidence": value, "tied": False}) for value in confidence]
    frame = pl.DataFrame(
        {
            "accuracy": [float(value) for value in correct],
            "negative_log_likelihood": [1.0] * len(detail),
            "status": ["scored"] * len(detail),
            "detail": detail,
        }
    )
    return dict(aggregate(OptionConfidence(bins=bins), frame).scores)


@pytest.mark.parametrize("case", GOLDEN["calibration_cases"], ids=lambda case: case["note"])
@pytest.mark.parametrize("bins", [10, 15])
def test_golden_calibration(case: dict[str, Any], bins: int) -> None:
    found = calibration(**case["input"], bins=bins)
    expected = case["expected"]
    assert found["expected_calibration_error"] == pytest.approx(expected[f"ece_{bins}"], abs=1e-9)
    assert found["maximum_calibration_error"] == pytest.approx(expected[f"mce_{bins}"], abs=1e-9)


def test_calibration_from_samples_without_the_silent_and_failed() -> None:
    rows = [
        {"choice_logprobs": logs(0.9, 0.1), "correct_choice": 0},
        {"choice_logprobs": logs(0.1, 0.9), "correct_choice": 0},
        {"choice_logprobs": [], "correct_choice": 0},
        {"choice_logprobs": [None, None], "correct_choice": 0},
        {"choice_logprobs": [-0.1, -3.0], "correct_choice": 0, "error": "timeout"},
        {"choice_logprobs": [-0.1, -3.0]},
    ]
    found = aggregate(CONFIDENCE, rows_to_fold(CONFIDENCE, samples(rows))).scores
    assert found == {
        "expected_calibration_error": pytest.approx(0.4),
        "maximum_calibration_error": pytest.approx(0.4),
        "log_loss": pytest.approx(-(math.log(0.9) + math.log(0.1)) / 2),
    }


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
