"""Scores of questions with several answers: means, pass rates and majority votes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evaluators.outcome import Status
from evaluators.score_grid import FAILED, settle_rounding
from evaluators.statistics.pass_rates import all_pass, any_passes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.metric import Metric, RepeatedMetric

_SAMPLE = ("system", "question_id")
_PLACE = (*_SAMPLE, "place")

_LOST = ("judge_error", "parse_failure")

_WORST_FIRST = ("judge_error", "parse_failure", "target_error", "undefined", "not_applicable")
"""The status of a question without any scored answer is the first of these that an answer has."""


def average_repeats(evaluator: Evaluator, answers: pl.DataFrame) -> pl.DataFrame:
    """Combine the scores of several answers to a question into one score by each metric.

    A score is the mean of the answers that are scored; the reason says how many are not, or failed.
    Only if none is scored, the question is not scored either. A question whose answers all failed
    counts as failed; on a scale without a worst value also one of which any answer failed, because
    the mean of the others would reward the failure. Where a score leaves out answers without a
    usable verdict, the bounds are what it could be with them.

    Args:
        evaluator: The evaluator, with the number of answers to a question as `repeats`.
        answers: The rows of `answer_grades`: system, question_id, repeat, values, statuses,
            reasons, input_digest and scored_at, and `label`, the label that the system chose.

    Returns:
        The rows of `grades`: system, question_id, input_digest, values, statuses, reasons, detail,
        n_answers, values_low, values_high, has_failed and scored_at.
    """
    own = replace(evaluator, repeats=1).sample_metrics
    bounds = [
        dict(enumerate(metric.bounds[end] for metric in evaluator.sample_metrics)) for end in (0, 1)
    ]
    answers = answers.sort(*_SAMPLE, "repeat")
    scores = _long(answers, len(own))
    unbounded = [at for at, metric in enumerate(own) if metric.worst is None]
    averaged = [_bound(_fail(_average(scores), unbounded), own)]
    for position, added in enumerate(evaluator.repeated_metrics(evaluator.repeats), len(own)):
        of_question = (
            _majority(scores, averaged[0], added.base)
            if added.kind == "majority"
            else _pass_rate(scores, averaged[0], own[added.base], added)
        )
        averaged.append(of_question.with_columns(place=pl.lit(position, pl.Int32)))
    primary = next(at for at, metric in enumerate(own) if metric.primary)
    columns = {
        "values": "value",
        "statuses": "status",
        "reasons": "reason",
        "values_low": "low",
        "values_high": "high",
        "has_failed": "has_failed",
    }
    return (
        pl.concat([each.select(*_PLACE, *columns.values()) for each in averaged])
        .with_columns(
            settle_rounding(
                pl.col(name),
                *(pl.col("place").replace_strict(each, return_dtype=pl.Float64) for each in bounds),
            )
            for name in ("value", "low", "high")
        )
        .sort(*_PLACE)
        .group_by(*_SAMPLE, maintain_order=True)
        .agg(**columns)
        .join(_facts(answers, scores, primary), on=list(_SAMPLE), maintain_order="left")
    )


def _long(answers: pl.DataFrame, metrics: int) -> pl.DataFrame:
    """Return one row for each answer and metric: its place, value, status and reason."""
    texts = pl.List(pl.String)
    return (
        answers.with_columns(
            pl.col("statuses").fill_null(pl.lit([Status.SCORED.value] * metrics, dtype=texts)),
            pl.col("reasons").fill_null(pl.lit([None] * metrics, dtype=texts)),
            place=pl.lit(list(range(metrics)), dtype=pl.List(pl.Int32)),
        )
        .explode("values", "statuses", "reasons", "place", empty_as_null=False, keep_nulls=False)
        .rename({"values": "value", "statuses": "status", "reasons": "reason"})
        .with_columns(pl.col("status").fill_null(Status.SCORED.value))
    )


def _average(scores: pl.DataFrame, place: int | None = None) -> pl.DataFrame:
    """Return one row for each question and place, or for one place."""
    if place is not None:
        scores = scores.filter(pl.col("place") == place)
    status, reason = pl.col("status"), pl.col("reason")
    is_scored = status == Status.SCORED.value
    has_failed = (reason == FAILED) & is_scored
    counts = [
        pl.when(count > 0).then(pl.format("{} {}", count, pl.lit(name)))
        for name, count in (
            *((each, (status == each).sum()) for each in _WORST_FIRST),
            (FAILED, has_failed.sum()),
        )
    ]
    found = scores.group_by(*_PLACE, maintain_order=True).agg(
        value=pl.col("value").mean(),
        status=pl.when(is_scored.any())
        .then(pl.lit(Status.SCORED.value))
        .otherwise(
            pl.coalesce(pl.when((status == each).any()).then(pl.lit(each)) for each in _WORST_FIRST)
        ),
        is_alike=reason.n_unique() == 1,
        is_clear=(is_scored & ~has_failed.fill_null(value=False)).all(),
        first=reason.drop_nulls().first(),
        n=pl.len(),
        counts=pl.concat_str(*counts, separator=", ", ignore_nulls=True),
        n_scored=is_scored.sum(),
        n_lost=status.is_in(_LOST).sum(),
        lost_status=pl.coalesce(
            pl.when((status == each).any()).then(pl.lit(each)) for each in _LOST
        ),
        lacks_worst=(status == FAILED).any(),
        has_failed=((status == FAILED) | has_failed.fill_null(value=False)).any(),
    )
    return found.with_columns(
        reason=pl.when(pl.col("is_alike") | pl.col("is_clear"))
        .then("first")
        .otherwise(pl.format("of {} answers {}", "n", "counts"))
    )


def _fail(averaged: pl.DataFrame, places: Sequence[int]) -> pl.DataFrame:
    """Let questions fail by some metrics if any answer failed without a value."""
    has_failed = pl.col("lacks_worst") & pl.col("place").is_in(places)
    return averaged.with_columns(
        value=pl.when(~has_failed).then("value"),
        status=pl.when(has_failed).then(pl.lit(FAILED)).otherwise("status"),
        reason=pl.when(has_failed).then(pl.lit(FAILED)).otherwise("reason"),
    )


def _bound(averaged: pl.DataFrame, metrics: Sequence[Metric]) -> pl.DataFrame:
    """Add the lowest and the highest mean that a question could have with its lost answers.

    They are null where no answer is lost, and on a scale without bounds.
    """
    ends = pl.DataFrame(
        [
            {"place": at, "low": low, "high": high}
            for at, (low, high) in enumerate(metric.bounds for metric in metrics)
            if math.isfinite(high - low)
        ],
        schema={"place": pl.Int32, "low": pl.Float64, "high": pl.Float64},
    )
    known, lost = pl.col("n_scored"), pl.col("n_lost")
    is_open = pl.col("value").is_not_null() & (lost > 0)
    return averaged.join(ends, on="place", how="left", maintain_order="left").with_columns(
        pl.when(is_open)
        .then((pl.col("value") * known + pl.col(end) * lost) / (known + lost))
        .alias(end)
        for end in ("low", "high")
    )


def _majority(scores: pl.DataFrame, averaged: pl.DataFrame, place: int) -> pl.DataFrame:
    """Return the scores of the most frequent labels; lost ones might be more frequent."""
    of_all = averaged.filter(pl.col("place") == place).select(*_SAMPLE, "n_lost", "has_failed")
    found = _average(_most_frequent(scores), place).drop("n_lost", "has_failed")
    is_open = pl.col("value").is_not_null() & (pl.col("n_lost") > 0)
    return found.join(of_all, on=list(_SAMPLE), maintain_order="left").with_columns(
        low=pl.when(is_open).then(pl.lit(0.0)), high=pl.when(is_open).then(pl.lit(1.0))
    )


def _most_frequent(scores: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of the answers with the most frequent label; of all such labels in a tie.

    An answer that failed does not vote, unless all failed.
    """
    label = pl.col("label").str.normalize("NFC")
    votes = pl.len().over(*_PLACE, label) * label.is_not_null()
    return scores.filter(votes == votes.max().over(*_PLACE))


def _pass_rate(
    scores: pl.DataFrame, averaged: pl.DataFrame, metric: Metric, added: RepeatedMetric
) -> pl.DataFrame:
    """Return pass@k or pass^k of a metric, one row for each question."""
    best = metric.bounds[metric.best == "high"]
    passed = (
        scores.filter(pl.col("place") == added.base)
        .group_by(*_SAMPLE, maintain_order=True)
        .agg(passed=(pl.col("value") == best).sum())
    )
    rows = averaged.filter(pl.col("place") == added.base).join(
        passed, on=list(_SAMPLE), maintain_order="left"
    )
    scored, passes = (rows[each].to_numpy().astype(np.int64) for each in ("n_scored", "passed"))
    lost = rows["n_lost"].to_numpy().astype(np.int64)
    rate = any_passes if added.kind == "pass_at" else all_pass
    k = added.answers
    found = {
        "value": rate(scored, passes, k),
        "low": rate(scored + lost, passes, k),
        "high": rate(scored + lost, passes + lost, k),
    }
    value, is_unscored = pl.col("value"), pl.col("n_scored") == 0
    lacks = value.is_null() & ~is_unscored
    # Lost answers are too many, not those that were given too few.
    is_lost = pl.col("n_scored") + pl.col("n_lost") >= k
    is_open = value.is_not_null() & (pl.col("n_lost") > 0)
    return rows.with_columns(
        pl.Series(name, values).fill_nan(None) for name, values in found.items()
    ).with_columns(
        pl.when(is_open).then(pl.col("low", "high")),
        status=pl.when(lacks & is_lost)
        .then("lost_status")
        .when(lacks)
        .then(pl.lit(Status.UNDEFINED.value))
        .otherwise("status"),
        reason=pl.when(lacks)
        .then(pl.format("{} of {} answers have a score", "n_scored", pl.lit(k)))
        .otherwise("reason"),
    )


def _facts(answers: pl.DataFrame, scores: pl.DataFrame, primary: int) -> pl.DataFrame:
    """Return what the metrics of a question share, with the primary metric by answer."""
    values = pl.coalesce(
        pl.col("value").cast(pl.String), pl.format('"{}"', pl.col("status"))
    ).str.join(",")
    detail = (
        scores.filter(pl.col("place") == primary)
        .group_by(*_SAMPLE, maintain_order=True)
        .agg(detail=pl.format('{{"answers":[{}]}}', values))
    )
    return (
        answers.group_by(*_SAMPLE, maintain_order=True)
        .agg(
            pl.col("input_digest").sum(),
            pl.col("scored_at").max(),
            n_answers=pl.len().cast(pl.Int32),
        )
        .join(detail, on=list(_SAMPLE), maintain_order="left")
    )
