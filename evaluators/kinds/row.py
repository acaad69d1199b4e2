"""Evaluators of text: plain Python on one sample at a time."""

from __future__ import annotations

import json
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from evaluators.errors import BrokenPromise
from evaluators.evaluator import Evaluator
from evaluators.outcome import Graded, Scores, Unscored, graded
from evaluators.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class RowEvaluator(Evaluator):
    """Computes its metrics for one sample after the other.

    Samples with equal inputs are graded once: many systems give the same answer.
    """

    @abstractmethod
    def grade(self, sample: Sample) -> Scores | Graded:
        """Give every sample metric its value, or the reason why it has none.

        Raises:
            Unscored: When the reason holds for all metrics.
        """

    def compute(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Grade each different sample that the system answered; see the base class."""
        names = [metric.name for metric in self.sample_metrics]
        inputs = samples.select(sorted(self.columns | {"error"}))
        different = inputs.unique(maintain_order=True)
        rows = []
        for row in different.iter_rows(named=True):
            if row["error"] is not None:
                rows.append(dict.fromkeys(names))
                continue
            sample = Sample(benchmark="", system="", question_id="", **row)
            rows.append(record(self.name, names, self._attempt(sample)))
        results = pl.DataFrame(rows, schema=record_schema(names))
        if different.height == inputs.height:
            return results
        answered = pl.concat([different, results], how="horizontal")
        return inputs.join(
            answered, on=inputs.columns, how="left", nulls_equal=True, maintain_order="left"
        ).drop(inputs.columns)

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
        scores: Mapping[str, float | Unscored] = dict.fromkeys(names, result)
        detail = None
    else:
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
            row |= {name: float(score), f"status:{name}": None, f"reason:{name}": None}
    row["detail"] = None if detail is None else json.dumps(detail, ensure_ascii=False)
    return row


def record_schema(names: list[str]) -> dict[str, type[pl.DataType]]:
    """The columns of the frame that `record` makes rows for, with their types."""
    schema: dict[str, type[pl.DataType]] = {}
    for name in names:
        schema |= {name: pl.Float64, f"status:{name}": pl.String, f"reason:{name}": pl.String}
    return schema | {"detail": pl.String}
