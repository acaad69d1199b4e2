"""The sequential gate: a regression gate whose verdicts hold at every one of many looks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from assets.analysis.comparability import NotComparable
from assets.gates.baseline_verdict import GainTest, decide
from assets.gates.gains import load_comparable_scores
from assets.gates.looks import read_look, record_look
from assets.gates.regression import NOTHING
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.sequential_test import SequentialTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.gates.gains import PairedScores
    from assets.gates.looks import Look
    from assets.gates.result import GateResult
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


def evaluate_sequential_gate(
    warehouse: Warehouse,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    metrics: Sequence[tuple[Evaluator, Metric]],
    tolerance: float = 0.0,
    *,
    statements: int = 1,
) -> list[GateResult]:
    """Compare a system with a baseline, and count this as a look unless nothing has changed.

    Over all looks together, the probability that a metric is ever said to have regressed without a
    loss beyond the tolerance is at most 5 % over all metrics (Holm). So is the probability that it
    is ever said to have improved without a gain. The interval is a confidence sequence: each end
    holds at all looks with a probability of 95 %. A metric is unchanged if the interval rules a
    loss beyond the tolerance out; without a tolerance, if it could have regressed.

    Args:
        warehouse: The warehouse, where the table `gate_looks` has the earlier looks.
        benchmark: The benchmark.
        system: The system that must pass.
        baseline: The system to compare it with.
        metrics: The sample metrics to compare.
        tolerance: The acceptable loss, on the metric's scale. It may change between looks.
        statements: As for `evaluate_gate`.

    Raises:
        NotComparable: The systems have different questions, configurations or judges, their scores
            are out of date, or a metric's scale has no bounds.
    """
    names = (benchmark.name, system, baseline)
    scores = _load_scores(warehouse, benchmark, names, metrics)

    def record(transaction: Transaction) -> list[Look | None]:
        return [
            record_look(transaction, names, (evaluator.name, metric.name), paired)
            if len(paired.values)
            else None
            for (evaluator, metric), paired in zip(metrics, scores, strict=True)
        ]

    return _decide(names, metrics, scores, warehouse.write(record), tolerance, statements)


def report_sequential_gate(
    source: Source,
    benchmark: Benchmark,
    system: str,
    baseline: str,
    metrics: Sequence[tuple[Evaluator, Metric]],
    tolerance: float = 0.0,
    *,
    statements: int = 1,
) -> list[GateResult]:
    """Return the verdicts at the last look, without another look.

    Args:
        source: The warehouse or its published copy.
        benchmark: As for `evaluate_sequential_gate`.
        system: As for `evaluate_sequential_gate`.
        baseline: As for `evaluate_sequential_gate`.
        metrics: As for `evaluate_sequential_gate`.
        tolerance: As for `evaluate_sequential_gate`.
        statements: As for `evaluate_sequential_gate`.

    Raises:
        NotComparable: As for `evaluate_sequential_gate`, or there was no look at a metric.
    """
    names = (benchmark.name, system, baseline)
    scores = _load_scores(source, benchmark, names, metrics)
    looks = []
    for (evaluator, metric), paired in zip(metrics, scores, strict=True):
        look = read_look(source, names, (evaluator.name, metric.name))
        if look is None and len(paired.values):
            raise NotComparable(
                f"the sequential gate of {system!r} and {baseline!r} has not looked at "
                f"{evaluator.name}.{metric.name}: add it to the metrics of the gate and run "
                "`scoreline run` first"
            )
        looks.append(look)
    return _decide(names, metrics, scores, looks, tolerance, statements)


def _load_scores(
    source: Source,
    benchmark: Benchmark,
    names: tuple[str, str, str],
    metrics: Sequence[tuple[Evaluator, Metric]],
) -> list[PairedScores]:
    scores = load_comparable_scores(source, benchmark, names[1], names[2], metrics)
    for (evaluator, metric), paired in zip(metrics, scores, strict=True):
        if not math.isfinite(paired.reach):
            raise NotComparable(
                f"a sequential gate needs a metric with bounds, and {evaluator.name}.{metric.name} "
                "has none: leave it out of the gate's metrics"
            )
    return scores


def _decide(
    names: tuple[str, str, str],
    metrics: Sequence[tuple[Evaluator, Metric]],
    scores: Sequence[PairedScores],
    looks: Sequence[Look | None],
    tolerance: float,
    statements: int,
) -> list[GateResult]:
    family = sum(look is not None for look in looks)
    tests = [
        NOTHING if look is None else run_tests(look, paired.reach, tolerance, family)
        for look, paired in zip(looks, scores, strict=True)
    ]
    numbers = [0 if look is None else look.look for look in looks]
    return decide(names, metrics, scores, tests, tolerance, numbers, statements)


def run_tests(look: Look, reach: float, tolerance: float, family: int) -> GainTest:
    """Run the tests of one of `family` metrics.

    Args:
        look: The look.
        reach: The largest possible gain or loss on a question.
        tolerance: The acceptable loss.
        family: The number of tested metrics.
    """
    gains = SequentialTest(
        sums=look.sums,
        counts=look.counts,
        reach=reach,
        first=look.first,
        largest=look.largest,
        epoch=look.epoch,
    )
    low, high = gains.bounds(LEVEL)
    all_lost = replace(gains, sums=-reach * look.counts)
    is_decidable = all_lost.below_p(-tolerance) * family < LEVEL
    return GainTest(
        low=low,
        high=high,
        loss_p=gains.below_p(-tolerance),
        gain_p=gains.above_p(0.0),
        is_unchanged=low >= -tolerance if tolerance > 0 else is_decidable,
    )
