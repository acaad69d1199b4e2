"""Composite evaluators: expressions over the metrics of other evaluators."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.evaluator import NOT_A_PARAMETER, Evaluator
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.flows.reply import digest_of
from evaluators.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORST_FIRST = (
    Status.JUDGE_ERROR,
    Status.PARSE_FAILURE,
    Status.TARGET_ERROR,
    Status.UNDEFINED,
    Status.NOT_APPLICABLE,
)


@dataclass(frozen=True, kw_only=True)
class CompositeEvaluator(Evaluator):
    """Computes its metrics from other evaluators' scores of the same sample.

    A metric has a value only where every part in its expression has one. Otherwise it takes the
    most severe status among the missing parts, and the reason names that part. A metric that only
    repeats one part does not depend on the others. For a failed answer, `not_applicable` is the
    most severe status: a metric made of such a part is not applicable either.

    Attributes:
        parts: The metrics in the expressions, as `evaluator.metric`. The samples have a column of
            that name for each, and a column `status:<part>` (text, null where scored).
        part_signatures: The parts' evaluators with digests of their signatures. The configuration
            sets it; it is not a parameter.
    """

    parts: ClassVar[tuple[str, ...]]
    reads: ClassVar[frozenset[str]] = frozenset()

    part_signatures: tuple[tuple[str, str], ...] = field(default=(), metadata=NOT_A_PARAMETER)

    def with_part_signatures(self, signatures: Mapping[str, str]) -> CompositeEvaluator:
        """Return the same evaluator with the signatures of its parts' evaluators."""
        part_signatures = tuple(
            (name, digest_of(signatures[name]))
            for name in sorted({part.partition(".")[0] for part in self.parts})
        )
        return replace(self, part_signatures=part_signatures)

    def identity(self) -> Sequence[str]:
        """Return the signatures of the parts: their parameters change these numbers too."""
        return [f"{name}:{digest}" for name, digest in self.part_signatures]

    @property
    def columns(self) -> frozenset[str]:
        """The sample columns that it reads and the scores of its parts."""
        scores = {column for part in self.parts for column in (part, f"status:{part}")}
        return super().columns | scores

    @abstractmethod
    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return each sample metric as an expression over its parts; null where undefined."""

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:  # noqa: ARG002
        """Evaluate the expressions where all parts are scored; see the base class."""
        failed = pl.col("error").is_not_null()
        order = [(Status.NOT_APPLICABLE, failed), *((kind, pl.lit(True)) for kind in _WORST_FIRST)]
        columns = []
        for name, value in self.expressions().items():
            parts = referenced_parts(value, self.parts)
            missing = [
                (kind, part, where & pl.col(part).is_null() & (_status(part) == kind.value))
                for kind, where in order
                for part in parts
            ]
            status = pl.coalesce(
                pl.when(is_missing).then(pl.lit(kind.value)) for kind, _, is_missing in missing
            )
            reason = pl.coalesce(
                pl.when(is_missing).then(pl.lit(f"{part}: {kind.value}"))
                for kind, part, is_missing in missing
            )
            complete = pl.all_horizontal(pl.col(part).is_not_null() for part in parts)
            number = pl.when(complete).then(value.cast(pl.Float64))
            undefined = pl.when(number.is_null()).then(pl.lit(Status.UNDEFINED.value))
            why = pl.when(number.is_null()).then(pl.lit("the formula has no value here"))
            columns += [
                number.alias(name),
                pl.coalesce(status, undefined).alias(f"status:{name}"),
                pl.coalesce(reason, why).alias(f"reason:{name}"),
                # A status does not tell whether the sample or the run is the reason.
                (status == Status.NOT_APPLICABLE.value).alias(f"of_run:{name}"),
            ]
        return samples.select(columns)


def referenced_parts(expression: pl.Expr, parts: Sequence[str]) -> list[str]:
    """Return the parts in an expression, or all parts if there are none in it."""
    names = set(expression.meta.root_names())
    return [part for part in parts if part in names] or list(parts)


def _status(part: str) -> pl.Expr:
    return pl.col(f"status:{part}").fill_null(Status.NOT_APPLICABLE.value)
