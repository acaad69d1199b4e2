"""The uncertainty of a leaderboard: intervals, rank sets and comparisons of all metrics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.metric_slice import (
    COMPARISONS_SCHEMA,
    UNCERTAINTY_SCHEMA,
    MetricSlices,
    PartValues,
)
from assets.leaderboard.score_matrix import ALL, QuestionIndex, QuestionSet, sorted_unique
from assets.leaderboard.slices import PAIR_KEY, Interactions
from assets.leaderboard.system_pairs import pair_rows
from evaluators.outcome import Unscored
from evaluators.scoring import counted_rows
from evaluators.statistics.clusters import Groups
from evaluators.statistics.intervals import is_pass_fail
from evaluators.statistics.jackknife import (
    assign_parts,
    pseudo_values,
    pseudo_values_of_systems,
)
from evaluators.statistics.large_families import LARGE
from evaluators.statistics.permutation_test import draws_more

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from assets.leaderboard.score_matrix import BenchmarkScores, Keys, ScoreMatrices
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.kinds.pairwise import PairedAnswers
    from evaluators.metric import Metric
    from evaluators.outcome import Graded
    from evaluators.scoring import PairedSystems
    from evaluators.statistics.arrays import Booleans, Floats, Integers

_MOST_NUMBERS = 1_000_000
"""The most differences of pairs on slices that are compared at once."""

_MOST_COUNTS = 4_000_000
"""The most counts, by system, part and at most as many labels as samples, that are made at once."""


@dataclass(frozen=True)
class PseudoValues:
    """Jackknife pseudo-values of system metrics, collected while the metrics are aggregated.

    Attributes:
        questions: The clusters and slices of the questions.
        values: The pseudo-values by (evaluator, slice), then metric, then system.
        own: The same, with parts of the system's own questions only: the uncertainty of a system
            must not depend on the questions of others.
        paired: The comparisons of systems with each other by (evaluator, slice).
    """

    questions: QuestionIndex
    values: dict[tuple[str, str], dict[str, dict[str, Floats]]] = field(default_factory=dict)
    own: dict[tuple[str, str], dict[str, dict[str, PartValues]]] = field(default_factory=dict)
    paired: dict[tuple[str, str], PairedAnswers] = field(default_factory=dict)

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
        together = _complete_pseudo_values(evaluator, samples, graded, every, parts)
        for system, rows in samples.items():
            found, questions = graded[system], rows["question"].to_numpy()
            question_set, own_parts = complete, parts
            if system in together:
                own = shared = together[system]
            else:
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
        self.paired[key] = result.paired
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

    def pair_rows(self, benchmark: Benchmark) -> list[pl.DataFrame]:
        """Return the rows of the table `pairwise` by evaluator."""
        return [
            pair_rows(benchmark.name, evaluator, self.paired[evaluator.name, ALL])
            for evaluator in benchmark.evaluators
            if (evaluator.name, ALL) in self.paired
        ]


def _complete_pseudo_values(
    evaluator: Evaluator,
    samples: Mapping[str, pl.DataFrame],
    graded: Mapping[str, Graded],
    every: Keys,
    parts: Integers,
) -> dict[str, Mapping[str, Floats]]:
    """Compute the pseudo-values of the systems that answered every question once, together."""
    count = int(parts.max(initial=-1)) + 1
    if count <= 1 or (parts < 0).any():
        return {}
    complete = [
        system
        for system, rows in samples.items()
        if np.array_equal(rows["question"].to_numpy(), every) and not rows["failed"].any()
    ]
    found: dict[str, Mapping[str, Floats]] = {}
    step = max(1, _MOST_COUNTS // (count * len(every)))
    for some in (complete[at : at + step] for at in range(0, len(complete), step)):
        rows = pl.concat([samples[system] for system in some])
        own = pseudo_values_of_systems(evaluator, rows, parts, [graded[each] for each in some])
        if own is not None:
            found |= dict(zip(some, own, strict=True))
    return found


def measure_uncertainty(
    scores: BenchmarkScores, benchmark: Benchmark, pseudo: PseudoValues
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
        overall: dict[str, MetricSlices] = {}
        for each in chain(
            sample_metric_slices(scores, benchmark, evaluator, pseudo.questions),
            system_metric_slices(benchmark, evaluator, pseudo),
        ):
            per_system.append(each.uncertainty(benchmark.intervals))
            chosen = None
            if each.slices == (ALL,):
                overall[each.metric.name] = each
            elif each.metric.primary and each.own is None and len(each.systems) > 1:
                reverses = interactions.add(overall[each.metric.name], each)
                if (reverses & ~each.is_stored).any():
                    chosen = reverses | each.is_stored
            comparisons.append(each.comparisons(chosen))
    compared = pl.concat(comparisons).join(interactions.adjusted(), on=PAIR_KEY, how="left")
    return pl.concat(per_system), compared


def sample_metric_slices(
    scores: BenchmarkScores,
    benchmark: Benchmark,
    evaluator: Evaluator,
    questions: QuestionIndex,
    slices: Sequence[str] | None = None,
) -> Iterator[MetricSlices]:
    """Yield the sample metrics of an evaluator, first on all questions, then on the slices.

    Args:
        scores: The scores of the benchmark.
        benchmark: The benchmark.
        evaluator: The evaluator.
        questions: The clusters and slices of the questions.
        slices: Only these slices; None: all.
    """
    matrices = scores.matrices(benchmark, evaluator)
    if not matrices.systems:
        return
    systems = len(matrices.systems)
    passing = {
        name: np.array([is_pass_fail(column) for column in values.T])
        for name, values in matrices.values.items()
    }
    baselines = gate_baselines(benchmark)
    by_common = benchmark.missing.may_skip
    shared = _Shared(evaluator.name, matrices.systems, baselines, by_common)
    for names, rows, groups in _alike(matrices, questions, slices):
        for metric in evaluator.sample_metrics:
            values = matrices.means_of(metric, rows)
            pass_fail = passing[metric.name] & (metric.bounds == (0.0, 1.0))
            if isinstance(rows, slice):
                yield shared.build(names, metric, values, groups, pass_fail)
                continue
            is_complete = np.isfinite(values).all(axis=(1, 2))
            for which in (np.flatnonzero(is_complete), np.flatnonzero(~is_complete)):
                step = _most_slices(systems, rows.shape[1])
                for start in range(0, len(which), step):
                    some = which[start : start + step]
                    yield shared.build(
                        tuple(names[at] for at in some),
                        metric,
                        # Columns by slice, then by system, each of them contiguous.
                        np.hstack([np.asfortranarray(each) for each in values[some]]),
                        groups,
                        np.tile(pass_fail, len(some)),
                        rows=rows[some],
                    )


@dataclass(frozen=True)
class _Shared:
    """What all slices of an evaluator share."""

    evaluator: str
    systems: list[str]
    baselines: frozenset[str]
    by_common: bool

    def build(
        self,
        slices: tuple[str, ...],
        metric: Metric,
        values: Floats,
        groups: Groups,
        pass_fail: Booleans,
        *,
        rows: Integers | None = None,
        own: list[PartValues] | None = None,
    ) -> MetricSlices:
        """Add the values of a metric on some slices."""
        return MetricSlices(
            slices=slices,
            evaluator=self.evaluator,
            metric=metric,
            systems=self.systems,
            values=values,
            groups=groups,
            pass_fail=pass_fail,
            baselines=self.baselines,
            rows=rows,
            own=own,
            by_common=self.by_common,
        )


def gate_baselines(benchmark: Benchmark) -> frozenset[str]:
    """Return the baselines of a benchmark's gates."""
    return frozenset(gate.baseline for gate in benchmark.gates if gate.baseline is not None)


def _alike(
    matrices: ScoreMatrices, questions: QuestionIndex, slices: Sequence[str] | None
) -> Iterator[tuple[tuple[str, ...], Integers | slice, Groups]]:
    """Yield slices of the same size and clusters, with their rows: shape (slices, questions)."""
    chosen = (ALL, *questions.slices) if slices is None else slices
    if ALL in chosen:
        yield (ALL,), slice(None), questions.groups(matrices.questions)
    alike: dict[tuple[int, bytes], list[tuple[str, Integers]]] = {}
    groups: dict[tuple[int, bytes], Groups] = {}
    for name in chosen:
        rows = matrices.rows(name, questions)
        if isinstance(rows, slice):
            continue
        found = questions.groups(matrices.questions[rows])
        key = (len(rows), b"" if found.codes is None else found.codes.tobytes())
        groups[key] = found
        alike.setdefault(key, []).append((name, rows))
    for key, members in alike.items():
        rows_of_all = np.stack([rows for _, rows in members])
        yield tuple(name for name, _ in members), rows_of_all, groups[key]


def _most_slices(systems: int, questions: int) -> int:
    """Return how many slices to compare at once; this bounds the memory."""
    pairs = math.comb(systems, 2)
    # How many patterns are drawn depends on the undecided pairs of a family.
    if pairs > LARGE or draws_more(questions, pairs):
        return 1
    return max(1, _MOST_NUMBERS // max(1, questions * max(pairs, systems)))


def system_metric_slices(
    benchmark: Benchmark, evaluator: Evaluator, pseudo: PseudoValues
) -> Iterator[MetricSlices]:
    """Yield the system metrics of an evaluator on the slices of `pseudo`."""
    metrics = {metric.name: metric for metric in evaluator.system_metrics}
    baselines = gate_baselines(benchmark)
    alike: dict[
        tuple[str, tuple[str, ...], int, bool, bool], list[tuple[str, Floats, list[PartValues]]]
    ] = {}
    for (name, slice_), by_metric in pseudo.values.items():
        if name != evaluator.name:
            continue
        for metric, by_system in by_metric.items():
            systems = sorted(by_system)
            own = [pseudo.own[name, slice_][metric][system] for system in systems]
            values = np.stack([by_system[system] for system in systems], axis=1)
            is_complete = bool(np.isfinite(values).all())
            key = (metric, tuple(systems), len(values), is_complete, slice_ == ALL)
            alike.setdefault(key, []).append((slice_, values, own))
    for (metric, systems_of_all, size, *_), members in alike.items():
        step = _most_slices(len(systems_of_all), size)
        for start in range(0, len(members), step):
            some = members[start : start + step]
            systems = list(systems_of_all)
            by_common = benchmark.missing.may_skip
            yield _Shared(evaluator.name, systems, baselines, by_common).build(
                tuple(slice_ for slice_, _, _ in some),
                metrics[metric],
                np.hstack([np.asfortranarray(values) for _, values, _ in some]),
                Groups(),
                np.zeros(len(systems) * len(some), dtype=np.bool_),
                own=[part for _, _, own in some for part in own],
            )
