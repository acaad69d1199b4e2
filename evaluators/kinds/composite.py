"""Evaluators of evaluators: expressions over metrics that others have given."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.evaluator import NOT_A_PARAMETER, Evaluator
from evaluators.flows.digest import digest_of
from evaluators.flows.protocols import NO_ENGINES, Engines
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
    """Computes its metrics from the scores that other evaluators gave the same sample.

    A metric has a number only where every part that its expression mentions has one; otherwise it
    takes over the status of the part that is missing most gravely, and names it. So a metric that
    repeats a part keeps that number when another part is missing. Where the system failed to
    answer, a part that does not apply comes first: what is made of it does not apply either.

    Attributes:
        parts: The metrics it is made of, as `evaluator.metric`. The frame of samples has a column
            of that name for each, and `status:<part>` beside it (text, null where scored).
        part_signatures: The evaluators of the parts and digests of their signatures; set by the
            configuration and no parameter.
    """

    parts: ClassVar[tuple[str, ...]]
    reads: ClassVar[frozenset[str]] = frozenset()

    part_signatures: tuple[tuple[str, str], ...] = field(default=(), metadata=NOT_A_PARAMETER)

    def with_part_signatures(self, signatures: Mapping[str, str]) -> CompositeEvaluator:
        """The same evaluator, which knows the signatures of the evaluators it is made of."""
        part_signatures = tuple(
            (name, digest_of(signatures[name]))
            for name in sorted({part.partition(".")[0] for part in self.parts})
        )
        return replace(self, part_signatures=part_signatures)

    def identity(self) -> Sequence[str]:
        """The evaluators whose numbers it takes: other parameters there, other numbers here."""
        return [f"{name}:{digest}" for name, digest in self.part_signatures]

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
            status = pl.coalesce(pl.when(gap).then(pl.lit(kind.value)) for kind, _, gap in missing)
            reason = pl.coalesce(
                pl.when(gap).then(pl.lit(f"{part}: {kind.value}")) for kind, part, gap in missing
            )
            whole = pl.all_horizontal(pl.col(part).is_not_null() for part in parts)
            number = pl.when(whole).then(value.cast(pl.Float64))
            undefined = pl.when(number.is_null()).then(pl.lit(Status.UNDEFINED.value))
            why = pl.when(number.is_null()).then(pl.lit("the formula has no value here"))
            columns += [
                number.alias(name),
                pl.coalesce(status, undefined).alias(f"status:{name}"),
                pl.coalesce(reason, why).alias(f"reason:{name}"),
            ]
        return samples.select(columns)


def referenced_parts(expression: pl.Expr, parts: Sequence[str]) -> list[str]:
    """The parts that an expression looks at; all of them where it looks at none."""
    names = set(expression.meta.root_names())
    return [part for part in parts if part in names] or list(parts)


def _status(part: str) -> pl.Expr:
    return pl.col(f"status:{part}").fill_null(Status.NOT_APPLICABLE.value)
