"""Where a gate is decided: from the tests of its metrics to their verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assets.gates.result import GateResult
from evaluators.statistics.arrays import LEVEL
from evaluators.statistics.holm import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.gates.gains import PairedScores
    from assets.gates.result import Verdict
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric


@dataclass(frozen=True, slots=True, kw_only=True)
class GainTest:
    """The tests of one metric.

    Attributes:
        low: The lower end of the interval of the mean gain; NaN where there is none.
        high: The upper end.
        loss_p: The p-value of the hypothesis that there is no loss beyond the tolerance.
        gain_p: The p-value of the hypothesis that there is no gain.
        is_unchanged: Whether the verdict is `unchanged` if neither is significant.
        detectable: The smallest difference that this number of questions can detect; NaN where it
            is unknown.
    """

    low: float
    high: float
    loss_p: float
    gain_p: float
    is_unchanged: bool
    detectable: float = np.nan


def decide(
    names: tuple[str, str, str],
    metrics: Sequence[tuple[Evaluator, Metric]],
    scores: Sequence[PairedScores],
    tests: Sequence[GainTest],
    tolerance: float,
    looks: Sequence[int] | None = None,
    statements: int = 1,
) -> list[GateResult]:
    """Return the verdicts on all metrics of a gate, with p-values adjusted for their number (Holm).

    Args:
        names: The benchmark, the system and the baseline.
        metrics: The metrics.
        scores: Their paired scores.
        tests: Their tests.
        tolerance: The acceptable loss.
        looks: The numbers of the looks of a sequential gate.
        statements: The number of statements that share the level; see `count_statements`.
    """
    losses, gains = (
        np.minimum(1.0, statements * holm(np.array(each)))
        for each in ([test.loss_p for test in tests], [test.gain_p for test in tests])
    )
    results = []
    for at, ((evaluator, metric), paired, test) in enumerate(
        zip(metrics, scores, tests, strict=True)
    ):
        loss_p, gain_p = float(losses[at]), float(gains[at])
        ends = sorted((paired.sign * test.low, paired.sign * test.high))
        results.append(
            GateResult(
                benchmark=names[0],
                system=names[1],
                baseline=names[2],
                evaluator=evaluator.name,
                metric=metric.name,
                kind="regression",
                value=paired.sign * paired.gain,
                limit=tolerance,
                n_pairs=len(paired.values),
                low=ends[0],
                high=ends[1],
                p_value=loss_p if paired.gain < 0 else gain_p,
                detectable=test.detectable,
                verdict=_decide_metric(paired.gain, test, loss_p, gain_p, tolerance),
                look=None if looks is None else looks[at],
            )
        )
    return results


def _decide_metric(
    gain: float, test: GainTest, loss_p: float, gain_p: float, tolerance: float
) -> Verdict:
    if loss_p < LEVEL and gain < -tolerance:
        return "regressed"
    if gain_p < LEVEL and gain > 0:
        return "improved"
    return "unchanged" if test.is_unchanged else "not_enough_data"
