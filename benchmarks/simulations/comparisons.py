"""Comparisons: error rates under symmetry and skewness, intervals, power and plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.arrays import LEVEL, SEED
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.power import (
    POWER,
    clusters_needed,
    detectable_difference,
    spread_ratio,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluators.statistics.arrays import Floats, Integers

UNIT = (0.0, 1.0)
UNBOUNDED = (-np.inf, np.inf)
CATASTROPHES = "skewed: 1 % lose 0.495, others gain 0.005"
PASSES = "passes and failures, 20 % differ"


def tables(repeats: int) -> Iterator[Table]:
    """Yield verdicts of equal systems, intervals, and the power of comparisons."""
    yield _false_alarms(repeats)
    yield _family(max(1, repeats // 4))
    yield _intervals(repeats)
    yield _power(repeats)
    yield _pilots(max(1, repeats // 4))


def _false_alarms(repeats: int) -> Table:
    """Equal systems: how often a verdict is better or worse, also by sign flips and by t."""
    rows = []
    for name, questions, bounds in (
        ("normal", 10, UNBOUNDED),
        ("normal", 100, UNBOUNDED),
        ("skewed: exponential", 10, UNBOUNDED),
        ("skewed: lognormal", 30, UNBOUNDED),
        ("skewed: exp(1.5 z)", 40, UNBOUNDED),
        ("skewed: exp(1.5 z)", 400, UNBOUNDED),
        (CATASTROPHES, 30, UNIT),
        (CATASTROPHES, 100, UNIT),
        (CATASTROPHES, 500, UNIT),
        ("one of 30 differs ten times as much", 30, UNBOUNDED),
        ("uniform", 30, UNIT),
        (PASSES, 30, UNIT),
        ("clusters of 1 to 9", 100, UNIT),
    ):
        drawn = _draw(name, questions, repeats)
        codes = np.arange(questions) if name != "clusters of 1 to 9" else _clusters(questions)
        level = 0.5 if bounds == UNIT else 0.0
        passes = name == PASSES
        values = (
            np.hstack([np.maximum(drawn, 0.0), np.maximum(-drawn, 0.0)])
            if passes
            else np.hstack([level + drawn, np.full_like(drawn, level)])
        )
        pairs = np.stack([np.arange(repeats), repeats + np.arange(repeats)], axis=1)
        found = compare(
            values,
            Groups(codes),
            pairs,
            best="high",
            pass_fail=passes,
            bounds=bounds,
            families=repeats,
        )
        wrong = sum(verdict in ("better", "worse") for verdict in found.verdict)
        sums: Floats = np.stack(
            [np.bincount(codes, each) for each in drawn.T], axis=1, dtype=np.float64
        )
        by_t = int((np.abs(sums.mean(axis=0)) > _t_limit(sums)).sum())
        rows.append(
            [
                name,
                str(questions),
                f"{_sign_flips(sums[:, : repeats // 4]):.3f}",
                f"{by_t / repeats:.3f}",
                rate(wrong, repeats),
            ]
        )
    return Table(
        f"Equal systems: better or worse, target at most 0.05 ({repeats:,} pairs)",
        ["differences", "questions", "sign flips (before)", "Student's t", "now"],
        rows,
    )


def _draw(name: str, questions: int, trials: int) -> Floats:
    """Draw differences with a mean of 0: shape (questions, trials)."""
    generator = np.random.default_rng(SEED)
    shape = (questions, trials)
    z = generator.normal(size=shape)
    if name == "clusters of 1 to 9":
        shared = generator.normal(size=shape)[_clusters(questions)]
        return np.clip(0.1 * (z + shared), -0.5, 0.5)
    if name.startswith("one"):
        z[0] *= 10
    drawn: dict[str, Callable[[], Floats]] = {
        "skewed: exponential": lambda: generator.exponential(size=shape) - 1,
        "skewed: lognormal": lambda: np.exp(z) - np.exp(0.5),
        "skewed: exp(1.5 z)": lambda: np.exp(1.5 * z) - np.exp(1.125),
        # No two differences are equal: an interval of Student's is short.
        CATASTROPHES: lambda: np.where(generator.random(shape) < 0.01, -0.495, 0.005) + 1e-4 * z,
        "uniform": lambda: generator.uniform(-0.3, 0.3, shape),
        PASSES: lambda: generator.choice([-1.0, 0.0, 1.0], p=[0.1, 0.8, 0.1], size=shape),
    }
    return drawn.get(name, lambda: z)()


def _clusters(questions: int) -> Integers:
    sizes = np.arange(1, 10)
    return np.repeat(np.arange(questions), np.resize(sizes, questions))[:questions]


def _t_limit(sums: Floats) -> Floats:
    from scipy.stats import t

    n = len(sums)
    limit: Floats = t.ppf(1 - LEVEL / 2, n - 1) * sums.std(axis=0, ddof=1) / n**0.5
    return limit


def _sign_flips(sums: Floats) -> float:
    """Return how often 2,000 random sign patterns give p <= 0.05."""
    generator = np.random.default_rng(SEED)
    flips = generator.choice((-1.0, 1.0), (2_000, len(sums)))
    reached = np.abs(flips @ sums) >= np.abs(sums.sum(axis=0)) * (1 - 1e-9)
    return float((((1 + reached.sum(axis=0)) / 2_001) <= LEVEL).mean())


def _family(repeats: int) -> Table:
    """Equal systems: how often any pair is called different."""
    rows = []
    for systems, questions, passes in ((5, 30, False), (10, 30, True), (10, 100, False)):
        generator = np.random.default_rng(SEED)
        wrong = 0
        for _ in range(repeats):
            level = generator.random((questions, 1))
            values = np.clip(level + generator.normal(0, 0.2, (questions, systems)), 0, 1)
            if passes:
                values = (values > 0.5).astype(np.float64)
            found = compare(
                values, Groups(), every_pair(systems), best="high", pass_fail=passes, bounds=UNIT
            )
            wrong += any(verdict in ("better", "worse") for verdict in found.verdict)
        kind = "pass/fail" if passes else "continuous"
        rows.append([str(systems), str(questions), kind, rate(wrong, repeats)])
    return Table(
        f"Equal systems: any verdict better or worse, target at most 0.05 ({repeats:,} benchmarks)",
        ["systems", "questions", "metric", "any verdict"],
        rows,
    )


def _intervals(repeats: int) -> Table:
    """How often the interval of a difference holds the truth, and stays within the scale."""
    rows = []
    for name, questions, before in (
        ("equal in 90 % of questions", 6, "none if all are equal"),
        ("equal in 90 % of questions", 30, "none if all are equal"),
        ("phi, -1 to 1", 3, "ends at -2.63 and 3.73"),
        ("phi, -1 to 1", 10, ""),
        ("phi, -1 to 1", 50, ""),
    ):
        generator = np.random.default_rng(SEED)
        shape = (questions, repeats)
        if name.startswith("phi"):
            bounds, truth = (-1.0, 1.0), 0.0
            a, b = 2 * generator.beta(0.7, 0.4, (2, *shape)) - 1
        else:
            bounds, truth = UNIT, 0.1 * 0.5
            a = np.full(shape, 0.5)
            b = np.where(generator.random(shape) < 0.1, 0.0, 0.5)
        pairs = np.stack([np.arange(repeats), repeats + np.arange(repeats)], axis=1)
        found = compare(
            np.hstack([a, b]), Groups(), pairs, best="high", pass_fail=False, bounds=bounds
        )
        covered = int(((found.low <= truth) & (truth <= found.high)).sum())
        width = bounds[1] - bounds[0]
        inside = int(((found.low >= -width) & (found.high <= width)).sum())
        rows.append([name, str(questions), before, rate(covered, repeats), rate(inside, repeats)])
    return Table(
        f"Intervals of differences ({repeats:,} pairs)",
        ["differences", "questions", "before", "hold the truth", "within the scale"],
        rows,
    )


def _power(repeats: int) -> Table:
    """The share of comparisons that find a true difference of the detectable size."""
    rows = []
    for questions, systems, spread in (
        (20, 2, 0.2),
        (30, 2, 0.2),
        (100, 2, 0.2),
        (400, 2, 0.2),
        (1_000, 2, 0.2),
        (100, 2, 0.05),
        (100, 10, 0.2),
        (400, 10, 0.2),
    ):
        tests = systems * (systems - 1) // 2
        effect = _detectable(questions, tests, spread)
        by_t = _detected_by_t(questions, tests) * spread
        rows.append(
            [
                str(systems),
                str(questions),
                f"{spread:g}",
                f"{by_t:.3f}",
                f"{effect:.3f}",
                *(
                    rate(_hits(questions, tests, spread, each, repeats), repeats)
                    for each in (by_t, effect)
                ),
            ]
        )
    return Table(
        f"Detectable differences on a scale from 0 to 1, and the power ({repeats:,} pairs, normal "
        "differences)",
        [
            *("systems", "questions", "spread", "detectable by t", "detectable now"),
            *("power now at that by t", "power now, target 0.8"),
        ],
        rows,
    )


def _hits(questions: int, tests: int, spread: float, effect: float, repeats: int) -> int:
    """Return how many comparisons are significant at the smallest step of Holm's adjustment."""
    generator = np.random.default_rng(SEED)
    differences = generator.normal(effect, spread, (questions, repeats)).clip(-0.5, 0.5)
    values = 0.5 + np.hstack([differences, np.zeros_like(differences)])
    pairs = np.stack([np.arange(repeats), repeats + np.arange(repeats)], axis=1)
    found = compare(values, Groups(), pairs, best="high", pass_fail=False, bounds=UNIT)
    return int((found.p_value * tests < LEVEL).sum())


def _detected_by_t(questions: int, tests: int) -> float:
    """Return the difference that Student's t detects with a power of 80 %, in spreads."""
    from scipy.stats import t

    quantiles = t.ppf([1 - LEVEL / 2 / tests, POWER], questions - 1)
    return float(quantiles.sum() / questions**0.5)


def _detectable(questions: int, tests: int, spread: float) -> float:
    given = (spread * questions**-0.5, questions, questions - 1.0, 1.0)
    return float(detectable_difference(*(np.array([each]) for each in given), tests=tests)[0])


def _pilots(repeats: int) -> Table:
    """How often the range of needed questions from a pilot holds the true number."""
    rows = []
    difference, spread = 0.05, 0.2
    truth = _needed(np.array([spread]), 10**6, difference)[0]
    for pilot in (8, 20, 50, 200):
        generator = np.random.default_rng(SEED)
        seen = generator.normal(0, spread, (pilot, repeats)).std(axis=0, ddof=1)
        degrees = np.full(repeats, pilot - 1.0)
        low, high = (
            _needed(seen / spread_ratio(degrees, quantile), pilot, difference)
            for quantile in (0.975, 0.025)
        )
        needed = _needed(seen, pilot, difference)
        powers = np.array([_power_of(int(n), spread, difference) for n in needed])
        rows.append(
            [
                str(pilot),
                f"{np.median(low):,.0f} to {np.median(high):,.0f}",
                rate(int(((low <= truth) & (truth <= high)).sum()), repeats),
                f"{float((powers < 0.5).mean()):.2f}",
            ]
        )
    return Table(
        f"Questions for a difference of {difference} with a spread of {spread}, planned from a "
        f"pilot ({truth:,} are needed; {repeats:,} pilots)",
        [
            "pilot",
            "median range",
            "ranges that hold the number",
            "power below 0.5 without the range",
        ],
        rows,
    )


def _needed(spread: Floats, pilot: int, difference: float) -> Integers:
    count = len(spread)
    return clusters_needed(
        difference,
        spread * pilot**-0.5,
        np.full(count, pilot),
        np.full(count, pilot - 1.0),
        np.ones(count),
        tests=1,
    )


def _power_of(questions: int, spread: float, difference: float) -> float:
    """Return the power of a comparison, by the normal approximation of its test."""
    from scipy.stats import norm

    n = questions
    z = norm.isf(LEVEL / 2)
    limit = (1 + z * np.sqrt(n * (spread**2 + difference**2) + 1)) / n
    return float(norm.sf((limit - difference) / (spread / n**0.5)))
