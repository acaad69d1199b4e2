"""The base class of all evaluators: what an author declares, and what follows from it."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Set as AbstractSet
from dataclasses import Field, dataclass, field, fields
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import polars as pl

from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.metric import metrics_of_repeats
from evaluators.sample import ANSWER_COLUMNS, COLUMNS, SAMPLE_COLUMNS
from evaluators.text.references import NON_BLANK, no_reference_reason
from records.packages import require_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.metric import Metric, RepeatedMetric
    from evaluators.outcome import Chance, Graded, Scores
    from evaluators.statistics.arrays import Floats, Integers


NOT_A_PARAMETER = {"is_parameter": False}
"""Metadata of a field that the configuration sets for all evaluators; it is not a parameter."""


def parameter_fields(evaluator: Evaluator | type[Evaluator]) -> list[Field[Any]]:
    """Return the dataclass fields that are parameters."""
    return [each for each in fields(evaluator) if each.metadata.get("is_parameter", True)]


def parameter_name(field: Field[Any]) -> str:
    """Return what a parameter is called in configurations.

    A field whose name would be that of an attribute of all evaluators ends in an underscore.
    """
    return field.name.removesuffix("_")


@dataclass(frozen=True, kw_only=True)
class Evaluator(ABC):
    """Computes one or more metrics for a sample; the fields of a subclass are its parameters.

    Only the module `scoring` calls `compute` and `aggregate`.

    Attributes:
        metrics: The metrics with the default parameters; exactly one is primary.
        reads: The required sample columns. A null in one of them means not applicable.
        optional: Sample columns that are read too and may be null.
        non_empty: Columns of `reads` in which an empty list or text also counts as missing.
        evidence: The fields of the detail that `aggregate` reads, with their types.
        version: Raise it when the numbers change for the same inputs and parameters.
        libraries: Distributions whose releases may change the numbers (a sentence splitter, a
            table of phone numbers). Their installed versions are part of the signature, and a run
            without one of them ends before anything is paid.
        code: The digest of the code of an evaluator that is not part of the catalogue, set when it
            is loaded. It is part of the signature.
        on_error: What happens to a sample for which such an evaluator raises an exception: it is
            `undefined`, with the reason, or the run fails.
        failure_is_worst: Whether a failed answer gets the worst value. False where an empty text
            cannot be at fault (a leak, a loop): then the answer gets no value.
        repeats: The number of answers to a question, where scores are means of several; see
            `metrics_of_repeats`.
        least_repeats: The smallest number of answers to a question; None: as many as `repeats`.
        only_systems: The systems whose samples are scored; empty for all.
        no_data: What a sample has for which a metric is not applicable or undefined: no value, or
            `zero` as in sources that have no other.
    """

    metrics: ClassVar[tuple[Metric, ...]]
    reads: ClassVar[frozenset[str]]
    optional: ClassVar[frozenset[str]] = frozenset()
    non_empty: ClassVar[frozenset[str]] = frozenset()
    evidence: ClassVar[Mapping[str, pl.DataType | type[pl.DataType]]] = {}
    version: ClassVar[int] = 1
    libraries: ClassVar[tuple[str, ...]] = ()
    failure_is_worst: ClassVar[bool] = True
    code: ClassVar[str] = ""
    on_error: ClassVar[Literal["undefined", "fail"]] = "undefined"
    name: ClassVar[str]

    repeats: int = field(default=1, metadata=NOT_A_PARAMETER)
    least_repeats: int | None = field(default=None, metadata=NOT_A_PARAMETER)
    only_systems: tuple[str, ...] = field(default=(), metadata=NOT_A_PARAMETER)
    no_data: Literal["unscored", "zero"] = field(default="unscored", metadata=NOT_A_PARAMETER)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Name the evaluator after its class: `EvidenceOverlap` is `evidence_overlap`.

        Raises:
            TypeError: The columns that it reads are not a set of names.
        """
        super().__init_subclass__(**kwargs)
        for name in ("reads", "optional", "non_empty"):
            given = cls.__dict__.get(name, frozenset())
            is_set = isinstance(given, AbstractSet)
            if not is_set or not all(isinstance(each, str) for each in given):
                raise TypeError(
                    f"{cls.__name__}.{name}: expected a set of column names, such as "
                    f'frozenset({{"answer"}}), found {given!r}'
                )
        cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields only, without cached properties."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics for these parameters; `metrics` unless a parameter changes them."""
        return self.metrics

    @cached_property
    def sample_metrics(self) -> tuple[Metric, ...]:
        """The metrics of single samples, in the order in which a `ScoreGrid` stores them."""
        own = tuple(metric for metric in self.measured() if metric.level == "sample")
        return (*own, *(each.metric for each in self.repeated_metrics(self.repeats)))

    def repeated_metrics(self, repeats: int) -> Sequence[RepeatedMetric]:
        """Return the metrics that several answers to a question add."""
        own = [metric for metric in self.measured() if metric.level == "sample"]
        has_labels = "label" in self.columns
        least = repeats if self.least_repeats is None else min(repeats, self.least_repeats)
        return tuple(metrics_of_repeats(own, repeats, least, has_labels=has_labels))

    @cached_property
    def system_metrics(self) -> tuple[Metric, ...]:
        """The metrics that exist only for a whole system."""
        return tuple(metric for metric in self.measured() if metric.level == "system")

    @property
    def columns(self) -> frozenset[str]:
        """All sample columns that the evaluator reads."""
        return self.reads | self.optional

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters by name, as JSON types."""
        values = {parameter_name(each): getattr(self, each.name) for each in parameter_fields(self)}
        plain: Mapping[str, Any] = json.loads(json.dumps(values, sort_keys=True))
        return plain

    @cached_property
    def signature(self) -> str:
        """The identity of the numbers: scores with equal signatures are comparable."""
        parts = [self.name]
        for name, value in sorted(self.parameters.items()):
            text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
            parts.append(f"{name}:{text}")
        parts += [f"{name}=={_installed_version(name)}" for name in sorted(self.libraries)]
        parts += self.identity()
        if self.only_systems:
            parts.append(f"only_systems:{json.dumps(self.only_systems)}")
        if self.no_data != "unscored":
            parts.append(f"no_data:{self.no_data}")
        if self.code:
            parts.append(f"code:{self.code}")
        return "|".join([*parts, f"version:{self.version}"])

    def other_system_reason(self) -> pl.Expr:
        """Return the reason why samples of a system are not scored; null where they are."""
        if not self.only_systems:
            return pl.lit(None, pl.String)
        reason = f"only for {', '.join(map(repr, self.only_systems))}"
        return pl.when(~pl.col("system").is_in(self.only_systems)).then(pl.lit(reason))

    def absent_reason(self) -> pl.Expr:
        """Return which data a sample lacks; null where it is applicable.

        An answer that is empty because the system failed is applicable: it counts as a failure.
        """
        reasons: list[pl.Expr] = [pl.lit(None, pl.String)]
        for name in sorted(self.reads):
            missing = pl.col(name).is_null()
            if name in self.non_empty:
                if name in COLUMNS and COLUMNS[name].has_json_list:
                    empty = pl.col(name) == COLUMNS[name].empty_value
                elif SAMPLE_COLUMNS[name] == pl.String:
                    empty = ~pl.col(name).str.contains(NON_BLANK)
                else:
                    empty = pl.col(name).list.len() == 0
                missing = missing | (
                    empty & pl.col("error").is_null() if name in ANSWER_COLUMNS else empty
                )
            reasons.append(pl.when(missing).then(pl.lit(f"no {name}")))
        return pl.coalesce(*reasons, *self.not_applicable_reasons())

    @property
    def needed_libraries(self) -> tuple[str, ...]:
        """The libraries that these parameters need; `libraries` unless one is not used."""
        return self.libraries

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return further reasons why a sample is not applicable, besides a null in `reads`.

        Each expression over `columns` gives the reason as text, or null where the sample is
        applicable. Scoring evaluates them first, so they hold for failed answers as well. By
        default, this is the reason where all expected answers are blank, if one is required.
        """
        return (no_reference_reason(),) if "expected_answers" in self.non_empty else ()

    def identity(self) -> Sequence[str]:
        """Return whatever else the numbers depend on, as parts of the signature."""
        return ()

    @abstractmethod
    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:
        """Score applicable samples; every kind of evaluator implements this.

        Args:
            samples: The key columns, `error`, and `columns`, with none of `reads` null.
            engines: The engines that the evaluator may call.

        Returns:
            One row per sample, in the same order: a Float64 column for each sample metric and,
            optionally, `status:<metric>`, `reason:<metric>` (text; a null value without a status
            is undefined), `of_run:<metric>` (Boolean, see `Unscored`) and `detail` (JSON text).
        """

    def counted(self) -> pl.Expr:
        """Return which rows the system metrics count (Boolean); see `aggregate`.

        By default, these are the samples whose primary metric is scored, without failed answers.
        A system with a failed answer then has no system metric: leaving its failures out would
        reward it. Override this to count failed answers too. `aggregate` must then give each of
        them the worst contribution that any answer could have made, or `TargetError` where the
        scale has no worst value.
        """
        return (pl.col("status") == "scored") & ~pl.col("failed")

    def aggregate(self, rows: pl.DataFrame) -> Scores | Graded:
        """Compute the system metrics from the counted samples of one system.

        Args:
            rows: One row per sample that `counted` selects, at least one of them answered: the
                sample metrics (null where not scored), `status` (of the primary metric), `failed`
                (whether the system failed to answer) and the columns of `evidence`.

        Returns:
            A value, or the reason why there is none, for each system metric, without those that
            debias another.
        """
        raise NotImplementedError(
            f"{self.name} declares system metrics but no aggregate ({rows.width})"
        )

    def aggregate_without(
        self,
        rows: pl.DataFrame,  # noqa: ARG002 - few override it
        parts: Integers,  # noqa: ARG002
        count: int,  # noqa: ARG002
    ) -> Mapping[str, Floats] | None:
        """Compute the system metrics without each part of the rows, faster than one by one.

        Args:
            rows: As for `aggregate`.
            parts: Shape (rows,): the part of each row, numbered from 0.
            count: The number of parts; without any of them, at least one row is answered.

        Returns:
            By metric, what `aggregate` gives without each part (NaN for no value): shape (count,).
            None: call `aggregate` for each part.
        """
        return None

    def chance(self, rows: pl.DataFrame) -> Mapping[str, Chance]:  # noqa: ARG002 - few override it
        """Return what noise alone gives a system without fault, by system metric.

        Only metrics that noise moves away from the best value need one (a calibration error).

        Args:
            rows: As for `aggregate`.
        """
        return {}


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"  # the evaluator can be described, and `require_libraries` ends a run


def require_libraries(evaluators: Iterable[Evaluator]) -> None:
    """Check that the libraries of evaluators are installed.

    Raises:
        MissingPackage: Some are not; lists all of them.
    """
    require_packages({f"the evaluator {each.name!r}": each.needed_libraries for each in evaluators})
