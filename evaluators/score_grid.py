"""The score grid: every sample metric of many samples, in the compact form that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.errors import BrokenPromise
from evaluators.evaluator import ONLY_FOR
from evaluators.metric import ROUNDING
from evaluators.outcome import Status
from evaluators.sample import KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.evaluator import Evaluator

FAILED = "target_error"
"""The reason of a worst value that a failed answer gets."""

_TEXTS = pl.List(pl.String)

IS_FAILED = "failed:"
"""Whether the system failed to answer a sample. Columns beside those of metrics have a colon, which
no metric has in its name."""

_NOTEWORTHY = "noteworthy:"
_ROW = "row:"


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """The scores of one evaluator for a frame of samples.

    Attributes:
        metrics: The names of the sample metrics; the lists in `frame` are in this order.
        frame: One row per sample, in the order of the input: the keys, `repeat` and
            `input_digest` if the samples had them, `values` (list of Float64, null where not
            scored), `statuses` and `reasons` (lists of text; null where every metric is scored
            without a remark), and `detail` (JSON text).
    """

    metrics: tuple[str, ...]
    frame: pl.DataFrame

    def long(self) -> pl.DataFrame:
        """Return one row per sample and metric: the keys, metric, value, status, reason, detail."""
        count = len(self.metrics)
        names = pl.lit(list(self.metrics), dtype=_TEXTS)
        scored = pl.lit([Status.SCORED.value] * count, dtype=_TEXTS)
        no_reasons = pl.lit([None] * count, dtype=_TEXTS)
        return (
            self.frame.with_columns(
                names.alias("metric"),
                pl.col("statuses").fill_null(scored),
                pl.col("reasons").fill_null(no_reasons),
            )
            .rename({"values": "value", "statuses": "status", "reasons": "reason"})
            .explode("metric", "value", "status", "reason", empty_as_null=False, keep_nulls=False)
            .select(*KEYS, "metric", "value", "status", "reason", "detail")
        )


def settle_rounding(value: pl.Expr, low: pl.Expr, high: pl.Expr) -> pl.Expr:
    """Return the bound in place of values that exceed it by rounding only, as a mean may.

    Args:
        value: The values.
        low: The lower bound of each; null or infinite without one.
        high: The upper bound of each.
    """
    below, above = (
        beyond.is_between(0, ROUNDING * pl.max_horizontal(bound.abs(), 1.0))
        for beyond, bound in ((low - value, low), (value - high, high))
    )
    settled = pl.when(below).then(low).when(above).then(high).otherwise(value)
    return settled.alias(value.meta.output_name())


def pack(evaluator: Evaluator, computed: pl.DataFrame) -> pl.DataFrame:
    """Pack the output of an evaluator into `values`, `statuses`, `reasons` and `detail`.

    Args:
        evaluator: The evaluator that computed the metrics.
        computed: The result of `Evaluator.compute` with a column `IS_FAILED` (Boolean). Where it is
            true, the system gave no answer, and each applicable metric takes its worst value, or
            none where no worst value exists.

    Returns:
        One row per sample, in the same order.
    """
    names = [metric.name for metric in evaluator.sample_metrics]
    for name in names:
        for column in (f"status:{name}", f"reason:{name}"):
            if column not in computed.columns:
                computed = computed.with_columns(pl.lit(None, pl.String).alias(column))
    if "detail" not in computed.columns:
        computed = computed.with_columns(pl.lit(None, pl.String).alias("detail"))
    noteworthy = pl.any_horizontal(
        IS_FAILED,
        *(pl.col(name).is_null() for name in names),
        *(pl.col(f"reason:{name}").is_not_null() for name in names),
    )
    flagged = computed.with_columns(noteworthy.alias(_NOTEWORTHY))
    if not flagged[_NOTEWORTHY].any():
        return flagged.select(
            _as_list(names).alias("values"),
            pl.lit(None, _TEXTS).alias("statuses"),
            pl.lit(None, _TEXTS).alias("reasons"),
            "detail",
        )
    numbered = flagged.with_row_index(_ROW)
    plain = numbered.select(_ROW, _as_list(names).alias("values"), "detail")
    special = numbered.filter(_NOTEWORTHY).select(_ROW, *_outcome_columns(evaluator))
    return (
        plain.join(special, on=_ROW, how="left", maintain_order="left")
        .with_columns(pl.coalesce("outcome_values", "values").alias("values"))
        .select("values", "statuses", "reasons", "detail")
    )


def zero_without_data(frame: pl.DataFrame, others: frozenset[str]) -> pl.DataFrame:
    """Return packed scores in which metrics that are not applicable or undefined are 0.

    The reasons stay. A system that was not asked, or whose samples are not scored, has no value.

    Args:
        frame: The scores.
        others: Reasons that are not a lack of data, but of an engine.
    """
    others = others | {"not asked"}
    missing = {Status.NOT_APPLICABLE.value, Status.UNDEFINED.value}
    rows = frame.select("values", "statuses", "reasons").rows()
    values = []
    statuses = []
    for numbers, states, reasons in rows:
        is_zero = [
            state in missing and reason not in others and not (reason or "").startswith(ONLY_FOR)
            for state, reason in zip(states or (), reasons or (), strict=True)
        ] or [False] * len(numbers)
        values.append(
            [0.0 if zero else number for zero, number in zip(is_zero, numbers, strict=True)]
        )
        statuses.append(
            states
            and [
                Status.SCORED.value if zero else state
                for zero, state in zip(is_zero, states, strict=True)
            ]
        )
    return frame.with_columns(
        pl.Series("values", values, pl.List(pl.Float64)), pl.Series("statuses", statuses, _TEXTS)
    )


def aggregation_rows(evaluator: Evaluator, frame: pl.DataFrame) -> pl.DataFrame:
    """Turn packed scores of one evaluator into the rows from which system metrics are computed.

    Args:
        evaluator: The evaluator of the scores.
        frame: `values`, `statuses` and `reasons` as in `ScoreGrid.frame`, and other columns.

    Returns:
        The other columns, each sample metric, `status` (of the primary metric) and `failed`
        (whether the system failed to answer), in the same order.
    """
    taken = {*frame.columns, *evaluator.evidence, "status", "failed"}
    clash = next((each.name for each in evaluator.sample_metrics if each.name in taken), None)
    if clash is not None:
        raise BrokenPromise(
            f"{evaluator.name}.{clash}: beside metrics of whole systems, a metric cannot have the "
            "name of a column; take another one"
        )
    primary = next(at for at, metric in enumerate(evaluator.sample_metrics) if metric.primary)
    return frame.select(
        pl.exclude("values", "statuses", "reasons"),
        *(
            pl.col("values").list.get(at, null_on_oob=True).alias(metric.name)
            for at, metric in enumerate(evaluator.sample_metrics)
        ),
        status=pl.col("statuses")
        .list.get(primary, null_on_oob=True)
        .fill_null(Status.SCORED.value),
        failed=pl.col("reasons").list.contains(FAILED).fill_null(value=False),
    )


def unscored_columns(evaluator: Evaluator, status: Status, reason: pl.Expr) -> list[pl.Expr]:
    """Return the packed columns of samples in which no metric has a value."""
    count = len(evaluator.sample_metrics)
    return [
        pl.lit([None] * count, dtype=pl.List(pl.Float64)).alias("values"),
        pl.lit([status.value] * count, dtype=_TEXTS).alias("statuses"),
        _as_list([reason] * count).alias("reasons"),
        pl.lit(None, pl.String).alias("detail"),
    ]


def _outcome_columns(evaluator: Evaluator) -> list[pl.Expr]:
    """Return values, statuses and reasons of samples with a missing value, a remark or an error."""
    values, statuses, reasons = [], [], []
    for metric in evaluator.sample_metrics:
        name = metric.name
        status = pl.col(f"status:{name}")
        failed = pl.col(IS_FAILED) & status.ne_missing(Status.NOT_APPLICABLE.value)
        worst = metric.worst if evaluator.failure_is_worst else None
        failed_status = Status.TARGET_ERROR if worst is None else Status.SCORED
        own_status = status.fill_null(Status.UNDEFINED.value)
        scored = pl.col(name).is_not_null()
        values.append(pl.when(failed).then(pl.lit(worst, pl.Float64)).otherwise(pl.col(name)))
        statuses.append(
            pl.when(failed)
            .then(pl.lit(failed_status.value))
            .when(scored)
            .then(pl.lit(Status.SCORED.value))
            .otherwise(own_status)
        )
        reasons.append(pl.when(failed).then(pl.lit(FAILED)).otherwise(pl.col(f"reason:{name}")))
    return [
        _as_list(values).alias("outcome_values"),
        _as_list(statuses).alias("statuses"),
        _as_list(reasons).alias("reasons"),
    ]


def _as_list(parts: Sequence[str | pl.Expr]) -> pl.Expr:
    """Collect one value of each column in a list; `concat_list` is forty times slower."""
    return pl.concat_arr(parts).arr.to_list()
