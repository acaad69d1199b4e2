"""Paired comparisons of systems: the difference, and whether it is significant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.clusters import ClusterSums, Groups, subtract, sum_by_cluster
from evaluators.statistics.holm import holm
from evaluators.statistics.paired_test import MARGIN, least_p, paired_test
from evaluators.statistics.power import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Booleans, Floats, Integers

Best: TypeAlias = Literal["high", "low"]

BETTER, WORSE, TIED, NOT_ENOUGH = "better", "worse", "tied", "not_enough_data"

_ROUNDING = 1e-13
_SAME = 1e-9
"""On a scale without bounds, differences that vary less than this share of them are equal."""

_TINY = 1e-280
"""The squares of the differences of smaller numbers are 0."""

LARGE = 500
"""In a family of more pairs than this, only p-values that may decide are computed for all pairs.

For 100 systems, 200 questions and 29 slices this takes 40 instead of 98 s.
"""

_ULPS = 4
"""How many units in the last place of a mean are only the rounding of its numbers."""
_BLOCK = 4_000_000
"""The most numbers in a block of pairs; this bounds the memory."""


class Outcomes(NamedTuple):
    """What the comparisons of all pairs say; every array has one element per pair.

    Attributes:
        pairs: Shape (pairs, 2): the positions of the two systems.
        n_pairs: The number of questions with numbers of both systems.
        difference: The mean of the first system's numbers minus the second's.
        signs: 1 if the first system is significantly better, -1 if it is worse, otherwise 0.
    """

    pairs: Integers
    n_pairs: Integers
    difference: Floats
    signs: Integers


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Compared pairs of systems; every array but those of `outcomes` has one element per pair.

    Attributes:
        pairs: Shape (pairs, 2): the positions of the two systems.
        n_pairs: The number of questions with numbers of both systems.
        clusters: The number of clusters of these questions.
        difference: The mean of the first system's numbers minus the second's; 0 if it is only
            rounding.
        std_error: The standard error of the difference; 0 without variation, NaN for a single
            cluster.
        degrees: The degrees of freedom of the standard error.
        reach: The largest difference that an unseen question may have; infinite where it is
            unknown.
        unseen: The largest mean difference of an unseen cluster, if it had the mean size.
        low: The lower end of the 95 % interval, which excludes 0 where `p_value` is below 0.05; NaN
            without questions, and on an unbounded scale for a single cluster and for equal
            differences.
        high: The upper end.
        p_value: The p-value of the hypothesis that there is no difference.
        p_adjusted: The p-value after Holm's adjustment for all pairs of the family.
        least_p: The smallest p-value that differences of these clusters could have.
        detectable: The smallest difference that these questions detect with a power of 80 %; NaN
            without variation, and if no outcome could be significant.
        verdict: The verdict on the first system: better, worse, tied, not_enough_data.
        outcomes: The outcomes of all pairs of the families, also of those that are not wanted.
    """

    pairs: Integers
    n_pairs: Integers
    clusters: Integers
    difference: Floats
    std_error: Floats
    degrees: Floats
    reach: Floats
    unseen: Floats
    low: Floats
    high: Floats
    p_value: Floats
    p_adjusted: Floats
    least_p: Floats
    detectable: Floats
    verdict: list[str]
    outcomes: Outcomes


def every_pair(systems: int, families: int = 1) -> Integers:
    """Return all pairs of systems, the earlier one first: shape (pairs, 2).

    Args:
        systems: The number of systems in each family.
        families: The number of families, one after the other.
    """
    pairs = np.stack(np.triu_indices(systems, 1), axis=1).astype(np.int64)
    offsets = systems * np.arange(families)[:, None, None]
    return (pairs + offsets).reshape(-1, 2)


def compare(
    values: Floats,
    groups: Groups,
    pairs: Integers,
    *,
    best: Best,
    pass_fail: Booleans | bool,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    families: int = 1,
    is_wanted: Booleans | None = None,
) -> Comparisons:
    """Compare pairs of systems on the questions for which both have a number.

    One test decides, and the interval is its inversion (see `paired_test`). It holds for skewed
    differences, too, because an unseen cluster may have the worst possible one. On a scale with
    bounds, that is the whole scale. Without bounds, it is the range of the numbers of the two
    systems, or 1.5 times the range of the differences if that is more. Equal differences on such a
    scale have no test.

    A system is better or worse if the adjusted p is significant. There is not enough data if no
    possible answers could give a significant result.

    Args:
        values: Shape (questions, systems); NaN where a number is missing.
        groups: The clusters of the questions.
        pairs: Shape (pairs, 2), as from `every_pair`: the families of Holm's adjustment.
        best: Whether high or low numbers are better.
        pass_fail: Whether every number is 0 or 1, of all systems or by system.
        bounds: The bounds of the numbers. Numbers beyond them (pseudo-values) have none.
        families: The number of families: groups of systems, one after the other, that are compared
            among themselves. Each has the same number of pairs.
        is_wanted: Shape (pairs,): the pairs to return; None: all.
    """
    wanted = np.ones(len(pairs), dtype=np.bool_) if is_wanted is None else np.asarray(is_wanted)
    is_pass_fail = np.broadcast_to(np.asarray(pass_fail), values.shape[1])
    is_passes: Booleans = is_pass_fail[pairs[:, 0]] & is_pass_fail[pairs[:, 1]] & groups.alone
    scale = _Scale.of(values, bounds, is_pass_fail)
    whole = sum_by_cluster(values, groups) if np.isfinite(values).all() else None
    large = families == 1 and len(pairs) > LARGE
    blocks = []
    for block in _blocks(is_passes, len(values)):
        own = pairs[block]
        if whole is None:
            data = sum_by_cluster(subtract(values, own), groups)
        else:
            sums = subtract(whole.sums, own)
            data = ClusterSums(sums, np.broadcast_to(whole.counts[:, :1], sums.shape))
        found = _compare_block(
            data, scale, own, wanted[block], passes=bool(is_passes[block].all()), large=large
        )
        blocks.append((block, found))
    return _conclude(
        _in_order(blocks, len(pairs)),
        values,
        pairs,
        wanted,
        is_passes=is_passes,
        best=best,
        families=families,
    )


class _Scale(NamedTuple):
    """The attainable numbers of each system.

    Attributes:
        low: The smallest number.
        high: The largest number.
        size: The largest absolute value, for the size of rounding errors.
        is_bounded: Whether the metric has two bounds and the numbers lie within them.
    """

    low: Floats
    high: Floats
    size: Floats
    is_bounded: Booleans

    @classmethod
    def of(cls, values: Floats, bounds: tuple[float, float], is_pass_fail: Booleans) -> _Scale:
        """Return the scale of each column; a bound that the metric lacks is the last number."""
        present = np.isfinite(values)
        low = np.where(present, values, np.inf).min(axis=0, initial=np.inf)
        high = np.where(present, values, -np.inf).max(axis=0, initial=-np.inf)
        slack = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        inside = (low >= bounds[0] - slack) & (high <= bounds[1] + slack)
        lowest, highest = (
            np.where(is_pass_fail, number, end if np.isfinite(end) else beyond)
            for number, end, beyond in ((0.0, bounds[0], np.inf), (1.0, bounds[1], -np.inf))
        )
        return cls(
            np.minimum(low, lowest),
            np.maximum(high, highest),
            np.nan_to_num(np.maximum(np.abs(low), np.abs(high)), posinf=0.0),
            is_pass_fail | (inside & bool(np.isfinite(bounds).all())),
        )


class _Block(NamedTuple):
    """Compared pairs; every array has one element per pair, NaN where it is not wanted."""

    n: Integers
    clusters: Integers
    difference: Floats
    error: Floats
    degrees: Floats
    reach: Floats
    unseen: Floats
    size: Floats
    low: Floats
    high: Floats
    p: Floats
    least: Floats


def _blocks(is_passes: Booleans, questions: int) -> Iterator[Integers]:
    """Yield the positions of pairs that are compared at once, passes and failures separately."""
    step = max(1, _BLOCK // max(1, questions))
    for kind in (True, False):
        which = np.flatnonzero(is_passes == kind)
        for start in range(0, len(which), step):
            yield which[start : start + step]


def _in_order(blocks: list[tuple[Integers, _Block]], count: int) -> _Block:
    columns = []
    for at in range(len(_Block._fields)):
        parts = [block[at] for _, block in blocks]
        column = np.empty(count, dtype=parts[0].dtype if parts else np.float64)
        for (which, _), part in zip(blocks, parts, strict=True):
            column[which] = part
        columns.append(column)
    return _Block(*columns)


def _compare_block(
    data: ClusterSums,
    scale: _Scale,
    pairs: Integers,
    wanted: Booleans,
    *,
    passes: bool,
    large: bool,
) -> _Block:
    """Compare pairs, given their differences summed by cluster."""
    a, b = pairs.T
    size = np.maximum(scale.size[a], scale.size[b])
    bounded = scale.is_bounded[a] & scale.is_bounded[b]
    width = np.maximum(scale.high[a], scale.high[b]) - np.minimum(scale.low[a], scale.low[b])
    width = np.where(data.n > 0, width, 0.0)
    error = _without_rounding(data, np.where(bounded, width, 0.0), size)
    largest = np.maximum(data.counts.max(axis=0, initial=0.0), 1.0)
    spread = data.sums.max(axis=0, initial=0.0) - data.sums.min(axis=0, initial=0.0)
    reach = np.where(bounded, width, np.maximum(width, MARGIN * spread / largest))
    # Equal differences do not say what others there may be.
    least = np.maximum(_SAME * np.abs(np.nan_to_num(data.means)), _TINY)
    varies = error * np.sqrt(data.clusters) > least
    is_unknown = ~bounded & ~varies
    reach = np.where(is_unknown | (data.n == 0), 0.0, reach)
    test = paired_test(data.sums, data.counts, reach, pass_fail=passes)
    p = test.difference_p(wanted if large else None)
    p[is_unknown] = 1.0
    count = len(pairs)
    low, high, least = np.full((3, count), np.nan)
    which = np.flatnonzero(wanted)
    some = test.take(which)
    low[which], high[which] = some.interval(LEVEL / 2)
    least[which] = least_p(data.counts[:, which], bounded=bounded[which])
    low[is_unknown] = high[is_unknown] = np.nan
    least[is_unknown] = 1.0
    unseen = reach * largest * data.clusters / np.maximum(data.n, 1)
    reach[is_unknown] = unseen[is_unknown] = np.inf
    return _Block(
        n=data.n.astype(np.int64),
        clusters=data.clusters,
        difference=data.means + 0.0,
        error=error,
        degrees=data.degrees_of_freedom,
        reach=reach,
        unseen=unseen,
        size=size,
        low=low,
        high=high,
        p=np.where(data.n > 0, p, np.nan),
        least=least,
    )


def _conclude(
    found: _Block,
    values: Floats,
    pairs: Integers,
    wanted: Booleans,
    *,
    is_passes: Booleans,
    best: Best,
    families: int,
) -> Comparisons:
    """Add adjusted p-values, detectable differences and verdicts."""
    adjusted = holm(found.p.reshape(families, -1)).ravel()
    tests = np.count_nonzero(found.n.reshape(families, -1), axis=1).repeat(len(pairs) // families)
    difference = _without_noise(found, values, pairs)
    gain = difference if best == "high" else -difference
    signs = np.where(adjusted < LEVEL, np.sign(gain), 0.0).astype(np.int64)
    chosen = np.select(
        [
            signs[wanted] > 0,
            signs[wanted] < 0,
            ~((found.n > 0) & (found.least * tests < LEVEL))[wanted],
        ],
        [BETTER, WORSE, NOT_ENOUGH],
        TIED,
    )
    return Comparisons(
        pairs=pairs[wanted],
        n_pairs=found.n[wanted],
        clusters=found.clusters[wanted],
        difference=difference[wanted],
        std_error=found.error[wanted],
        degrees=found.degrees[wanted],
        reach=found.reach[wanted],
        unseen=found.unseen[wanted],
        low=found.low[wanted],
        high=found.high[wanted],
        p_value=found.p[wanted],
        p_adjusted=adjusted[wanted],
        least_p=found.least[wanted],
        detectable=detectable_difference(
            found.error[wanted],
            found.clusters[wanted],
            found.degrees[wanted],
            found.unseen[wanted],
            tests=tests[wanted],
            least=found.least[wanted],
            pass_fail=is_passes[wanted],
        ),
        verdict=[str(verdict) for verdict in chosen],
        outcomes=Outcomes(pairs, found.n, difference, signs),
    )


def _without_noise(found: _Block, values: Floats, pairs: Integers) -> Floats:
    """Return the differences without those that only the order and the rounding of numbers make."""
    difference = found.difference.copy()
    is_small = (difference != 0) & (np.abs(difference) <= _ROUNDING * found.size)
    for at in np.flatnonzero(is_small):
        both = values[:, pairs[at]]
        both = both[np.isfinite(both).all(axis=1)]
        # A running sum depends on the order of its numbers; this one is exact.
        exact = math.fsum((both * (1.0, -1.0)).ravel()) / len(both)
        difference[at] = exact if abs(exact) > _ULPS * np.spacing(found.size[at]) else 0.0
    return difference


def _without_rounding(data: ClusterSums, width: Floats, size: Floats) -> Floats:
    """Return the standard errors; 0 where the differences vary by rounding only."""
    error = data.std_errors
    is_rounding = error * np.sqrt(data.clusters) <= _ROUNDING * np.maximum(size, width)
    found: Floats = np.where(is_rounding, 0.0, error)
    return found
