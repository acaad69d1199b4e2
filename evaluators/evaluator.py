"""The contract of an evaluator: what its author declares and what follows from it."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Any, ClassVar

from evaluators.flows.protocols import NO_ENGINES, Engines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from evaluators.metric import Metric
    from evaluators.outcome import Graded, Scores


NOT_A_PARAMETER = {"settled": True}
"""Marks a field that is no parameter: the configuration settles it for all evaluators."""


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """Computes one or more metrics for a sample; the fields of a subclass are its parameters.

    Nobody but `scoring.score` calls the methods that compute.

    Attributes:
        metrics: What it measures with its default parameters; exactly one is primary.
        reads: The sample columns that it needs; a null in one of them: not applicable.
        optional: Sample columns that it also looks at and that may be null.
        non_empty: Those of `reads` in which an empty list or text counts as absent too.
        evidence: The fields of the detail that `aggregate` is given back, with their types.
        version: Raised whenever the numbers change for the same inputs and parameters.
        libraries: Distributions whose releases may change the numbers (a sentence splitter, a
            table of phone numbers); their installed versions are part of the signature.
        failure_is_worst: Whether a system that failed to answer gets the worst value; False where
            an empty text cannot be at fault (a leak, a loop): then it gets none.
    """

    metrics: ClassVar[tuple[Metric, ...]]
    reads: ClassVar[frozenset[str]]
    optional: ClassVar[frozenset[str]] = frozenset()
    non_empty: ClassVar[frozenset[str]] = frozenset()
    evidence: ClassVar[Mapping[str, pl.DataType | type[pl.DataType]]] = {}
    version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ()
    failure_is_worst: ClassVar[bool] = True
    name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the evaluator after its class: `EvidenceOverlap` is `evidence_overlap`."""
        super().__init_subclass__(**kwargs)
        cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs of it: the fields, and nothing that it only remembers."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def measured(self) -> tuple[Metric, ...]:
        """The metrics that these parameters give; `metrics` unless a parameter names more."""
        return self.metrics

    @cached_property
    def sample_metrics(self) -> tuple[Metric, ...]:
        """The metrics that every sample gets, in the order in which grades store them."""
        return tuple(metric for metric in self.measured() if metric.level == "sample")

    @cached_property
    def system_metrics(self) -> tuple[Metric, ...]:
        """The metrics that exist only for a whole set of samples."""
        return tuple(metric for metric in self.measured() if metric.level == "system")

    @property
    def columns(self) -> frozenset[str]:
        """Every sample column that it looks at."""
        return self.reads | self.optional

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters by name, of types that JSON knows."""
        own = [field.name for field in fields(self) if not field.metadata.get("settled")]
        values = {name: getattr(self, name) for name in own}
        plain: Mapping[str, Any] = json.loads(json.dumps(values, sort_keys=True))
        return plain

    @cached_property
    def signature(self) -> str:
        """The identity of its numbers: two scores are comparable when these texts are equal."""
        parts = [self.name]
        for name, value in sorted(self.parameters.items()):
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            parts.append(f"{name}:{text}")
        parts += [f"{name}=={installed_version(name)}" for name in sorted(self.libraries)]
        parts += self.identity()
        return "|".join([*parts, f"version:{self.version}"])

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Why else a sample may not be applicable, over `columns`: a text, null where it is.

        Beside a null in one of `reads`; for conditions that take several columns. They are looked
        at before anything is computed, so that they hold for a system that failed as well.
        """
        return ()

    def identity(self) -> Sequence[str]:
        """What else the numbers depend on, for the signature; a kind may know of something."""
        return ()

    @abstractmethod
    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:
        """Grade applicable samples; what each kind of evaluator implements.

        Args:
            samples: The key columns, `error`, and `columns`, with none of `reads` null.
            engines: What may be asked of the world.

        Returns:
            As many rows, in the same order: a Float64 column for each sample metric, and where
            there is something to say `status:<metric>`, `reason:<metric>` (text; a null value
            without a status is undefined) and `detail` (JSON text).
        """

    def aggregate(self, rows: pl.DataFrame) -> Scores | Graded:
        """Compute the system metrics from all graded samples of one system.

        Args:
            rows: One row a sample: the sample metrics (null where not scored), `status` (that of
                the primary metric) and the columns of `evidence`.

        Returns:
            A value, or the reason why there is none, for each system metric.
        """
        raise NotImplementedError(
            f"{self.name} declares system metrics but no aggregate ({rows.width})"
        )
