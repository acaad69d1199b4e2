"""Evaluators of evaluators: expressions over metrics that others have given."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.engines.contract import NO_ENGINES, Engines
from evaluators.evaluator import Evaluator
from evaluators.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORST_FIRST = (
    Status.JUDGE_ERROR,
    Status.PARSE_FAILURE,
    Status.TARGET_ERROR,
    Status.UNDEFINED,
    Status.NOT_APPLICABLE,
)


@dataclass(frozen=True, kw_only=True)
class CompositeEvaluator(Evaluator):
    """Computes its metrics from the scores that other evaluators gave the same sample.

    A composite has a number only where every part has one; otherwise it takes over the status of
    the part that is missing most gravely, and names it.

    Attributes:
        parts: The metrics it is made of, as `evaluator.metric`. The frame of samples has a column
            of that name for each, and `status:<part>` beside it (text, null where scored).
    """

    parts: ClassVar[tuple[str, ...]]
    reads: ClassVar[frozenset[str]] = frozenset()

    @property
    def columns(self) -> frozenset[str]:
        """The sample columns it looks at and the scores of its parts."""
        scores = {column for part in self.parts for column in (part, f"status:{part}")}
        return super().columns | scores

    @abstractmethod
    def expressions(self) -> Mapping[str, pl.Expr]:
        """The value of each sample metric from the columns of its parts; null where undefined."""

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:  # noqa: ARG002
        """Evaluate the expressions where all parts are scored; see the base class."""
        missing = [
            (status, part, pl.col(part).is_null() & (_status(part) == status.value))
            for status in _WORST_FIRST
            for part in self.parts
        ]
        status = pl.coalesce(pl.when(gap).then(pl.lit(kind.value)) for kind, _, gap in missing)
        reason = pl.coalesce(
            pl.when(gap).then(pl.lit(f"{part}: {kind.value}")) for kind, part, gap in missing
        )
        columns = []
        for name, value in self.expressions().items():
            whole = pl.all_horizontal(pl.col(part).is_not_null() for part in self.parts)
            number = pl.when(whole).then(value.cast(pl.Float64))
            undefined = pl.when(number.is_null()).then(pl.lit(Status.UNDEFINED.value))
            why = pl.when(number.is_null()).then(pl.lit("the formula has no value here"))
            columns += [
                number.alias(name),
                pl.coalesce(status, undefined).alias(f"status:{name}"),
                pl.coalesce(reason, why).alias(f"reason:{name}"),
            ]
        return samples.select(columns)


def _status(part: str) -> pl.Expr:
    return pl.col(f"status:{part}").fill_null(Status.NOT_APPLICABLE.value)
