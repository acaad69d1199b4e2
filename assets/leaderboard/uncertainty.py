"""The uncertainty of a leaderboard: intervals, rank sets and comparisons of all metrics."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import (
    COMPARISONS_SCHEMA,
    UNCERTAINTY_SCHEMA,
    MetricSlice,
    PartValues,
)
from assets.leaderboard.score_matrix import ALL, QuestionIndex, QuestionSet, load_score_matrices
from assets.leaderboard.slices import PAIR_KEY, Interactions
from evaluators.outcome import Unscored
from evaluators.statistics.clusters import Groups
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.jackknife import assign_parts, pseudo_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.leaderboard.score_matrix import Keys, Source
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Graded
    from evaluators.statistics.arrays import Floats


@dataclass(frozen=True)
class PseudoValues:
    """Jackknife pseudo-values of system metrics, collected while the metrics are aggregated.

    Attributes:
        questions: The clusters and slices of the questions.
        values: The pseudo-values by (evaluator, slice), then metric, then system.
        own: The same, with parts of the system's own questions only: the uncertainty of a system
            must not depend on the questions of others.
    """

    questions: QuestionIndex
    values: dict[tuple[str, str], dict[str, dict[str, Floats]]] = field(default_factory=dict)
    own: dict[tuple[str, str], dict[str, dict[str, PartValues]]] = field(default_factory=dict)

    def add(
        self,
        evaluator: Evaluator,
        slice_: str,
        system: str,
        samples: pl.DataFrame,
        found: Graded,
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
            samples: The samples that the system's metrics count, with `question`, the hash of the
                question, as `scoring.unpack_evidence` returns them.
            found: The system metrics of these samples.
            every: The counted questions of all systems on the slice, sorted.
        """
        key, questions = (evaluator.name, slice_), samples["question"].to_numpy()
        order = np.argsort(questions)
        # Most systems have all questions: they share one array and one division into parts.
        is_complete = len(questions) == len(every)
        keys = every if is_complete else questions[order]
        question_set, nothing = (QuestionSet(each, self.questions) for each in (keys, keys[:0]))
        parts = assign_parts(self.questions.cluster_keys(every))
        shared_parts = np.empty(len(questions), dtype=np.int64)
        shared_parts[order] = parts if is_complete else parts[np.searchsorted(every, keys)]
        n_parts = int(parts.max(initial=-1)) + 1
        shared = pseudo_values(evaluator, samples, shared_parts, found, n_parts)
        own, own_parts = shared, shared_parts
        if not is_complete:
            own_parts[order] = assign_parts(self.questions.cluster_keys(keys))
            own = pseudo_values(evaluator, samples, own_parts, found)
        sizes = np.bincount(own_parts[own_parts >= 0]).astype(np.float64)
        for metric in evaluator.system_metrics:
            name, chance = metric.name, found.chance.get(metric.debiases or metric.name)
            is_scored = not isinstance(found.scores[name], Unscored)
            self.values.setdefault(key, {}).setdefault(name, {})[system] = shared[name]
            self.own.setdefault(key, {}).setdefault(name, {})[system] = PartValues(
                own[name],
                sizes,
                question_set if is_scored else nothing,
                chance,
                is_debiased=metric.debiases is not None,
            )


def measure_uncertainty(
    warehouse: Source, benchmark: Benchmark, pseudo: PseudoValues
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute intervals, rank sets and comparisons of every metric on every slice.

    Returns:
        One row per slice, system, evaluator and metric (see `UNCERTAINTY_SCHEMA`), and one row per
        pair of systems (see `COMPARISONS_SCHEMA`).
    """
    per_system = [pl.DataFrame(schema=UNCERTAINTY_SCHEMA)]
    comparisons = [pl.DataFrame(schema=COMPARISONS_SCHEMA)]
    interactions = Interactions()
    for evaluator in benchmark.evaluators:
        overall: dict[str, MetricSlice] = {}
        for each in chain(
            _sample_metric_slices(warehouse, benchmark, evaluator, pseudo.questions),
            _system_metric_slices(evaluator, pseudo),
        ):
            per_system.append(each.uncertainty(benchmark.intervals))
            comparisons.append(each.comparisons())
            if each.slice_ == ALL:
                overall[each.metric.name] = each
            elif each.metric.primary and each.question_sets is None and len(each.systems) > 1:
                whole = overall[each.metric.name]
                is_on_slice = np.zeros(len(whole.values), dtype=np.bool_)
                is_on_slice[each.rows] = True
                interactions.add(whole, each, is_on_slice)
    compared = pl.concat(comparisons).join(interactions.adjusted(), on=PAIR_KEY, how="left")
    return pl.concat(per_system), compared


def _sample_metric_slices(
    warehouse: Source, benchmark: Benchmark, evaluator: Evaluator, questions: QuestionIndex
) -> Iterator[MetricSlice]:
    matrices = load_score_matrices(warehouse, benchmark, evaluator)
    if not matrices.systems:
        return
    passing = {
        name: np.array([is_pass_fail(column) for column in values.T])
        for name, values in matrices.values.items()
    }
    for slice_ in (ALL, *questions.slices):
        rows = matrices.rows(slice_, questions)
        groups = questions.groups(matrices.questions[rows])
        for metric in evaluator.sample_metrics:
            values = matrices.means_of(metric, rows)
            pass_fail = passing[metric.name] & (metric.bounds == (0.0, 1.0))
            yield MetricSlice(
                slice_=slice_,
                evaluator=evaluator.name,
                metric=metric,
                systems=matrices.systems,
                values=values,
                groups=groups,
                pass_fail=pass_fail,
                rows=rows if isinstance(rows, np.ndarray) else None,
            )


def _system_metric_slices(evaluator: Evaluator, pseudo: PseudoValues) -> Iterator[MetricSlice]:
    metrics = {metric.name: metric for metric in evaluator.system_metrics}
    for (name, slice_), by_metric in pseudo.values.items():
        if name != evaluator.name:
            continue
        for metric, by_system in by_metric.items():
            systems = sorted(by_system)
            own = [pseudo.own[name, slice_][metric][system] for system in systems]
            yield MetricSlice(
                slice_=slice_,
                evaluator=name,
                metric=metrics[metric],
                systems=systems,
                values=np.stack([by_system[system] for system in systems], axis=1),
                groups=Groups(),
                pass_fail=np.zeros(len(systems), dtype=np.bool_),
                own=own,
                question_sets=[each.questions for each in own],
            )
