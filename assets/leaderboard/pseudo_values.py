"""Jackknife pseudo-values of system metrics, collected while the metrics are aggregated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import PartValues
from assets.leaderboard.score_matrix import QuestionIndex, QuestionSet, sorted_unique
from evaluators.outcome import Unscored
from evaluators.scoring import counted_rows
from evaluators.statistics.jackknife import assign_parts, pseudo_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.leaderboard.score_matrix import Keys
    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Graded
    from evaluators.scoring import PairedSystems
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
        samples: Mapping[str, pl.DataFrame],
        graded: Mapping[str, Graded],
        every: Keys,
    ) -> None:
        """Compute the pseudo-values of systems on one slice.

        Systems may have different questions, for example after a run limited to some systems. The
        parts therefore divide the questions of all systems, and a system has no value for a part
        that it lacks.

        Args:
            evaluator: The evaluator of the system metrics.
            slice_: The slice.
            samples: The samples that the metrics of each system count, with `question`, the hash of
                the question, as `scoring.unpack_evidence` returns them.
            graded: The system metrics of these samples.
            every: The counted questions of all systems on the slice, sorted.
        """
        key, parts = (evaluator.name, slice_), assign_parts(self.questions.cluster_keys(every))
        n_parts = int(parts.max(initial=-1)) + 1
        # Most systems have all questions: they share one array and one division into parts.
        complete, nothing = (QuestionSet(each, self.questions) for each in (every, every[:0]))
        for system, rows in samples.items():
            found, questions = graded[system], rows["question"].to_numpy()
            question_set, own_parts = complete, parts
            shared_parts = parts[np.searchsorted(every, questions)]
            own = shared = pseudo_values(evaluator, rows, shared_parts, found, n_parts)
            keys = sorted_unique(questions)
            if len(keys) < len(every):
                question_set = QuestionSet(keys, self.questions)
                own_parts = assign_parts(self.questions.cluster_keys(keys))
                place = np.searchsorted(keys, questions)
                own = pseudo_values(evaluator, rows, own_parts[place], found)
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

    def add_systems(
        self,
        evaluator: Evaluator,
        slice_: str,
        by_system: Mapping[str, pl.DataFrame],
        result: PairedSystems,
        every: Keys,
    ) -> None:
        """Compute the pseudo-values of systems that are compared with each other on one slice.

        Args:
            evaluator: The evaluator of the system metric.
            slice_: The slice.
            by_system: The samples of each system.
            result: The system metrics of these samples.
            every: The counted questions of all systems on the slice, sorted.
        """
        key = (evaluator.name, slice_)
        parts = assign_parts(self.questions.cluster_keys(every))
        n_parts = int(parts.max(initial=-1)) + 1
        compared = parts[np.searchsorted(every, result.paired.questions)]
        pseudo = result.paired.pseudo_values(result.found, compared, n_parts)
        # The strength of a system depends on the comparisons of all others.
        sizes = np.bincount(parts[parts >= 0], minlength=n_parts).astype(np.float64)
        for metric in evaluator.system_metrics:
            for system, samples in by_system.items():
                is_scored = not isinstance(result.graded[system].scores[metric.name], Unscored)
                values = np.full(n_parts, np.nan)
                if is_scored:
                    values = pseudo[:, result.paired.systems.index(system)]
                counted = counted_rows(samples)["question"].to_numpy()
                keys = np.sort(counted)[: None if is_scored else 0]
                self.values.setdefault(key, {}).setdefault(metric.name, {})[system] = values
                self.own.setdefault(key, {}).setdefault(metric.name, {})[system] = PartValues(
                    values, sizes, QuestionSet(keys, self.questions)
                )
