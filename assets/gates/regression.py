"""The regression gate: is a system significantly worse than a baseline?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from assets.gates.baseline_verdict import GainTest, decide
from assets.gates.gains import load_comparable_scores
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.comparisons import compare
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.paired_test import paired_test

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.gates.gains import PairedScores
    from assets.gates.result import GateResult
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.comparisons import Comparisons
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

    The interval is that of `compare`.

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
    return decide(names, metrics, scores, tests, tolerance, statements=statements)


def run_tests(paired: PairedScores, tolerance: float, family: int) -> GainTest:
    """Run the tests of one of `family` metrics."""
    if not len(paired.values):
        return NOTHING
    found = compare(
        paired.values,
        paired.groups,
        np.array([[0, 1]]),
        best=paired.metric.best,
        pass_fail=is_pass_fail(paired.values),
        bounds=paired.metric.bounds,
    )
    if tolerance > 0:
        return _test_tolerance(paired, tolerance, found)
    low, high = sorted(paired.sign * float(each[0]) for each in (found.low, found.high))
    p = float(found.p_value[0])
    return GainTest(
        low=low,
        high=high,
        loss_p=p,
        gain_p=p,
        is_unchanged=float(found.least_p[0]) * family < LEVEL,
        detectable=float(found.detectable[0]),
    )


def _test_tolerance(paired: PairedScores, tolerance: float, found: Comparisons) -> GainTest:
    """Test for a loss beyond the tolerance, and for a gain, with one-sided bounds of the mean."""
    low = high = math.nan
    loss_p = gain_p = 1.0
    if np.isfinite(found.reach[0]):
        gains = paired_test(paired.gains.sums, paired.gains.counts, found.reach)
        low, high = (float(each[0]) for each in gains.interval(LEVEL))
        loss_p = float(gains.mirrored.above_p(tolerance)[0])
        gain_p = float(gains.above_p(0.0)[0])
    return GainTest(
        low=low,
        high=high,
        loss_p=loss_p,
        gain_p=gain_p,
        is_unchanged=low >= -tolerance,
        detectable=float(found.detectable[0]),
    )
