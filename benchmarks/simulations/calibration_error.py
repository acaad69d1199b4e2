"""Calibration errors: what noise gives a perfectly calibrated system, and whether intervals hold.

A system states a confidence and is right with a probability that is the confidence less a
constant, its calibration error. The truth is the error of the same bins with infinitely many
samples in each; it is 0 for a calibrated system.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import PartValues
from assets.leaderboard.score_matrix import QuestionIndex, QuestionSet
from benchmarks.simulations.result import Table, rate
from evaluators import catalog, scoring
from evaluators.components.options.calibration import calibration_error, chance_levels
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.comparisons import compare
from evaluators.statistics.intervals import uncertainty
from evaluators.statistics.jackknife import assign_parts, pseudo_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.outcome import Graded
    from evaluators.statistics.arrays import Booleans, Floats

BINS = 15
SHARE = 20
"""The simulations per row are the repeats divided by this: each takes up to 200 leave-outs."""

EVALUATOR = catalog.build("option_confidence")
NAMES = ("expected_calibration_error", "maximum_calibration_error")
NO_CLUSTERS = QuestionIndex(np.array([], dtype=np.uint64), np.array([], dtype=np.uint64))
SAMPLES = (50, 100, 500)
OFFSETS = (0.0, 0.05, 0.2)


class Simulated(NamedTuple):
    """One system: its metrics with the pseudo-values, and the truth of each metric."""

    graded: Graded
    pseudo: dict[str, Floats]
    truths: dict[str, float]


def tables(repeats: int) -> Iterator[Table]:
    """Yield the chance level, the coverage, and the false verdicts between calibrated systems."""
    few = max(20, repeats // SHARE)
    yield _chance_table(repeats)
    yield _coverage_table(few)
    yield _verdict_table(few)


def simulate(generator: np.random.Generator, n: int, offset: float, low: float = 0.5) -> Simulated:
    """Simulate a system whose confidence is uniform above `low` and too high by `offset`."""
    confidence = generator.uniform(low, 1.0, n)
    probability = np.maximum(confidence - offset, 0.0)
    right = generator.random(n) < probability
    rows = scoring.mark_counted(EVALUATOR, samples(confidence, right))
    graded = scoring.aggregate_unpacked(EVALUATOR, rows)
    parts = assign_parts(np.arange(n, dtype=np.uint64))
    # With the true probabilities as outcomes there is no noise.
    truth = calibration_error(confidence, probability, BINS)
    truths = dict(zip(NAMES, truth, strict=True))
    return Simulated(graded, pseudo_values(EVALUATOR, rows, parts, graded), truths)


def samples(confidence: Floats, right: Booleans) -> pl.DataFrame:
    """Return samples with their evidence as columns."""
    return pl.DataFrame(
        {
            "accuracy": right.astype(float),
            "phi": right.astype(float),
            "negative_log_likelihood": 1.0,
            "negative_log_likelihood_unnormalized": 1.0,
            "status": "scored",
            "failed": False,
            "confidence": confidence,
            "top": confidence,
            "outside": 0.0,
        }
    )


def interval(found: Simulated, name: str, *, with_chance: bool) -> tuple[float, float]:
    """Return the interval of a metric, as the leaderboard computes it or without the chance."""
    values = found.pseudo[name]
    data = sum_by_cluster(values[:, None], Groups())
    ends = uncertainty(data, pass_fail=np.array([False]), bounds=(0.0, 1.0)).interval
    if with_chance:
        questions = QuestionSet(np.arange(0, dtype=np.uint64), NO_CLUSTERS)
        part = PartValues(values, np.ones(len(values)), questions, found.graded.chance[name])
        ends = part.cover_noise(ends)
    return max(0.0, float(ends.low[0])), float(ends.high[0])


def _chance_table(repeats: int) -> Table:
    rows = []
    for n in SAMPLES:
        generator = np.random.default_rng(n)
        found = []
        for _ in range(repeats):
            confidence = generator.uniform(0.5, 1.0, n)
            right = generator.random(n) < confidence
            chance = [each.level for each in chance_levels(confidence, BINS)]
            found.append([calibration_error(confidence, right, BINS), chance])
        for at, name in enumerate(("expected", "maximum")):
            values, levels = np.array(found)[:, :, at].T
            means = [
                f"{each.mean():.4f} ± {each.std() / np.sqrt(repeats):.4f}"
                for each in (values, levels, values - levels)
            ]
            rows.append([str(n), name, *means])
    return Table(
        f"Calibration error of a perfectly calibrated system ({repeats:,} simulations; truth 0)",
        ["samples", "error", "mean", "chance level", "debiased"],
        rows,
    )


def _coverage_table(repeats: int) -> Table:
    rows = []
    for n in SAMPLES:
        for offset in OFFSETS:
            generator = np.random.default_rng([n, int(1000 * offset)])
            found = [simulate(generator, n, offset) for _ in range(repeats)]
            for name in NAMES:
                hits = [
                    sum(low <= each.truths[name] <= high for each, (low, high) in zipped)
                    for zipped in (
                        [(each, interval(each, name, with_chance=chance)) for each in found]
                        for chance in (False, True)
                    )
                ]
                excludes = [
                    sum(interval(each, name, with_chance=chance)[0] > 0 for each in found)
                    for chance in (False, True)
                ]
                rows.append(
                    [
                        *(str(n), f"{offset:g}", name.partition("_")[0]),
                        *(rate(hit, repeats) for hit in hits),
                        *(rate(each, repeats) for each in excludes),
                    ]
                )
    return Table(
        f"Intervals of calibration errors ({repeats:,} simulations per row; target 0.95)",
        [
            *("samples", "overconfident by", "error", "coverage before", "coverage now"),
            *("excludes 0 before", "excludes 0 now"),
        ],
        rows,
    )


def _verdict_table(repeats: int) -> Table:
    """Two calibrated systems, one sure and one unsure, whose chance levels differ."""
    metrics = {
        "expected": "expected_calibration_error",
        "expected, debiased": "expected_calibration_error_debiased",
    }
    rows = []
    for n in (50, 200):
        generator = np.random.default_rng(n)
        pairs = [[simulate(generator, n, 0.0, low) for low in (0.5, 0.9)] for _ in range(repeats)]
        for title, name in metrics.items():
            false = 0
            for pair in pairs:
                values = np.stack([each.pseudo[name] for each in pair], axis=1)
                false += _verdict(values) != "tied"
            rows.append([str(n), title, rate(false, repeats)])
    return Table(
        f"False verdicts between two calibrated systems, one stating 0.5 to 1, one 0.9 to 1 "
        f"({repeats:,} simulations; target at most 0.05)",
        ["samples", "error", "better or worse"],
        rows,
    )


@lru_cache(maxsize=1)
def _pair() -> Floats:
    return np.array([[0, 1]])


def _verdict(values: Floats) -> str:
    return compare(values, Groups(), _pair(), best="low", pass_fail=False).verdict[0]
