"""Classification: the label that a system gave against the expected one."""

from __future__ import annotations

import string
from collections import Counter
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined, Value
from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evaluators.statistics.arrays import Booleans, Floats, Integers

_TWO = 2
_MARKS = ".!\"'`*"


def _system(name: str, summary: str) -> Metric:
    return Metric(name=name, summary=summary, level="system")


@dataclass(frozen=True, kw_only=True)
class Classification(FrameEvaluator):
    """Is the label the right one?

    A sample is right when its label (the field `label`; where it is missing or empty, the answer)
    equals the expected label. Precision, recall and F1 exist only for a whole set: they are
    computed for each label that is expected anywhere in the set from the table of expected against
    given labels, and averaged: macro (every label alike), weighted (by how often a label is
    expected) and micro (the counts of all labels pooled). A label that was never given has
    precision 0.

    Sources: scikit-learn's definitions with `zero_division=0` over the expected labels.

    Edges: labels are compared exactly unless `normalize` is set, except that composed and
    decomposed letters (NFC, NFD) are equal. An empty answer is the label "". A
    given label that is never expected is wrong, has its own column in the confusion matrix, and is
    not part of the macro average; so micro F1 can differ from accuracy. A label that is neither
    expected in the set (or slice) nor listed in `labels` is not part of any average; a listed label
    that is never expected counts with 0 in the macro averages and not at all in the weighted ones.
    So list the labels if you compare slices in which some are missing. With few samples of a label
    its precision, recall and F1 jump, and the macro averages with them: their intervals come from
    leaving out parts of the samples, and are approximate where a label is rare.

    A failed answer is the label "" in the confusion matrix. In precision and F1 it counts as the
    wrong label that lowers the average most, so that failing never pays.

    Attributes:
        normalize: Ignore case, repeated spaces, and spaces and the marks . ! " ' ` * at both ends.
        labels: The labels to average over; empty for those that are expected in the set. With
            `normalize` they may be written in any of the forms that count as equal.
        positive_label: With two labels: report precision, recall and F1 of this one instead of
            the macro average.
    """

    metrics = (
        Metric(
            name="accuracy",
            pass_fail=True,
            summary="Whether the label is the expected one.",
            primary=True,
        ),
        _system("precision", "Precision, averaged over the expected labels."),
        _system("recall", "Recall, averaged over the expected labels."),
        _system("f1", "F1, averaged over the expected labels."),
        _system("micro_precision", "Precision of the counts of all expected labels together."),
        _system("micro_recall", "Recall of the counts of all expected labels together."),
        _system("micro_f1", "F1 of the counts of all expected labels together."),
        _system("weighted_precision", "Precision, averaged by how often a label is expected."),
        _system("weighted_recall", "Recall, averaged by how often a label is expected."),
        _system("weighted_f1", "F1, averaged by how often a label is expected."),
    )
    reads = frozenset({"expected_label"})
    optional = frozenset({"label", "answer"})
    non_empty = frozenset({"expected_label"})
    evidence: ClassVar[Mapping[str, type[pl.DataType] | pl.DataType]] = {
        "expected": pl.String,
        "given": pl.String,
    }
    version = 3

    normalize: bool = False
    labels: tuple[str, ...] = ()
    positive_label: str | None = None

    def __post_init__(self) -> None:
        """Validate the labels.

        Raises:
            ValueError: A label is repeated, or `positive_label` is not one of two `labels`.
        """
        labels = self._labels
        if len(set(labels)) < len(labels):
            raise ValueError(f"labels are repeated: {list(self.labels)}")
        wrong = len(labels) != _TWO or self._positive not in labels
        if self.positive_label is not None and self.labels and wrong:
            raise ValueError(
                f"positive_label {self.positive_label!r} needs exactly two labels, one of "
                f"them it; got {list(self.labels)}"
            )

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Select the expected and the given label."""
        # Empty where the system gives labels for other samples only.
        label = pl.when(pl.col("label") != "").then("label")
        given = pl.coalesce(label, "answer", pl.lit(""))
        pair = samples.select(expected="expected_label", given=given).select(
            pl.all().str.normalize("NFC")
        )
        if not self.normalize:
            return pair
        different = pl.concat([pair["expected"], pair["given"]]).unique()
        plain = {label: _plain(label) for label in different}
        return pair.select(pl.all().replace_strict(plain, return_dtype=pl.String))

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Whether the two labels are equal."""
        return {"accuracy": pl.col("expected") == pl.col("given")}

    def counted(self) -> pl.Expr:
        """Return the samples with an expected label, those of failed answers included."""
        return pl.col("expected").is_not_null()

    def aggregate(self, rows: pl.DataFrame) -> Graded:
        """Average over the labels of the confusion matrix."""
        # Most sets are so small that planning a Polars query takes longer than all else.
        table = Counter(zip(rows["expected"].to_list(), rows["given"].to_list(), strict=True))
        labels = self._labels or sorted({expected for expected, _ in table})
        others = sorted({label for pair in table for label in pair} - set(labels))
        axis = [*labels, *others]
        matrix = [[table.get((row, column), 0) for column in axis] for row in axis]
        detail = {"labels": labels, "unexpected": others, "confusion_matrix": matrix}
        return Graded(self._averages(labels, table, int(rows["failed"].sum())), detail)

    def aggregate_without(
        self, rows: pl.DataFrame, parts: Integers, count: int
    ) -> Mapping[str, Floats] | None:
        """Subtract the counts of each part from those of all samples."""
        if self.positive_label is not None or rows["failed"].any():
            return None
        labels = self._labels or rows["expected"].unique().sort().to_list()
        # Other labels are the last one.
        known = pl.Enum(labels)
        expected, given = (
            rows[name].cast(known, strict=False).to_physical().fill_null(len(labels)).to_numpy()
            for name in ("expected", "given")
        )

        def rest(label: NDArray[Any], chosen: Booleans | slice) -> Integers:
            cell = parts[chosen] * (len(labels) + 1) + label[chosen]
            counts = np.bincount(cell, minlength=count * (len(labels) + 1))
            by_part = counts.reshape(count, -1)[:, : len(labels)]
            left: Integers = by_part.sum(axis=0) - by_part
            return left

        everything = slice(None)
        right, support = rest(expected, expected == given), rest(expected, everything)
        averaged = np.ones_like(support) if self._labels else (support > 0).astype(np.int64)
        named = rest(given, everything) * averaged
        totals = [each.sum(axis=-1) for each in (right, named, support)]
        values = {
            "micro_precision": _shares(totals[0], totals[1]),
            "micro_recall": _shares(totals[0], totals[2]),
            "micro_f1": _shares(2 * totals[0], totals[1] + totals[2]),
        }
        for name, part, whole in (
            ("precision", right, named),
            ("recall", right, support),
            ("f1", 2 * right, named + support),
        ):
            values[name] = _means(_shares(part, whole), averaged)
            values[f"weighted_{name}"] = _means(_shares(part, whole), support)
        return values

    @property
    def _labels(self) -> list[str]:
        """The labels to average over, in the form in which they are compared."""
        return [(_plain if self.normalize else compose)(label) for label in self.labels]

    @property
    def _positive(self) -> str | None:
        """The positive label, in the form in which it is compared."""
        label = self.positive_label
        return None if label is None else (_plain if self.normalize else compose)(label)

    def _averages(
        self, labels: list[str], table: Mapping[tuple[str, str], int], failed: int
    ) -> dict[str, Value]:
        right = [table.get((label, label), 0) for label in labels]
        support = [sum(n for (row, _), n in table.items() if row == label) for label in labels]
        given = [sum(n for (_, column), n in table.items() if column == label) for label in labels]
        both = [a + b for a, b in zip(given, support, strict=True)]
        pooled = (sum(right), sum(given) + failed, sum(support))
        values: dict[str, Value] = {
            "micro_precision": _ratio(pooled[0], pooled[1]),
            "micro_recall": _ratio(pooled[0], pooled[2]),
            "micro_f1": _ratio(2 * pooled[0], pooled[1] + pooled[2]),
        }
        chosen = self._main(labels)
        doubled = [2 * count for count in right]
        for name, parts, wholes, wrong in (
            ("precision", right, given, failed),
            ("recall", right, support, 0),
            ("f1", doubled, both, failed),
        ):
            values[f"weighted_{name}"] = _lowest_mean(parts, wholes, support, wrong)
            values[name] = (
                _lowest_mean(parts, wholes, chosen, wrong) if isinstance(chosen, list) else chosen
            )
        return values

    def _main(self, labels: list[str]) -> list[int] | Undefined:
        """Return the weight of each label in precision, recall and F1."""
        if self.positive_label is None:
            return [1] * len(labels)
        if len(labels) != _TWO or self._positive not in labels:
            return Undefined(
                f"positive_label {self.positive_label!r} needs exactly two labels, found {labels}"
            )
        return [int(label == self._positive) for label in labels]


def _shares(part: Integers, whole: Integers) -> Floats:
    """Return quotients; 0 where the whole is 0."""
    shares: Floats = np.where(whole > 0, part / np.maximum(whole, 1), 0.0)
    return shares


def _means(shares: Floats, weights: Integers) -> Floats:
    """Return weighted means over the last axis; NaN without weights. Adds up from the left."""
    total = weights.sum(axis=-1)
    sums: Floats = np.add.accumulate(shares * weights, axis=-1)[..., -1]
    return np.where(total > 0, sums / np.maximum(total, 1), np.nan)


def _plain(label: str) -> str:
    text = label.strip().casefold().strip(_MARKS + string.whitespace)
    return compose(" ".join(text.split()))


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _lowest_mean(parts: list[int], wholes: list[int], weights: list[int], wrong: int) -> Value:
    """Return the lowest weighted mean of part / whole with `wrong` more to add to the wholes.

    Each addition goes where it lowers the mean most. This finds the lowest mean of all ways to
    distribute them, because the gain of a further addition to the same whole only shrinks. Any
    wrong labels in place of the failed answers would give at least this mean.

    Args:
        parts: The counts of right labels.
        wholes: The counts they are shares of; a share of nothing is 0.
        weights: The weights of the labels.
        wrong: The number of failed answers.
    """
    total = sum(weights)
    if not total:
        return Undefined("no sample has one of the labels")
    wholes = list(wholes)
    heap = [
        (-weight * part / (whole * (whole + 1)), at)
        for at, (part, whole, weight) in enumerate(zip(parts, wholes, weights, strict=True))
        if part
    ]
    heapify(heap)
    for _ in range(wrong if heap else 0):
        at = heap[0][1]
        wholes[at] += 1
        whole = wholes[at]
        heapreplace(heap, (-weights[at] * parts[at] / (whole * (whole + 1)), at))
    shares = map(_ratio, parts, wholes)
    return sum(share * weight for share, weight in zip(shares, weights, strict=True)) / total
