"""Evaluators of text: plain Python on one sample at a time."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from evaluators.errors import BrokenPromise
from evaluators.evaluator import Evaluator
from evaluators.outcome import Graded, Scores, TargetError, Unscored, graded
from evaluators.sample import Sample


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
            The metrics that do not apply to it, and the evidence that `fold` needs of it; all
            other metrics get what a failed answer is worth.
        """
        return Graded({})

    def compute(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Grade each different sample that the system answered; see the base class."""
        names = [metric.name for metric in self.sample_metrics]
        inputs = samples.select(sorted(self.columns | {"error"}))
        different = inputs.unique(maintain_order=True)
        order = self._order(different)
        rows = []
        for row in different[order].iter_rows(named=True):
            sample = Sample(benchmark="", system="", question_id="", **row)
            if sample.error is None:
                rows.append(record(self.name, names, self._attempt(sample)))
                continue
            special = self.on_failure(sample)
            failed = dict.fromkeys(names, TargetError("the system gave no answer"))
            rows.append(
                record(self.name, names, replace(special, scores={**failed, **special.scores}))
            )
        results = pl.DataFrame(rows, schema=record_schema(names))[order.arg_sort()]
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
            return graded(self.grade(sample))
        except Unscored as reason:
            return reason


def record(evaluator: str, names: list[str], result: Graded | Unscored) -> dict[str, Any]:
    """Turn what came of one sample into a row of the frame that `compute` returns.

    Raises:
        BrokenPromise: When other metrics came back than `names`.
    """
    if isinstance(result, Unscored):
        result = Graded(dict.fromkeys(names, result))
    scores, detail = result.scores, result.detail
    if set(scores) != set(names):
        raise BrokenPromise(
            f"{evaluator}: promised the metrics {sorted(names)}, returned {sorted(scores)}"
        )
    row: dict[str, Any] = {}
    for name in names:
        score = scores[name]
        if isinstance(score, Unscored):
            row |= {
                name: None,
                f"status:{name}": score.status.value,
                f"reason:{name}": score.reason,
            }
        else:
            row |= {name: float(score), f"status:{name}": None, f"reason:{name}": result.remark}
    row["detail"] = None if detail is None else json.dumps(detail, ensure_ascii=False)
    return row


def record_schema(names: list[str]) -> dict[str, type[pl.DataType]]:
    """The columns of the frame that `record` makes rows for, with their types."""
    schema: dict[str, type[pl.DataType]] = {}
    for name in names:
        schema |= {name: pl.Float64, f"status:{name}": pl.String, f"reason:{name}": pl.String}
    return schema | {"detail": pl.String}
