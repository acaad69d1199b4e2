"""What a leaderboard reads: the scores of benchmarks, their questions and means."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from assets.leaderboard.ranking import RANK_KEY
from assets.leaderboard.score_matrix import QuestionIndex, ScoreMatrices, build_matrices
from evaluators import scoring
from evaluators.outcome import Status
from evaluators.score_grid import aggregation_rows
from warehouse.errors import WarehouseError
from warehouse.queries.aggregates import aggregate_scores, partly_lost_scores, scored_samples
from warehouse.queries.score_matrices import (
    answer_values,
    clustered_benchmarks,
    clustered_questions,
    questions_not_asked,
    score_values,
    sliced_questions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from assets.leaderboard.score_matrix import Keys
    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from warehouse.queries.benchmarks import Source
    from warehouse.queries.samples import Query

_UNPACKED_ROWS = 200_000
"""The samples whose evidence is read at once."""


@dataclass(frozen=True, slots=True)
class BenchmarkScores:
    """The scores of benchmarks, each of which is asked for once.

    One query reads the rows of all benchmarks, so read only few large ones together. The rows of a
    benchmark are freed with their caller.

    Attributes:
        source: The warehouse or its published copy.
        benchmarks: The benchmarks.
    """

    source: Source
    benchmarks: Sequence[Benchmark]
    _rows: dict[tuple[object, ...], dict[str, pl.DataFrame]] = field(default_factory=dict)

    def question_index(self, benchmark: Benchmark) -> QuestionIndex:
        """Return the clusters and slices of a benchmark's questions.

        Raises:
            WarehouseError: Two questions have the same 64-bit key.
        """
        names = [each.name for each in self.benchmarks]
        clustered = self._own(("clustered",), benchmark, names, clustered_benchmarks(names))
        keys = clusters = np.empty(0, dtype=np.uint64)
        if benchmark.cluster or clustered.height:
            query = clustered_questions(benchmark.name, benchmark.cluster or "cluster")
            found = self.source.fetch(*query).sort("question")
            if found["question"].n_unique() < found.height:
                raise WarehouseError(f"two questions of {benchmark.name!r} have the same hash")
            keys, clusters = (found[name].to_numpy() for name in ("question", "cluster"))
        slices: dict[str, Keys] = {}
        if benchmark.slices:
            names = self._with_slices(benchmark)
            query = sliced_questions(names, benchmark.slices)
            members = self._own(("slices", benchmark.slices), benchmark, names, query)
            for (name,), group in members.partition_by("slice", as_dict=True).items():
                slices[str(name)] = group["question"].to_numpy()
        return QuestionIndex(keys, clusters, dict(sorted(slices.items())))

    def matrices(self, benchmark: Benchmark, evaluator: Evaluator) -> ScoreMatrices:
        """Return the scores of an evaluator, as it is configured now."""
        key = (evaluator.name, evaluator.signature)
        names = self._with_evaluator(evaluator)
        return build_matrices(
            evaluator, self._own(key, benchmark, names, score_values(names, *key))
        )

    def samples(self, benchmark: Benchmark, evaluator: Evaluator) -> pl.DataFrame:
        """Return the scores of an evaluator with its evidence; see `_unpack_scores`."""
        key = (evaluator.name, evaluator.signature)
        same_slices = set(self._with_slices(benchmark))
        names = [name for name in self._with_evaluator(evaluator) if name in same_slices]
        query = scored_samples(names, *key, benchmark.slices)
        unpack = partial(_unpack_scores, evaluator)
        return self._own((*key, benchmark.slices), benchmark, names, query, unpack)

    def sample_means(self) -> pl.DataFrame:
        """Return the means of all sample metrics; one query for benchmarks with equal slices."""
        by_slices: dict[tuple[str, ...], list[Benchmark]] = {}
        for benchmark in self.benchmarks:
            by_slices.setdefault(benchmark.slices, []).append(benchmark)
        found = []
        for slices, group in by_slices.items():
            metrics = [len(each.sample_metrics) for own in group for each in own.evaluators]
            names = [each.name for each in group]
            query = aggregate_scores(names, slices, max(metrics, default=0))
            means = self.source.fetch(*query)
            several = [each.name for each in group if any(e.repeats > 1 for e in each.evaluators)]
            if several:
                lost = self.source.fetch(*partly_lost_scores(several, slices))
                key = [*RANK_KEY, "system", "signature"]
                means = means.join(lost, on=key, how="left", maintain_order="left")
            found.append(means)
        return pl.concat(found, how="diagonal")

    def not_asked(self, benchmark: Benchmark) -> dict[str, Keys]:
        """Return the keys of the questions that each system was not asked, sorted."""
        found = self.source.fetch(*questions_not_asked(benchmark.name)).sort("system", "question")
        groups = found.partition_by("system", as_dict=True)
        return {str(system): group["question"].to_numpy() for (system,), group in groups.items()}

    def answers(self, benchmark: Benchmark, evaluator: Evaluator) -> pl.DataFrame:
        """Return the scores of single answers to questions with several; see `answer_values`."""
        query = answer_values(benchmark.name, evaluator.name, evaluator.signature)
        return self.source.fetch(*query)

    def _with_slices(self, benchmark: Benchmark) -> list[str]:
        return [each.name for each in self.benchmarks if each.slices == benchmark.slices]

    def _with_evaluator(self, evaluator: Evaluator) -> list[str]:
        key = (evaluator.name, evaluator.signature)
        return [
            each.name
            for each in self.benchmarks
            if any((own.name, own.signature) == key for own in each.evaluators)
        ]

    def _own(
        self,
        key: tuple[object, ...],
        benchmark: Benchmark,
        names: Sequence[str],
        query: Query,
        prepare: Callable[[pl.DataFrame], pl.DataFrame] = lambda found: found,
    ) -> pl.DataFrame:
        """Return the rows of one benchmark from a query for the benchmarks of these names.

        The rows of all are prepared together, which is faster than those of each.
        """
        if list(names) == [benchmark.name]:
            return prepare(self.source.fetch(*query)).drop("benchmark")
        if benchmark.name not in self._rows.get(key, {}):
            found = prepare(self.source.fetch(*query))
            parts = found.partition_by("benchmark", as_dict=True, include_key=False)
            nothing = found.drop("benchmark").clear()
            del found
            self._rows[key] = {name: parts.pop((name,), nothing) for name in names}
        return self._rows[key].pop(benchmark.name)


def load_question_index(source: Source, benchmark: Benchmark) -> QuestionIndex:
    """Load the clusters and slices of the questions of one benchmark; see `BenchmarkScores`."""
    return BenchmarkScores(source, [benchmark]).question_index(benchmark)


def load_score_matrices(
    source: Source, benchmark: Benchmark, evaluator: Evaluator
) -> ScoreMatrices:
    """Load the scores of an evaluator on one benchmark, as it is configured now."""
    return BenchmarkScores(source, [benchmark]).matrices(benchmark, evaluator)


def _unpack_scores(evaluator: Evaluator, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of an evaluator with its evidence, sorted by slice, system and question."""
    # Names take 16 bytes in every row, their numbers one to four.
    names = {name: pl.Enum(grades[name].unique().sort()) for name in ("slice", "system")}
    names["status"] = pl.Enum(Status)
    # In pieces: as text, the evidence takes several times the memory of its columns.
    pieces = [
        scoring.unpack_evidence(evaluator, aggregation_rows(evaluator, piece)).cast(
            pl.Schema(names)
        )
        for piece in (grades.iter_slices(_UNPACKED_ROWS) if grades.height else [grades])
    ]
    del grades
    # The last digits of a metric depend on the order of its samples.
    return pl.concat(pieces).sort("slice", "system", "question", maintain_order=True)
