"""Score matrices: a row per question, a column per system; questions as 64-bit keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from evaluators import scoring
from evaluators.outcome import Status
from evaluators.score_grid import aggregation_rows
from evaluators.statistics.clusters import Groups, effective_clusters
from warehouse.errors import WarehouseError
from warehouse.queries.leaderboard import scored_samples
from warehouse.queries.score_matrices import (
    clustered_benchmarks,
    clustered_questions,
    score_values,
    sliced_questions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from warehouse.queries.benchmarks import Source
    from warehouse.queries.samples import Query
    from warehouse.storage.connect import Parameters

    Keys: TypeAlias = NDArray[np.uint64]

ALL = "all"
"""The slice of all questions."""

_UNPACKED_ROWS = 200_000
"""The samples whose evidence is read at once."""


@dataclass(frozen=True)
class QuestionIndex:
    """The clusters and slices of a benchmark's questions.

    Attributes:
        keys: The questions, sorted; empty when the benchmark has no clusters.
        clusters: The cluster of each question, in the same order.
        slices: The questions of each slice except `all`.
    """

    keys: Keys
    clusters: Keys
    slices: dict[str, Keys] = field(default_factory=dict)

    def cluster_numbers(self, questions: Keys) -> Integers:
        """Return the clusters of questions, numbered from 0 without gaps."""
        return np.unique(self.cluster_keys(questions), return_inverse=True)[1].astype(np.int64)

    def cluster_keys(self, questions: Keys) -> Keys:
        """Return the keys of the clusters of questions."""
        return self.clusters[np.searchsorted(self.keys, questions)] if len(self.keys) else questions

    def groups(self, questions: Keys) -> Groups:
        """Return the clusters of distinct questions as groups."""
        return Groups(self.cluster_numbers(questions)) if len(self.keys) else Groups()


@dataclass(frozen=True)
class ScoreMatrices:
    """All scores of one evaluator.

    Attributes:
        systems: The systems, in the order of the columns.
        questions: The keys of the questions, sorted, in the order of the rows: results must not
            depend on the order of rows in the warehouse.
        values: A matrix per metric, shape (questions, systems), NaN for missing values.
        failed: For each metric with failed answers, where they are: the same shape, Boolean.
    """

    systems: list[str]
    questions: Keys
    values: dict[str, Floats]
    failed: dict[str, Booleans] = field(default_factory=dict)

    def means_of(self, metric: Metric, rows: Integers | slice) -> Floats:
        """Return the scores of a metric on slices, NaN for all of a system without a mean.

        A system has no mean if all its scores stand for failed answers, or if an answer failed and
        the metric has no worst value: leaving that answer out would reward the failure.

        Args:
            metric: The metric.
            rows: The rows of one slice, or of several: shape (..., questions).

        Returns:
            Shape (..., questions, systems).
        """
        values = self.values[metric.name][rows]
        if metric.name not in self.failed:
            return values
        failed = self.failed[metric.name][rows]
        without = (
            failed.any(axis=-2, keepdims=True)
            if metric.worst is None
            else ~(np.isfinite(values) & ~failed).any(axis=-2, keepdims=True)
        )
        return np.where(without, np.nan, values)

    def rows(self, slice_: str, questions: QuestionIndex) -> Integers | slice:
        """Return the rows of a slice."""
        if slice_ == ALL:
            return slice(None)
        keys = sorted_unique(questions.slices[slice_])
        rows = np.searchsorted(self.questions, keys)
        known = self.questions[np.minimum(rows, len(self.questions) - 1)] == keys
        found: Integers = rows[known].astype(np.int64)
        return found


def sorted_unique(keys: Keys) -> Keys:
    """Return the distinct keys, sorted.

    `numpy.unique` builds a hash table first and takes three times as long.
    """
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


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

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of another query."""
        return self.source.fetch(sql, parameters)

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
        return _build_matrices(
            evaluator, self._own(key, benchmark, names, score_values(names, *key))
        )

    def samples(self, benchmark: Benchmark, evaluator: Evaluator) -> pl.DataFrame:
        """Return the scores of an evaluator with its evidence; see `unpack_scores`."""
        key = (evaluator.name, evaluator.signature)
        same_slices = set(self._with_slices(benchmark))
        names = [name for name in self._with_evaluator(evaluator) if name in same_slices]
        query = scored_samples(names, *key, benchmark.slices)
        unpack = partial(unpack_scores, evaluator)
        return self._own((*key, benchmark.slices), benchmark, names, query, unpack)

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
    """Load the scores of an evaluator on one benchmark, as it is configured now.

    Of `BenchmarkScores`, they are read together with those of the other benchmarks.
    """
    if isinstance(source, BenchmarkScores):
        return source.matrices(benchmark, evaluator)
    query = score_values([benchmark.name], evaluator.name, evaluator.signature)
    return _build_matrices(evaluator, source.fetch(*query))


def _build_matrices(evaluator: Evaluator, grades: pl.DataFrame) -> ScoreMatrices:
    """Build the matrices of rows that `score_values` selects."""
    systems = sorted(grades["system"].unique())
    column = number_names(grades["system"], systems)
    questions, row = np.unique(grades["question"].to_numpy(), return_inverse=True)
    cell = column * len(questions) + row
    names = [metric.name for metric in evaluator.sample_metrics]
    given = list_matrix(grades["values"], len(names))
    values = {}
    for at, name in enumerate(names):
        columns = np.full(len(systems) * len(questions), np.nan)
        columns[cell] = given[:, at]
        values[name] = columns.reshape(len(systems), len(questions)).T
    if grades["failed"].null_count() == grades.height:
        return ScoreMatrices(systems, questions, values)
    failures = grades.select(cell=pl.Series(cell), failed="failed").drop_nulls("failed")
    failed = {}
    for at, name in enumerate(names):
        cells = failures.filter(pl.col("failed").list.get(at, null_on_oob=True))["cell"].to_numpy()
        if len(cells):
            marked = np.zeros(len(systems) * len(questions), dtype=np.bool_)
            marked[cells] = True
            failed[name] = marked.reshape(len(systems), len(questions)).T
    return ScoreMatrices(systems, questions, values, failed)


def number_names(names: pl.Series, known: Sequence[str]) -> Integers:
    """Return the position of each name among the known ones, which are distinct; -1 for others."""
    places = names.cast(pl.Enum(known), strict=False).to_physical()
    return places.cast(pl.Int64).fill_null(-1).to_numpy()


def list_matrix(lists: pl.Series, width: int) -> Floats:
    """Return lists of numbers as the rows of a matrix, with NaN for null and what they lack."""
    matrix = np.full((len(lists), width), np.nan)
    known = lists if lists.null_count() == 0 else lists.drop_nulls()
    lengths = known.list.len()
    if width and lengths.min() == width == lengths.max():
        rows = slice(None) if known is lists else lists.is_not_null().to_numpy()
        flat = known.explode().cast(pl.Float64)
        matrix[rows] = flat.to_numpy().reshape(len(known), width)
        return matrix
    for at in range(width):
        column = lists.list.get(at, null_on_oob=True)
        matrix[:, at] = column.cast(pl.Float64).to_numpy()
    return matrix


@dataclass(frozen=True)
class QuestionSet:
    """The questions of one system on a slice.

    Attributes:
        keys: The keys of the questions, sorted.
        questions: The clusters of the questions.
    """

    keys: Keys
    questions: QuestionIndex

    @cached_property
    def counts(self) -> tuple[int, int]:
        """The number of questions and of clusters."""
        return len(self.keys), len(sorted_unique(self.questions.cluster_keys(self.keys)))

    @cached_property
    def effective_clusters(self) -> float:
        """The number of equal clusters with the same information."""
        sizes = np.unique(self.questions.cluster_keys(self.keys), return_counts=True)[1]
        return float(effective_clusters(sizes.astype(np.float64)))

    def shared_counts(self, other: QuestionSet) -> tuple[int, int]:
        """Return the number of common questions and of their clusters."""
        if self.keys is other.keys or np.array_equal(self.keys, other.keys):
            return self.counts
        both = np.intersect1d(self.keys, other.keys, assume_unique=True)
        return QuestionSet(both, self.questions).counts


def unpack_scores(evaluator: Evaluator, grades: pl.DataFrame) -> pl.DataFrame:
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
