"""The regression gate: is a system significantly worse than a baseline?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assets.analysis.gates.gains import GainTest, judge, load_comparable_scores
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.comparisons import compare
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.mean_bounds import mean_above_p, mean_bounds
from evaluators.statistics.permutation_test import least_p

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.analysis.gates.gains import PairedScores
    from assets.analysis.gates.result import GateResult
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.queries.benchmarks import Source

NOTHING = GainTest(
    low=math.nan, high=math.nan, loss_p=math.nan, gain_p=math.nan, is_unchanged=False
)
"""The tests of a metric without paired scores."""


def evaluate_gate(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    metrics: Sequence[tuple[Evaluator, Metric]],
    tolerance: float = 0.0,
    *,
    statements: int = 1,
) -> list[GateResult]:
    """Compare a system with a baseline, question by question.

    Without a tolerance, a metric has regressed or improved if the comparison of the two systems
    (`compare`) is significant at 5 % over all metrics (Holm). Otherwise it is unchanged, which then
    only means that no change is seen; if the questions are too few for any significant result,
    there is not enough data.

    With a tolerance, three one-sided tests decide, each at 5 %: it has regressed if the loss is
    beyond the tolerance, and improved if there is a gain (both over all metrics, Holm). It is
    unchanged if a loss beyond the tolerance is ruled out. Otherwise, there is not enough data.

    Args:
        source: The warehouse or its published copy.
        benchmark: The benchmark.
        system: The system that must pass.
        baseline: The system to compare it with.
        metrics: The sample metrics to compare.
        tolerance: The acceptable loss, on the metric's scale.
        statements: The number of statements that share the level: those of a run are corrected for
            all statements of the report's pages.

    Raises:
        NotComparable: The systems have different questions, configurations or judges, or their
            scores are out of date.
    """
    scores = load_comparable_scores(source, benchmark, system, baseline, metrics)
    family = sum(len(each.values) > 0 for each in scores)
    tests = [run_tests(each, tolerance, family) for each in scores]
    names = (benchmark.name, system, baseline)
    return judge(names, metrics, scores, tests, tolerance, statements=statements)


def run_tests(paired: PairedScores, tolerance: float, family: int) -> GainTest:
    """Run the tests of one of `family` metrics."""
    if not len(paired.values):
        return NOTHING
    pass_fail = is_pass_fail(paired.values)
    found = compare(
        paired.values,
        paired.groups,
        np.array([[0, 1]]),
        best=paired.metric.best,
        pass_fail=pass_fail,
        bounds=paired.metric.bounds,
    )
    if tolerance > 0:
        return _test_tolerance(paired, tolerance, float(found.detectable[0]))
    low, high = sorted(paired.sign * float(each[0]) for each in (found.low, found.high))
    # Exact as McNemar's test is; and a single cluster has no other interval.
    is_exact = pass_fail and paired.groups.alone and float(found.std_error[0]) > 0
    if math.isfinite(paired.reach) and (is_exact or not math.isfinite(low)):
        low, high = _bounds(paired, LEVEL / 2)
    p = float(found.p_value[0])
    return GainTest(
        low=low,
        high=high,
        loss_p=p,
        gain_p=p,
        is_unchanged=float(least_p(found.clusters)[0]) * family < LEVEL,
        detectable=float(found.detectable[0]),
    )


def _test_tolerance(paired: PairedScores, tolerance: float, detectable: float) -> GainTest:
    """Test for a loss beyond the tolerance, and for a gain, with one-sided bounds of the mean.

    On a bounded scale, tests and bounds hold for any number of clusters. On an unbounded scale they
    are Student's, with cluster-robust standard errors; equal differences then have no bounds.
    """
    if math.isfinite(paired.reach):
        sums, counts = paired.gains.sums[:, 0], paired.gains.counts[:, 0]
        low, high = _bounds(paired, LEVEL)
        loss_p = mean_above_p(-sums, counts, paired.reach, tolerance)
        gain_p = mean_above_p(sums, counts, paired.reach, 0.0)
    else:
        low, high, loss_p, gain_p = _student(paired, tolerance)
    return GainTest(
        low=low,
        high=high,
        loss_p=loss_p,
        gain_p=gain_p,
        is_unchanged=low >= -tolerance,
        detectable=detectable,
    )


def _bounds(paired: PairedScores, level: float) -> tuple[float, float]:
    gains = paired.gains
    return mean_bounds(gains.sums[:, 0], gains.counts[:, 0], paired.reach, level)


def _student(paired: PairedScores, tolerance: float) -> tuple[float, float, float, float]:
    """Return the lower and upper bounds and the p-values of a loss and of a gain."""
    from scipy.special import stdtr, stdtrit

    gain = paired.gain
    error, degrees = (
        float(each[0]) for each in (paired.gains.std_errors, paired.gains.degrees_of_freedom)
    )
    if not error > 0:
        return math.nan, math.nan, math.nan, math.nan
    half = float(stdtrit(degrees, 1 - LEVEL)) * error
    loss_p = float(stdtr(degrees, (gain + tolerance) / error))
    return gain - half, gain + half, loss_p, float(stdtr(degrees, -gain / error))
