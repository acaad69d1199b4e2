"""Calibration error: the distance of stated confidence from accuracy, and its chance level."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.outcome import Chance
from evaluators.statistics.arrays import CONFIDENCE, SEED

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Booleans, Floats, Integers

DRAWS = 200
"""The sets of labels that are drawn for the chance level."""

_EDGE = 1e-12
_CHUNK = 4_000_000


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
