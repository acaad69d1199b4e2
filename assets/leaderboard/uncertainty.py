"""Uncertainty: how sure each mean of a benchmark is, and how its systems compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import COMPARISONS, UNCERTAINTY, MetricSlice
from assets.leaderboard.score_matrix import ALL, QuestionIndex, QuestionSet, load_score_matrices
from evaluators.statistics.clusters import Groups
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.jackknife import assign_parts, pseudo_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.leaderboard.score_matrix import Keys
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Scores
    from evaluators.statistics.arrays import Floats
    from warehouse.store import Warehouse

PLACE = ("slice", "system", "evaluator", "metric")
"""What tells the rows of a benchmark's leaderboard apart."""


@dataclass(frozen=True)
class PseudoValues:
    """The pseudo-values of system metrics, gathered while the metrics are folded.

    Attributes:
        questions: What binds the questions together.
        values: By evaluator and slice, then metric, then system.
        wholes: By evaluator and slice, then system: what it was asked.
    """

    questions: QuestionIndex
    values: dict[tuple[str, str], dict[str, dict[str, Floats]]] = field(default_factory=dict)
    wholes: dict[tuple[str, str], dict[str, QuestionSet]] = field(default_factory=dict)

    def add(
        self,
        evaluator: Evaluator,
        slice_: str,
        system: str,
        samples: pl.DataFrame,
        scores: Scores,
        every: Keys,
    ) -> None:
        """Find the pseudo-values of one system on one slice.

        After a run that was narrowed to some systems these may have been asked more than others:
        the parts are those of all questions, and what a system was not asked is missing there.

        Args:
            evaluator: Whose system metrics have been folded.
            slice_: The slice.
            system: The system.
            samples: Its samples, as they were folded, with `question`, the hash of the question.
            scores: What came of them.
            every: The questions that any system was asked on the slice, sorted.
        """
        place, keys = (evaluator.name, slice_), samples["question"].to_numpy()
        parts = assign_parts(self.questions.cluster_keys(every))
        order = np.argsort(keys)
        # Most systems were asked everything: they share one array.
        asked = every if len(keys) == len(every) else keys[order]
        own = np.empty(len(keys), dtype=np.int64)
        own[order] = parts if asked is every else parts[np.searchsorted(every, asked)]
        total = int(parts.max(initial=-1)) + 1
        found = pseudo_values(evaluator, samples, own, scores, total)
        self.wholes.setdefault(place, {})[system] = QuestionSet(asked, self.questions)
        for metric, values in found.items():
            self.values.setdefault(place, {}).setdefault(metric, {})[system] = values


@dataclass(frozen=True, slots=True)
class LeaderboardUncertainty:
    """What is known about the certainty of a leaderboard.

    Attributes:
        standings: One row a slice, system, evaluator and metric.
        comparisons: One row a pair of systems.
    """

    standings: pl.DataFrame
    comparisons: pl.DataFrame


def measure_uncertainty(
    warehouse: Warehouse, benchmark: Benchmark, spread: PseudoValues
) -> LeaderboardUncertainty:
    """Intervals, rank intervals and comparisons of every metric of a benchmark on every slice.

    Args:
        warehouse: Where the grades are.
        benchmark: The benchmark.
        spread: What folding its system metrics has gathered.
    """
    standings = [pl.DataFrame(schema=UNCERTAINTY)]
    comparisons = [pl.DataFrame(schema=COMPARISONS)]
    for block in _blocks(warehouse, benchmark, spread):
        standings.append(block.uncertainty(benchmark.intervals))
        comparisons.append(block.comparisons())
    return LeaderboardUncertainty(pl.concat(standings), pl.concat(comparisons))


def _blocks(
    warehouse: Warehouse, benchmark: Benchmark, spread: PseudoValues
) -> Iterator[MetricSlice]:
    for evaluator in benchmark.evaluators:
        yield from _of_samples(warehouse, benchmark, evaluator, spread.questions)
        yield from _of_sets(evaluator, spread)


def _of_samples(
    warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator, questions: QuestionIndex
) -> Iterator[MetricSlice]:
    """A block for each sample metric and slice."""
    found = load_score_matrices(warehouse, benchmark, evaluator)
    if not found.systems:
        return
    passing = {name: is_pass_fail(values) for name, values in found.values.items()}
    for slice_ in (ALL, *questions.slices):
        rows = found.rows(slice_, questions)
        groups = questions.groups(found.questions[rows])
        for metric in evaluator.sample_metrics:
            values = found.values[metric.name][rows]
            pass_fail = passing[metric.name] and metric.bounds == (0.0, 1.0)
            yield MetricSlice(
                slice_=slice_,
                evaluator=evaluator.name,
                metric=metric,
                systems=found.systems,
                values=values,
                groups=groups,
                pass_fail=pass_fail,
            )


def _of_sets(evaluator: Evaluator, spread: PseudoValues) -> Iterator[MetricSlice]:
    """A block of pseudo-values for each system metric and slice."""
    metrics = {metric.name: metric for metric in evaluator.system_metrics}
    for (name, slice_), measured in spread.values.items():
        if name != evaluator.name:
            continue
        for metric, by_system in measured.items():
            systems = sorted(by_system)
            yield MetricSlice(
                slice_=slice_,
                evaluator=name,
                metric=metrics[metric],
                systems=systems,
                values=np.stack([by_system[system] for system in systems], axis=1),
                groups=Groups(),
                whole=[spread.wholes[name, slice_][system] for system in systems],
            )
