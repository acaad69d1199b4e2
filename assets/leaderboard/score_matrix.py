"""Score matrices: a row per question, a column per system; questions as 64-bit keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from evaluators.statistics.clusters import Groups, effective_clusters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric
    from evaluators.statistics.arrays import Booleans, Floats, Integers

    Keys: TypeAlias = NDArray[np.uint64]

ALL = "all"
"""The slice of all questions."""


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


def build_matrices(evaluator: Evaluator, grades: pl.DataFrame) -> ScoreMatrices:
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
