"""Calibration error: the distance of stated confidence from accuracy, and its chance level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.metric import Metric
from evaluators.outcome import Chance
from evaluators.statistics.arrays import CONFIDENCE, SEED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from evaluators.outcome import Scores
    from evaluators.statistics.arrays import Booleans, Floats, Integers

DRAWS = 200
"""The sets of labels that are drawn for the chance level."""

_EDGE = 1e-12
_CHUNK = 4_000_000

CALIBRATION = (
    Metric(
        name="expected_calibration_error",
        summary="Mean distance of confidence from accuracy over bins of confidence.",
        best="low",
        level="system",
    ),
    Metric(
        name="maximum_calibration_error",
        summary="Largest distance of confidence from accuracy in a bin of confidence.",
        best="low",
        level="system",
    ),
)
CALIBRATION_DEBIASED = (
    Metric(
        name="expected_calibration_error_debiased",
        summary="Expected calibration error less its chance level.",
        best="low",
        bounds=(-1.0, 1.0),
        threshold=None,
        level="system",
        debiases="expected_calibration_error",
    ),
    Metric(
        name="maximum_calibration_error_debiased",
        summary="Maximum calibration error less its chance level.",
        best="low",
        bounds=(-1.0, 1.0),
        threshold=None,
        level="system",
        debiases="maximum_calibration_error",
    ),
)
CALIBRATION_UNNORMALIZED = Metric(
    name="expected_calibration_error_unnormalized",
    summary="Expected calibration error of the probabilities as given; the probability "
    "outside the options counts as a wrong one.",
    best="low",
    threshold=None,
    level="system",
)


def calibration_errors(rows: pl.DataFrame, bins: int) -> Scores:
    """Compare confidence with accuracy; an answer without a probability is the worst.

    Args:
        rows: A system's answers: `accuracy`, `confidence` (null in an answer without a
            probability), `top` and `outside`; at least one of them with a confidence.
        bins: The number of bins.
    """
    known = rows.drop_nulls("confidence")
    normalized = calibration_error(
        known["confidence"].to_numpy(),
        known["accuracy"].to_numpy() == 1,
        bins,
        failed=rows.height - known.height,
    )
    given = rows.drop_nulls("top")
    top, outside = given["top"].to_numpy(), given["outside"].to_numpy()
    unnormalized = calibration_error(
        np.maximum(top, outside),
        (given["accuracy"].to_numpy() == 1) & (top > outside),
        bins,
        failed=rows.height - given.height,
    )
    return {
        "expected_calibration_error": normalized.expected,
        "maximum_calibration_error": normalized.maximum,
        CALIBRATION_UNNORMALIZED.name: unnormalized.expected,
    }


def calibration_chance(rows: pl.DataFrame, bins: int) -> Mapping[str, Chance]:
    """Return the errors of a perfectly calibrated system.

    With failed answers the maximum is 1 by definition, and noise has no part in it.

    Args:
        rows: As for `calibration_errors`.
        bins: The number of bins.
    """
    confidence = rows["confidence"].drop_nulls().to_numpy()
    failed = rows.height - len(confidence)
    expected, maximum = chance_levels(confidence, bins, failed)
    levels = {"expected_calibration_error": expected}
    return levels if failed else {**levels, "maximum_calibration_error": maximum}


class CalibrationError(NamedTuple):
    """The weighted mean and the maximum of the distances over the bins."""

    expected: float
    maximum: float


def calibration_error(
    confidence: Floats, right: Booleans, bins: int, failed: int = 0
) -> CalibrationError:
    """Return the calibration error over bins of equal width, which hold their upper edge.

    A failed answer has the largest possible distance, 1, in a bin of its own: as a member of
    another bin it could cancel the distances of answers there.

    Args:
        confidence: The stated probability of each chosen option, at most 1.
        right: Whether each chosen option is the right one.
        bins: The number of bins.
        failed: The number of failed answers, which have no confidence.

    Source: Guo et al., "On Calibration of Modern Neural Networks", ICML 2017.
    """
    numbers = _bin_numbers(confidence, bins)
    sizes = np.bincount(numbers)
    distances = np.abs(np.bincount(numbers, weights=confidence - right))
    total = len(confidence) + failed
    held = sizes > 0
    largest = 1.0 if failed else float(np.max(distances[held] / sizes[held]))
    return CalibrationError(float((distances.sum() + failed) / total), largest)


def chance_levels(confidence: Floats, bins: int, failed: int = 0) -> tuple[Chance, Chance]:
    """Return the expected and the maximum error that noise gives if every probability is true.

    Labels are drawn from the stated probabilities. The draws depend on the set of probabilities,
    not on their order. Failed answers contribute nothing.

    Args:
        confidence: As for `calibration_error`.
        bins: The number of bins.
        failed: The number of failed answers.

    Source: Bröcker and Smith, "Increasing the reliability of reliability diagrams", 2007.
    """
    ordered = np.sort(confidence)
    numbers = _bin_numbers(ordered, bins)
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    sizes = np.diff(starts, append=len(ordered))
    stated = np.add.reduceat(ordered, starts)
    generator = np.random.default_rng(SEED)
    expected, largest = np.empty(DRAWS), np.empty(DRAWS)
    step = max(1, _CHUNK // len(ordered))
    for start in range(0, DRAWS, step):
        drawn = slice(start, min(start + step, DRAWS))
        labels = generator.random((drawn.stop - start, len(ordered))) < ordered
        right = np.add.reduceat(labels, starts, axis=1, dtype=np.int64)
        distances = np.abs(right - stated)
        expected[drawn] = distances.sum(axis=1) / (len(ordered) + failed)
        largest[drawn] = (distances / sizes).max(axis=1)
    return _chance(expected), _chance(largest)


def _chance(errors: Floats) -> Chance:
    return Chance(float(errors.mean()), float(np.quantile(errors, 0.5 + CONFIDENCE / 2)))


def _bin_numbers(confidence: Floats, bins: int) -> Integers:
    numbers: Integers = np.maximum(np.ceil(confidence * bins - _EDGE), 1).astype(np.int64)
    return numbers
