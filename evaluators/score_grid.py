"""The score grid: every sample metric of many samples, in the compact form that is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.errors import BrokenPromise
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

_NO_DATA = (Status.NOT_APPLICABLE.value, Status.UNDEFINED.value)
"""The statuses of values that a sample may lack the data for."""

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
        is_of_run = pl.lit(value=False)
        if f"of_run:{name}" in computed.columns:
            is_of_run = pl.col(f"of_run:{name}").fill_null(value=False)
        computed = computed.with_columns(is_of_run.alias(f"of_run:{name}"))
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


def unscored_columns(
    evaluator: Evaluator, reason: pl.Expr, number: float | None = None
) -> list[pl.Expr]:
    """Return the packed columns of samples that are not applicable.

    Args:
        evaluator: The evaluator.
        reason: The reason.
        number: What each metric gets in place of a value, if anything.
    """
    count = len(evaluator.sample_metrics)
    status = Status.NOT_APPLICABLE if number is None else Status.SCORED
    return [
        pl.lit([number] * count, dtype=pl.List(pl.Float64)).alias("values"),
        pl.lit([status.value] * count, dtype=_TEXTS).alias("statuses"),
        _as_list([reason] * count).alias("reasons"),
        pl.lit(None, pl.String).alias("detail"),
    ]


def _outcome_columns(evaluator: Evaluator) -> list[pl.Expr]:
    """Return values, statuses and reasons of samples with a missing value, a remark or an error.

    With `no_data: zero` a value that the sample lacks the data for is 0; the reason stays.
    """
    values, statuses, reasons = [], [], []
    for metric in evaluator.sample_metrics:
        name = metric.name
        status = pl.col(f"status:{name}")
        failed = pl.col(IS_FAILED) & status.ne_missing(Status.NOT_APPLICABLE.value)
        worst = metric.worst if evaluator.failure_is_worst else None
        failed_status = Status.TARGET_ERROR if worst is None else Status.SCORED
        own_status = status.fill_null(Status.UNDEFINED.value)
        value = pl.col(name)
        if evaluator.no_data == "zero":
            lacks_data = own_status.is_in(_NO_DATA) & ~pl.col(f"of_run:{name}")
            value = pl.when(value.is_null() & lacks_data).then(0.0).otherwise(value)
        values.append(pl.when(failed).then(pl.lit(worst, pl.Float64)).otherwise(value))
        statuses.append(
            pl.when(failed)
            .then(pl.lit(failed_status.value))
            .when(value.is_not_null())
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
