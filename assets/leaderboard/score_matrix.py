"""Score matrices: a row per question, a column per system; questions as 64-bit keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import polars as pl

from evaluators.statistics.clusters import Groups, effective_clusters
from warehouse.errors import WarehouseError
from warehouse.queries.score_matrices import (
    clustered_questions,
    has_clusters,
    score_values,
    sliced_questions,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers
    from warehouse.storage.transaction import Parameters

    Keys: TypeAlias = NDArray[np.uint64]

ALL = "all"
"""The slice of all questions."""


class Source(Protocol):
    """A warehouse or its published copy."""

    def fetch(self, sql: str, parameters: Parameters | None = None) -> pl.DataFrame:
        """Return the result of a query."""


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
        """Return the scores of a metric on a slice, NaN for all of a system without a mean.

        A system has no mean if all its scores stand for failed answers, or if an answer failed and
        the metric has no worst value: leaving that answer out would reward the failure.
        """
        values = self.values[metric.name][rows]
        if metric.name not in self.failed:
            return values
        failed = self.failed[metric.name][rows]
        without = (
            failed.any(axis=0)
            if metric.worst is None
            else ~(np.isfinite(values) & ~failed).any(axis=0)
        )
        return np.where(without, np.nan, values)

    def rows(self, slice_: str, questions: QuestionIndex) -> Integers | slice:
        """Return the rows of a slice."""
        if slice_ == ALL:
            return slice(None)
        return np.flatnonzero(np.isin(self.questions, questions.slices[slice_]))


def sorted_unique(keys: Keys) -> Keys:
    """Return the distinct keys, sorted.

    `numpy.unique` builds a hash table first and takes three times as long.
    """
    ordered = np.sort(keys)
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def load_question_index(source: Source, benchmark: Benchmark) -> QuestionIndex:
    """Load the clusters and slices of a benchmark's questions.

    Raises:
        WarehouseError: Two questions have the same 64-bit key.
    """
    query = has_clusters(benchmark.name)
    if benchmark.cluster or not source.fetch(*query).is_empty():
        query = clustered_questions(benchmark.name, benchmark.cluster or "cluster")
    found = source.fetch(*query).sort("question")
    if found["question"].n_unique() < found.height:
        raise WarehouseError(f"two questions of {benchmark.name!r} have the same hash")
    slices: dict[str, Keys] = {}
    if benchmark.slices:
        members = source.fetch(*sliced_questions(benchmark.name, benchmark.slices))
        for (name,), group in members.partition_by("slice", as_dict=True).items():
            slices[str(name)] = group["question"].to_numpy()
    keys, clusters = (found[name].to_numpy() for name in ("question", "cluster"))
    return QuestionIndex(keys, clusters, dict(sorted(slices.items())))


def load_score_matrices(
    source: Source, benchmark: Benchmark, evaluator: Evaluator
) -> ScoreMatrices:
    """Load the scores of an evaluator, as it is configured now."""
    grades = source.fetch(*score_values(benchmark.name, evaluator.name, evaluator.signature))
    systems = grades["system"].unique().sort().to_list()
    questions, row = np.unique(grades["question"].to_numpy(), return_inverse=True)
    column = grades["system"].replace_strict(systems, range(len(systems)), return_dtype=None)
    cell = column.cast(int).to_numpy() * len(questions) + row
    names = [metric.name for metric in evaluator.sample_metrics]
    flat = grades["values"].explode().to_numpy().reshape(-1, max(1, len(names)))
    values = {}
    for at, name in enumerate(names):
        columns = np.full(len(systems) * len(questions), np.nan)
        columns[cell] = flat[:, at]
        values[name] = columns.reshape(len(systems), len(questions)).T
    failures = grades.select(cell=pl.Series(cell), failed="failed").drop_nulls("failed")
    failed = {}
    for at, name in enumerate(names):
        cells = failures.filter(pl.col("failed").list.get(at))["cell"].to_numpy()
        if len(cells):
            marked = np.zeros(len(systems) * len(questions), dtype=np.bool_)
            marked[cells] = True
            failed[name] = marked.reshape(len(systems), len(questions)).T
    return ScoreMatrices(systems, questions, values, failed)


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
