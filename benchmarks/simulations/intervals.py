"""Coverage of the intervals of means, beside the methods that they replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.intervals import (
    Interval,
    t_interval,
    t_quantile,
    uncertainty,
    wilson,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluators.statistics.arrays import Floats, Integers
    from evaluators.statistics.clusters import ClusterSums

    Sample = Callable[[np.random.Generator, tuple[int, int]], Floats]

UNIT = (0.0, 1.0)
DRAWS = 1_000


class Scale(NamedTuple):
    """Made-up numbers with a known mean."""

    name: str
    sample: Sample
    mean: float
    bounds: tuple[float, float]


def _partly_wrong(draw: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Return scores such as F1: 0.6 are 1, 0.15 are 0, the others are quarters."""
    kind = draw.random(shape)
    quarters = draw.integers(0, 5, size=shape) / 4
    return np.where(kind < 0.6, 1.0, np.where(kind < 0.75, 0.0, quarters))


SCALES = (
    Scale("normal", lambda draw, shape: draw.normal(0, 1, shape), 0.0, (-np.inf, np.inf)),
    Scale("like F1", _partly_wrong, 0.725, UNIT),
    Scale("near 1 (beta 9.5, 0.5)", lambda draw, shape: draw.beta(9.5, 0.5, shape), 0.95, UNIT),
    Scale("exponential", lambda draw, shape: draw.exponential(1, shape), 1.0, (0.0, np.inf)),
    Scale("lognormal", lambda draw, shape: draw.lognormal(0, 1, shape), np.exp(0.5), (0.0, np.inf)),
)

SIZES = {
    "10 of 23": np.full(10, 23),
    "10 of 1 to 45": np.linspace(1, 45, 10).round().astype(np.int64),
    "19 of 4, 1 of 60": np.r_[60, np.full(19, 4)],
    "100 of 1 to 100, most small": np.maximum(1, (100 / np.arange(1, 101)).round()).astype(int),
}
"""The clusters of questions, by what they are called in the table."""


def tables(repeats: int) -> Iterator[Table]:
    """Yield the coverage of 95 % intervals of means."""
    yield _few(repeats)
    yield _two_values(repeats)
    yield _pass_fail()
    yield _rare(repeats)
    yield _skewed(repeats)
    yield _unequal_clusters(repeats)


def _few(repeats: int) -> Table:
    rows = []
    for n in (2, 3, 5, 7):
        values = np.random.default_rng(n).normal(0.6, 0.1, size=(n, repeats)).clip(0, 1)
        data = sum_by_cluster(values, Groups())
        before = _percentiles(data, UNIT)
        rows.append([str(n), *(_covers(each, 0.6) for each in (before, _now(data, UNIT)))])
    return Table(
        f"Very few scores between 0 and 1: coverage (target 0.95; {repeats:,} repeats)",
        ["questions", "bootstrap percentiles (before)", "t, clipped"],
        rows,
    )


def _two_values(repeats: int) -> Table:
    """Scores that are near 0 or near 1: few of them may all be on one side."""
    rows = []
    for share in (0.5, 0.7, 0.9):
        cells = []
        for n in (2, 3, 4, 5, 7, 10):
            draw = np.random.default_rng(n)
            high = draw.random((n, repeats)) < share
            values = np.where(high, 0.95, 0.05) + draw.uniform(-0.05, 0.05, size=high.shape)
            mean = 0.05 + 0.9 * share
            cells.append(_covers(_now(sum_by_cluster(values, Groups()), UNIT), mean))
        rows.append([f"{share:g}", *cells])
    return Table(
        "Scores near 0 and near 1: coverage by the number of questions (target 0.95; "
        f"{repeats:,} repeats)",
        ["share near 1", *map(str, (2, 3, 4, 5, 7, 10))],
        rows,
    )


def _pass_fail() -> Table:
    """Return the exact coverage of intervals of pass rates, from the binomial distribution."""
    from scipy.stats import beta, binom

    rows = []
    for share in (0.5, 0.8, 0.9, 0.95, 0.98, 0.99):
        for name in ("wilson", "exact"):
            cells = []
            for n in (5, 10, 20, 50, 200, 1000):
                passes = np.arange(n + 1.0)
                if name == "wilson":
                    low, high = wilson(passes, np.full(n + 1, float(n)))
                else:
                    low = np.nan_to_num(beta.ppf(0.025, passes, n - passes + 1), nan=0.0)
                    high = np.nan_to_num(beta.ppf(0.975, passes + 1, n - passes), nan=1.0)
                covers = (low <= share) & (share <= high)
                cells.append(f"{binom.pmf(passes[covers], n, share).sum():.3f}")
            rows.append([f"{share:g}", name, *cells])
    return Table(
        "Pass rates: exact coverage by the number of questions (target 0.95)",
        ["pass rate", "interval", *map(str, (5, 10, 20, 50, 200, 1000))],
        rows,
    )


def _rare(repeats: int) -> Table:
    """Scores near 0.9 of which a few are 0."""
    rows = []
    for share in (0.01, 0.02, 0.05):
        cells = []
        for n in (10, 30, 50, 100, 200, 1000):
            draw = np.random.default_rng(n)
            fails = draw.random((n, repeats)) < share
            values = np.where(fails, 0.0, draw.uniform(0.85, 0.95, size=fails.shape))
            cells.append(_covers(_now(sum_by_cluster(values, Groups()), UNIT), 0.9 * (1 - share)))
        rows.append([f"{share:g}", *cells])
    return Table(
        "Scores from 0.85 to 0.95, of which some are 0: coverage by the number of questions "
        f"(target 0.95; {repeats:,} repeats)",
        ["share of zeros", *map(str, (10, 30, 50, 100, 200, 1000))],
        rows,
    )


def _skewed(repeats: int) -> Table:
    rows = []
    for scale in SCALES:
        for n in (10, 30, 100):
            values = scale.sample(np.random.default_rng(n), (n, repeats))
            data = sum_by_cluster(values, Groups())
            intervals = [
                _percentiles(data, scale.bounds),
                _clip(t_interval(data.means, data.std_errors, data.degrees_of_freedom), scale),
                _now(data, scale.bounds),
            ]
            covered = [_covers(each, scale.mean) for each in intervals]
            widths = [f"{np.median(high - low):.3g}" for low, high in intervals]
            rows.append([scale.name, str(n), *covered, " / ".join(widths)])
    return Table(
        f"Skewed scores: coverage (target 0.95) and median width of the three methods "
        f"({repeats:,} repeats)",
        ["scores", "questions", "bootstrap percentiles (before)", "t", "skew-adjusted t", "widths"],
        rows,
    )


def _unequal_clusters(repeats: int) -> Table:
    rows = []
    for name, sizes in SIZES.items():
        for passes in (True, False):
            values, codes = _clustered(sizes, repeats, passes=passes)
            data = sum_by_cluster(values, Groups(codes))
            before = _former_wilson(data) if passes else _percentiles(data, UNIT)
            now = _now(data, UNIT, passes=passes)
            rows.append(
                [
                    name,
                    f"{data.effective_clusters[0]:.1f}",
                    "pass/fail" if passes else "continuous",
                    _covers(before, 0.7),
                    _covers(now, 0.7),
                ]
            )
    return Table(
        "Clusters of different sizes, with a correlation of 0.3 within pass/fail clusters: "
        f"coverage (target 0.95; {repeats:,} repeats)",
        ["clusters", "effective", "scores", "before", "now"],
        rows,
    )


def _clustered(sizes: Integers, repeats: int, *, passes: bool) -> tuple[Floats, Integers]:
    """Return scores with the mean 0.7 of questions that share the level of their cluster."""
    draw = np.random.default_rng(len(sizes))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    level = draw.beta(1.6333, 0.7, size=(len(sizes), repeats))[codes].clip(0.001, 0.999)
    if passes:
        return (draw.random(level.shape) < level).astype(np.float64), codes
    return draw.beta(4 * level, 4 * (1 - level)), codes


def _now(data: ClusterSums, bounds: tuple[float, float], *, passes: bool = False) -> Interval:
    pass_fail = np.full(len(data.means), passes)
    return uncertainty(data, pass_fail=pass_fail, bounds=bounds).interval


def _percentiles(data: ClusterSums, bounds: tuple[float, float]) -> Interval:
    """Return expanded percentiles of the cluster bootstrap (Hesterberg 2015)."""
    from scipy.special import ndtr

    count = len(data.sums)
    draw = np.random.default_rng(1)
    weights = draw.multinomial(count, np.full(count, 1 / count), size=DRAWS).astype(np.float64)
    means = (weights @ data.sums) / (weights @ data.counts)
    wide = np.sqrt(count / (count - 1)) * t_quantile(np.array([count - 1.0]))[0]
    low, high = np.quantile(means, [ndtr(-wide), ndtr(wide)], axis=0)
    return Interval(np.maximum(low, bounds[0]), np.minimum(high, bounds[1]))


def _former_wilson(data: ClusterSums) -> Interval:
    """Return Wilson's interval with the errors that were in use before (CR1)."""
    count, n, share = len(data.sums), data.n, data.means
    squares = ((data.sums - share * data.counts) ** 2).sum(axis=0) * count / (count - 1) / n**2
    effect = np.maximum(1.0, squares * (n - 1) / (share * (1 - share)))
    few = (t_quantile(n - 1.0) / t_quantile(n * 0 + count - 1)) ** 2
    return wilson(data.sums.sum(axis=0), n, n / effect * few)


def _clip(interval: Interval, scale: Scale) -> Interval:
    low, high = scale.bounds
    return Interval(np.maximum(interval.low, low), np.minimum(interval.high, high))


def _covers(interval: Interval, truth: float) -> str:
    covered = (interval.low <= truth) & (truth <= interval.high)
    return rate(int(covered.sum()), len(covered))
