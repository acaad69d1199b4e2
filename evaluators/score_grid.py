"""Grades: what an evaluator made of many samples, in the compact form in which it is stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.outcome import Status
from evaluators.sample import KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.evaluator import Evaluator

FAILED = "target_error"
"""The reason that marks a worst value given because the system failed to answer."""

_TEXTS = pl.List(pl.String)


@dataclass(frozen=True, slots=True)
class ScoreGrid:
    """What an evaluator made of a frame of samples.

    Attributes:
        metrics: The names of the sample metrics; lists in `frame` are in this order.
        frame: One row a sample, in the order of the input: the keys, `input_digest` if the samples
            had it, `values` (list of Float64, null where not scored), `statuses` and `reasons`
            (lists of text; null where every metric is scored and there is nothing to say), and
            `detail` (JSON text).
    """

    metrics: tuple[str, ...]
    frame: pl.DataFrame

    def long(self) -> pl.DataFrame:
        """One row a sample and metric: the keys, metric, value, status, reason, detail."""
        count = len(self.metrics)
        names = pl.lit(list(self.metrics), dtype=_TEXTS)
        scored = pl.lit([Status.SCORED.value] * count, dtype=_TEXTS)
        silent = pl.lit([None] * count, dtype=_TEXTS)
        return (
            self.frame.with_columns(
                names.alias("metric"),
                pl.col("statuses").fill_null(scored),
                pl.col("reasons").fill_null(silent),
            )
            .rename({"values": "value", "statuses": "status", "reasons": "reason"})
            .explode("metric", "value", "status", "reason", empty_as_null=False, keep_nulls=False)
            .select(*KEYS, "metric", "value", "status", "reason", "detail")
        )


def pack(evaluator: Evaluator, computed: pl.DataFrame) -> pl.DataFrame:
    """Turn what an evaluator computed into `values`, `statuses`, `reasons` and `detail`.

    Args:
        evaluator: Whose metrics they are.
        computed: What `Evaluator.compute` returns, and `failed` (Boolean): the system gave no
            answer, so that every metric that applies takes its worst value or, where it has none,
            no value.

    Returns:
        As many rows, in the same order.
    """
    names = [metric.name for metric in evaluator.sample_metrics]
    for name in names:
        for column in (f"status:{name}", f"reason:{name}"):
            if column not in computed.columns:
                computed = computed.with_columns(pl.lit(None, pl.String).alias(column))
    if "detail" not in computed.columns:
        computed = computed.with_columns(pl.lit(None, pl.String).alias("detail"))
    remarkable = pl.any_horizontal(
        "failed",
        *(pl.col(name).is_null() for name in names),
        *(pl.col(f"reason:{name}").is_not_null() for name in names),
    )
    marked = computed.with_columns(remarkable.alias("remarkable"))
    if not marked["remarkable"].any():
        return marked.select(
            _as_list(names).alias("values"),
            pl.lit(None, _TEXTS).alias("statuses"),
            pl.lit(None, _TEXTS).alias("reasons"),
            "detail",
        )
    numbered = marked.with_row_index("row")
    plain = numbered.select("row", _as_list(names).alias("values"), "detail")
    special = numbered.filter("remarkable").select("row", *_outcome_columns(evaluator))
    return (
        plain.join(special, on="row", how="left", maintain_order="left")
        .with_columns(pl.coalesce("settled", "values").alias("values"))
        .select("values", "statuses", "reasons", "detail")
    )


def unscored_columns(evaluator: Evaluator, status: Status, reason: pl.Expr) -> list[pl.Expr]:
    """The packed columns of samples that have no value for a reason that holds for all metrics."""
    count = len(evaluator.sample_metrics)
    return [
        pl.lit([None] * count, dtype=pl.List(pl.Float64)).alias("values"),
        pl.lit([status.value] * count, dtype=_TEXTS).alias("statuses"),
        _as_list([reason] * count).alias("reasons"),
        pl.lit(None, pl.String).alias("detail"),
    ]


def _outcome_columns(evaluator: Evaluator) -> list[pl.Expr]:
    """Values, statuses and reasons of samples of which there is something to say."""
    values, statuses, reasons = [], [], []
    for metric in evaluator.sample_metrics:
        name = metric.name
        status = pl.col(f"status:{name}")
        failed = pl.col("failed") & status.ne_missing(Status.NOT_APPLICABLE.value)
        worst = metric.worst if evaluator.failure_is_worst else None
        fallen = Status.TARGET_ERROR if worst is None else Status.SCORED
        own = status.fill_null(Status.UNDEFINED.value)
        scored = pl.col(name).is_not_null()
        values.append(pl.when(failed).then(pl.lit(worst, pl.Float64)).otherwise(pl.col(name)))
        statuses.append(
            pl.when(failed)
            .then(pl.lit(fallen.value))
            .when(scored)
            .then(pl.lit(Status.SCORED.value))
            .otherwise(own)
        )
        reasons.append(pl.when(failed).then(pl.lit(FAILED)).otherwise(pl.col(f"reason:{name}")))
    return [
        _as_list(values).alias("settled"),
        _as_list(statuses).alias("statuses"),
        _as_list(reasons).alias("reasons"),
    ]


def _as_list(parts: Sequence[str | pl.Expr]) -> pl.Expr:
    """A list of one value from each column; `concat_list` takes forty times as long for it."""
    return pl.concat_arr(parts).arr.to_list()
