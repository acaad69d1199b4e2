"""The uncertainty of a leaderboard: intervals, rank intervals and comparisons of all metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import COMPARISONS_SCHEMA, UNCERTAINTY_SCHEMA, MetricSlice
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


@dataclass(frozen=True)
class PseudoValues:
    """Jackknife pseudo-values of system metrics, collected while the metrics are aggregated.

    Attributes:
        questions: The clusters and slices of the questions.
        values: The pseudo-values by (evaluator, slice), then metric, then system.
        question_sets: The questions of each system by (evaluator, slice), then system.
    """

    questions: QuestionIndex
    values: dict[tuple[str, str], dict[str, dict[str, Floats]]] = field(default_factory=dict)
    question_sets: dict[tuple[str, str], dict[str, QuestionSet]] = field(default_factory=dict)

    def add(
        self,
        evaluator: Evaluator,
        slice_: str,
        system: str,
        samples: pl.DataFrame,
        scores: Scores,
        every: Keys,
    ) -> None:
        """Compute the pseudo-values of one system on one slice.

        Systems may have different questions, for example after a run limited to some systems. The
        parts therefore divide the questions of all systems, and a system has no value for a part
        that it lacks.

        Args:
            evaluator: The evaluator of the system metrics.
            slice_: The slice.
            system: The system.
            samples: The system's samples, with `question`, the hash of the question.
            scores: The system metrics of these samples.
            every: The questions of all systems on the slice, sorted.
        """
        key, questions = (evaluator.name, slice_), samples["question"].to_numpy()
        parts = assign_parts(self.questions.cluster_keys(every))
        order = np.argsort(questions)
        # Most systems have all questions: they share one array.
        own = every if len(questions) == len(every) else questions[order]
        own_parts = np.empty(len(questions), dtype=np.int64)
        own_parts[order] = parts if own is every else parts[np.searchsorted(every, own)]
        n_parts = int(parts.max(initial=-1)) + 1
        found = pseudo_values(evaluator, samples, own_parts, scores, n_parts)
        self.question_sets.setdefault(key, {})[system] = QuestionSet(own, self.questions)
        for metric, values in found.items():
            self.values.setdefault(key, {}).setdefault(metric, {})[system] = values


def measure_uncertainty(
    warehouse: Warehouse, benchmark: Benchmark, pseudo: PseudoValues
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute intervals, rank intervals and comparisons of every metric on every slice.

    Returns:
        One row per slice, system, evaluator and metric (see `UNCERTAINTY_SCHEMA`), and one row per
        pair of systems (see `COMPARISONS_SCHEMA`).
    """
    per_system = [pl.DataFrame(schema=UNCERTAINTY_SCHEMA)]
    comparisons = [pl.DataFrame(schema=COMPARISONS_SCHEMA)]
    for evaluator in benchmark.evaluators:
        for each in chain(
            _sample_metric_slices(warehouse, benchmark, evaluator, pseudo.questions),
            _system_metric_slices(evaluator, pseudo),
        ):
            per_system.append(each.uncertainty(benchmark.intervals))
            comparisons.append(each.comparisons())
    return pl.concat(per_system), pl.concat(comparisons)


def _sample_metric_slices(
    warehouse: Warehouse, benchmark: Benchmark, evaluator: Evaluator, questions: QuestionIndex
) -> Iterator[MetricSlice]:
    matrices = load_score_matrices(warehouse, benchmark, evaluator)
    if not matrices.systems:
        return
    passing = {name: is_pass_fail(values) for name, values in matrices.values.items()}
    for slice_ in (ALL, *questions.slices):
        rows = matrices.rows(slice_, questions)
        groups = questions.groups(matrices.questions[rows])
        for metric in evaluator.sample_metrics:
            values = matrices.values[metric.name][rows]
            pass_fail = passing[metric.name] and metric.bounds == (0.0, 1.0)
            yield MetricSlice(
                slice_=slice_,
                evaluator=evaluator.name,
                metric=metric,
                systems=matrices.systems,
                values=values,
                groups=groups,
                pass_fail=pass_fail,
            )


def _system_metric_slices(evaluator: Evaluator, pseudo: PseudoValues) -> Iterator[MetricSlice]:
    metrics = {metric.name: metric for metric in evaluator.system_metrics}
    for (name, slice_), by_metric in pseudo.values.items():
        if name != evaluator.name:
            continue
        for metric, by_system in by_metric.items():
            systems = sorted(by_system)
            yield MetricSlice(
                slice_=slice_,
                evaluator=name,
                metric=metrics[metric],
                systems=systems,
                values=np.stack([by_system[system] for system in systems], axis=1),
                groups=Groups(),
                question_sets=[pseudo.question_sets[name, slice_][system] for system in systems],
            )
