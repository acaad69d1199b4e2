"""Row evaluators: plain Python on one sample at a time."""

from __future__ import annotations

import inspect
import json
import traceback
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from evaluators.errors import BrokenPromise, EvaluatorError
from evaluators.evaluator import Evaluator
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.outcome import Graded, Scores, TargetError, Undefined, Unscored, as_graded
from evaluators.sample import KEYS, Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


_NUMBER = "number:"
"""A column that no metric can be called after."""


@dataclass(frozen=True, kw_only=True)
class RowEvaluator(Evaluator):
    """Computes its metrics sample by sample.

    Samples with equal inputs are scored once, because systems often give the same answer.

    Attributes:
        shared: Columns that many samples have in common, such as the expected answers. Samples
            that agree in them are scored consecutively, so that a small cache is enough.
    """

    shared: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def grade(self, sample: Sample) -> Scores | Graded:
        """Return each sample metric's value, or the reason why it has none.

        Raises:
            Unscored: The reason holds for all metrics.
        """

    def on_failure(self, sample: Sample) -> Graded:  # noqa: ARG002 - overridden where it matters
        """Return the scores of a failed answer that differ from the worst value.

        Returns:
            The metrics that are not applicable, and the evidence that `aggregate` needs. All
            other metrics get their worst value.
        """
        return Graded({})

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:  # noqa: ARG002
        """Score each distinct sample; see the base class."""
        names = [metric.name for metric in self.sample_metrics]
        inputs = samples.select(sorted(self.columns | {"error"}))
        distinct = inputs.unique(maintain_order=True)
        order = self._order(distinct)
        rows = []
        for row in distinct[order].iter_rows(named=True):
            sample = Sample.of({**dict.fromkeys(KEYS, ""), **row})
            if sample.error is None:
                result = self._attempt(sample, partial(_describe_first, samples, row))
            else:
                special = self.on_failure(sample)
                failed = dict.fromkeys(names, TargetError("the system gave no answer"))
                result = replace(special, scores={**failed, **special.scores})
            rows.append(outcome_row(self.name, names, result))
        results = outcome_frame(names, rows)[order.arg_sort()]
        if distinct.height == inputs.height:
            return results
        # Joined by a number: a metric may have the name of an input.
        numbered = inputs.join(
            distinct.with_row_index(_NUMBER),
            on=inputs.columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return results[numbered[_NUMBER]]

    def _order(self, samples: pl.DataFrame) -> pl.Series:
        """Return an order of the samples in which those that agree in `shared` are consecutive."""
        if not self.shared:
            return pl.Series(range(samples.height), dtype=pl.UInt32)
        key = pl.struct(self.shared).hash()
        return samples.select(key.arg_sort()).to_series()

    def _attempt(self, sample: Sample, describe: Callable[[], str]) -> Graded | Unscored:
        try:
            return as_graded(self.grade(sample))
        except Unscored as reason:
            return reason
        except Exception as error:  # noqa: BLE001 - raised again unless the evaluator is a user's
            return explain_error(self, error, describe)


def _describe_first(samples: pl.DataFrame, row: Mapping[str, Any]) -> str:
    """Return which is the first sample with the values of a row; empty if samples have no names."""
    if not set(KEYS) <= set(samples.columns):
        return ""
    for keys, values in zip(
        samples.select(KEYS).iter_rows(), samples.select(list(row)).iter_rows(), strict=True
    ):
        if values == tuple(row.values()):
            names = zip(("benchmark", "system", "question"), keys, strict=True)
            return "; " + ", ".join(f"{what} {name!r}" for what, name in names)
    return ""


def explain_error(evaluator: Evaluator, error: Exception, describe: Callable[[], str]) -> Unscored:
    """Return why a sample has no score for which an evaluator raised an exception.

    Args:
        evaluator: The evaluator.
        error: The exception.
        describe: Returns the end of a message that names the sample.

    Raises:
        EvaluatorError: The evaluator says that this ends the run. The exceptions of evaluators of
            the catalogue are defects, and propagate.
    """
    if not evaluator.code:
        raise error
    frames = traceback.extract_tb(error.__traceback__)
    home = inspect.getsourcefile(type(evaluator))
    place = next((each for each in reversed(frames) if each.filename == home), frames[-1])
    where = f"{Path(place.filename).name}:{place.lineno}"
    message = f"{type(error).__name__}: {error} ({where})"
    if evaluator.on_error == "fail":
        raise EvaluatorError(f"{evaluator.name}: {message}{describe()}") from error
    return Undefined(message, of_run=True)


def outcome_row(evaluator: str, names: Sequence[str], result: Graded | Unscored) -> tuple[Any, ...]:
    """Make a row of the frame that `compute` returns from the outcome of one sample.

    Returns:
        The values, the statuses, the reasons and `of_run` of all metrics, and the detail.

    Raises:
        BrokenPromise: The metrics are not those in `names`.
    """
    if isinstance(result, Unscored):
        result = Graded(dict.fromkeys(names, result))
    scores, detail, remark = result.scores, result.detail, result.remark
    if len(scores) != len(names) or any(name not in scores for name in names):
        raise BrokenPromise(
            f"{evaluator}: declared the metrics {sorted(names)}, returned {sorted(scores)}"
        )
    values: list[float | None] = []
    statuses: list[str | None] = []
    reasons: list[str | None] = []
    of_run: list[bool] = []
    for name in names:
        score = scores[name]
        of_run.append(isinstance(score, Unscored) and score.of_run)
        if isinstance(score, Unscored):
            values.append(None)
            statuses.append(score.status.value)
            reasons.append(score.reason)
        else:
            values.append(float(score))
            statuses.append(None)
            reasons.append(remark)
    text = None if detail is None else json.dumps(detail, ensure_ascii=False)
    return (*values, *statuses, *reasons, *of_run, text)


def outcome_frame(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Make the frame that `compute` returns from the rows of `outcome_row`."""
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(names, pl.Float64)
    schema |= {f"{kind}:{name}": pl.String for kind in ("status", "reason") for name in names}
    schema |= {f"of_run:{name}": pl.Boolean for name in names}
    schema["detail"] = pl.String
    # Polars is ten times slower from rows than from columns.
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return pl.DataFrame(dict(zip(schema, map(list, columns), strict=True)), schema=schema)
