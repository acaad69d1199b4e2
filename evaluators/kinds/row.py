"""Evaluators of text: plain Python on one sample at a time."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from evaluators.errors import BrokenPromise
from evaluators.evaluator import Evaluator
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.outcome import Graded, Scores, TargetError, Unscored, as_graded
from evaluators.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, kw_only=True)
class RowEvaluator(Evaluator):
    """Computes its metrics for one sample after the other.

    Samples with equal inputs are graded once: many systems give the same answer.

    Attributes:
        shared: Columns that many samples have in common, such as the reference that all systems
            are held against. Samples that agree in them are graded one after the other, so that
            a small cache of what was made of them is enough.
    """

    shared: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def grade(self, sample: Sample) -> Scores | Graded:
        """Give every sample metric its value, or the reason why it has none.

        Raises:
            Unscored: When the reason holds for all metrics.
        """

    def on_failure(self, sample: Sample) -> Graded:  # noqa: ARG002 - for those who override it
        """Say what scoring cannot know of a sample that the system failed to answer.

        Returns:
            The metrics that do not apply to it, and the evidence that `aggregate` needs of it; all
            other metrics get what a failed answer is worth.
        """
        return Graded({})

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:  # noqa: ARG002
        """Grade each different sample that the system answered; see the base class."""
        names = [metric.name for metric in self.sample_metrics]
        inputs = samples.select(sorted(self.columns | {"error"}))
        different = inputs.unique(maintain_order=True)
        order = self._order(different)
        rows = []
        for row in different[order].iter_rows(named=True):
            sample = Sample(benchmark="", system="", question_id="", **row)
            if sample.error is None:
                result = self._attempt(sample)
            else:
                special = self.on_failure(sample)
                failed = dict.fromkeys(names, TargetError("the system gave no answer"))
                result = replace(special, scores={**failed, **special.scores})
            rows.append(outcome_row(self.name, names, result))
        results = outcome_frame(names, rows)[order.arg_sort()]
        if different.height == inputs.height:
            return results
        answered = pl.concat([different, results], how="horizontal")
        return inputs.join(
            answered, on=inputs.columns, how="left", nulls_equal=True, maintain_order="left"
        ).drop(inputs.columns)

    def _order(self, samples: pl.DataFrame) -> pl.Series:
        """The positions of the samples, those together that agree in `shared`."""
        if not self.shared:
            return pl.Series(range(samples.height), dtype=pl.UInt32)
        key = pl.struct(self.shared).hash()
        return samples.select(key.arg_sort()).to_series()

    def _attempt(self, sample: Sample) -> Graded | Unscored:
        try:
            return as_graded(self.grade(sample))
        except Unscored as reason:
            return reason


def outcome_row(evaluator: str, names: Sequence[str], result: Graded | Unscored) -> tuple[Any, ...]:
    """Turn what came of one sample into a row of the frame that `compute` returns.

    Returns:
        The values, the statuses and the reasons of all metrics, and the detail.

    Raises:
        BrokenPromise: When other metrics came back than `names`.
    """
    if isinstance(result, Unscored):
        result = Graded(dict.fromkeys(names, result))
    scores, detail, remark = result.scores, result.detail, result.remark
    if len(scores) != len(names) or any(name not in scores for name in names):
        raise BrokenPromise(
            f"{evaluator}: promised the metrics {sorted(names)}, returned {sorted(scores)}"
        )
    values: list[float | None] = []
    statuses: list[str | None] = []
    reasons: list[str | None] = []
    for name in names:
        score = scores[name]
        if isinstance(score, Unscored):
            values.append(None)
            statuses.append(score.status.value)
            reasons.append(score.reason)
        else:
            values.append(float(score))
            statuses.append(None)
            reasons.append(remark)
    text = None if detail is None else json.dumps(detail, ensure_ascii=False)
    return (*values, *statuses, *reasons, text)


def outcome_frame(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """The frame that `compute` returns, of rows that `record` makes."""
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.Float64)
    schema |= {f"{kind}:{name}": pl.String for kind in ("status", "reason") for name in names}
    schema["detail"] = pl.String
    # Column by column: from rows Polars makes a frame ten times as slowly.
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(dict(zip(schema, map(list, columns), strict=True)), schema=schema)
