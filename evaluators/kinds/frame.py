"""Frame evaluators: Polars expressions over identifiers and numbers of millions of samples."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.evaluator import Evaluator
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.outcome import Status

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, kw_only=True)
class FrameEvaluator(Evaluator):
    """Computes its metrics with expressions over a whole frame of samples.

    Attributes:
        undefined: The reason where an expression gives null.
    """

    undefined: ClassVar[str] = "the formula has no value for this sample"

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Add columns that several expressions share; keep the rows and their order."""
        return samples

    @abstractmethod
    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return each sample metric as an expression over that frame; null where undefined."""

    def evidence_expressions(self) -> Mapping[str, pl.Expr]:
        """Return each field of the detail as an expression over that frame."""
        return {name: pl.col(name) for name in self.evidence}

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:  # noqa: ARG002
        """Evaluate all expressions at once; see the base class."""
        values = {name: expr.cast(pl.Float64) for name, expr in self.expressions().items()}
        columns = [expr.alias(name) for name, expr in values.items()]
        evidence = self.evidence_expressions()
        if evidence:
            packed = pl.struct(
                [expr.alias(name) for name, expr in evidence.items()]
            ).struct.json_encode()
            columns.append(packed.alias("detail"))
        result = self.prepare(samples).select(columns)
        gaps = [name for name in values if result[name].has_nulls()]
        return result.with_columns(
            *(
                pl.when(pl.col(name).is_null()).then(pl.lit(text)).alias(f"{kind}:{name}")
                for name in gaps
                for kind, text in (("status", Status.UNDEFINED.value), ("reason", self.undefined))
            )
        )
