"""Scoring: the only caller of evaluators, and the keeper of the rule "a number, or a reason".

Every sample leaves with an outcome for each metric: what an evaluator cannot grade is split off
beforehand, what it returns is held against what it promised, and nothing is turned into a nought.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from evaluators.errors import BadSamples, BrokenPromise
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.flows.scheduler import OPEN_FLOWS, Scheduler
from evaluators.outcome import Graded, Status, Unscored, as_graded
from evaluators.sample import ANSWER_COLUMNS, KEYS, SAMPLE_COLUMNS
from evaluators.score_grid import ScoreGrid, pack, unscored_columns
from evaluators.text.references import NON_BLANK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evaluators.evaluator import Evaluator
    from evaluators.flows.protocols import Origin
    from evaluators.flows.requests import Flow
    from evaluators.kinds.flow import FlowEvaluator
    from evaluators.metric import Metric

_TOLERANCE = 1e-9
"""How far rounding may carry a value beyond its bounds; more is a defect."""


def score(evaluator: Evaluator, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> ScoreGrid:
    """Grade samples with one evaluator.

    Args:
        evaluator: What to compute.
        samples: One row a sample: the keys, `error` and every column that the evaluator reads;
            `input_digest` is passed through. The frame is not changed.
        engines: What the evaluator may ask; it gets no number where one that it needs is absent.

    Returns:
        A complete grid: every sample with every sample metric.

    Raises:
        BadSamples: When a column is missing.
        BrokenPromise: When the evaluator returned other rows or metrics than it promised, or a
            value that is not finite or out of bounds. Any other exception is a defect and flies.
    """
    identity = [*KEYS, *(name for name in ("input_digest",) if name in samples.columns)]
    marked = _add_absent_reason(evaluator, samples).with_row_index("row")
    applicable = marked.filter(pl.col("absent").is_null())
    computed = evaluator.compute(_blank_failed_answers(applicable.drop("absent", "row")), engines)
    _validate_output(evaluator, applicable, computed)
    computed = _clip_rounding(evaluator, computed)
    packed = pack(
        evaluator, computed.with_columns(applicable["error"].is_not_null().alias("failed"))
    )
    done = pl.concat([applicable.select("row", *identity), packed], how="horizontal")
    if applicable.height < samples.height:
        reasons = unscored_columns(evaluator, Status.NOT_APPLICABLE, pl.col("absent"))
        skipped = marked.filter(pl.col("absent").is_not_null()).select("row", *identity, *reasons)
        done = pl.concat([done, skipped]).sort("row")
    return ScoreGrid(tuple(metric.name for metric in evaluator.sample_metrics), done.drop("row"))


def run_flows(parts: Iterable[tuple[FlowEvaluator, pl.DataFrame]], engines: Engines) -> None:
    """Run the flows of many evaluators side by side for what they ask; nothing is graded.

    So there is always somebody to be asked for: while the last replies of one evaluator are waited
    for, the next one's questions are put.

    Args:
        parts: Evaluators with samples, as for `score`; taken one after the other as flows end.
        engines: What the evaluators may ask. A model that cannot be had costs the flows that ask
            it, and no other.

    Raises:
        BadSamples: As for `score`. Exceptions of the judge and defects fly.
    """
    lenient = engines.tolerate_missing_models()

    def flows() -> Iterator[tuple[Origin, Flow[Graded]]]:
        for evaluator, samples in parts:
            marked = _add_absent_reason(evaluator, samples)
            applicable = _blank_failed_answers(
                marked.filter(pl.col("absent").is_null()).drop("absent")
            )
            # What is in the way of a model is looked up again for each slice.
            for piece in applicable.iter_slices(OPEN_FLOWS):
                yield from evaluator.flows(piece, lenient)

    for _ in Scheduler[Graded](lenient).run(flows()):
        pass


def aggregate(evaluator: Evaluator, rows: pl.DataFrame) -> Graded:
    """Compute an evaluator's system metrics from the graded samples of one system.

    Args:
        evaluator: What to compute.
        rows: One row a sample: the sample metrics, `status` and `detail` (JSON text).

    Returns:
        A finite value within bounds, or the reason why there is none, for each system metric.

    Raises:
        BrokenPromise: As for `score`.
    """
    return aggregate_unpacked(evaluator, unpack_evidence(evaluator, rows))


def unpack_evidence(evaluator: Evaluator, rows: pl.DataFrame) -> pl.DataFrame:
    """Graded samples with the evidence that a fold reads in columns instead of JSON."""
    if not evaluator.evidence:
        return rows
    fields = dict(evaluator.evidence)
    if rows.is_empty():
        evidence = pl.DataFrame(schema=fields)
    else:
        # Read as lines of JSON, which goes twice as fast as decoding one text after the other.
        lines = rows["detail"].fill_null("{}").str.join("\n").item()
        evidence = pl.read_ndjson(lines.encode(), schema=fields)
    return rows.drop("detail").hstack(evidence)


def aggregate_unpacked(evaluator: Evaluator, rows: pl.DataFrame) -> Graded:
    """Fold samples that are `unpacked`; see `aggregate`."""
    promised = {metric.name: metric for metric in evaluator.system_metrics}
    try:
        result = as_graded(evaluator.aggregate(rows))
    except Unscored as reason:
        return Graded(dict.fromkeys(promised, reason))
    if set(result.scores) != set(promised):
        raise BrokenPromise(
            f"{evaluator.name}: promised the system metrics {sorted(promised)}, "
            f"returned {sorted(result.scores)}"
        )
    for name, value in result.scores.items():
        if not isinstance(value, Unscored) and not _is_within_bounds(promised[name], value):
            raise BrokenPromise(
                f"{evaluator.name}.{name} gave {value!r}: not within {promised[name].bounds}"
            )
    return result


def _add_absent_reason(evaluator: Evaluator, samples: pl.DataFrame) -> pl.DataFrame:
    """The samples, with the reason in `absent` why one is not applicable."""
    lacking = (evaluator.columns | {*KEYS, "error"}) - set(samples.columns)
    if lacking:
        raise BadSamples(f"{evaluator.name}: the samples lack the columns {sorted(lacking)}")
    return samples.with_columns(_absent_reason(evaluator).alias("absent"))


def _absent_reason(evaluator: Evaluator) -> pl.Expr:
    """The reason why a sample is not applicable; null where it is.

    An answer that is empty because the system failed is no reason: that is its failure.
    """
    reasons = [pl.lit(None, pl.String)]
    for name in sorted(evaluator.reads):
        gone = pl.col(name).is_null()
        if name in evaluator.non_empty:
            if SAMPLE_COLUMNS[name] == pl.String:
                empty = ~pl.col(name).str.contains(NON_BLANK)
            else:
                empty = pl.col(name).list.len() == 0
            gone = gone | (empty & pl.col("error").is_null() if name in ANSWER_COLUMNS else empty)
        reasons.append(pl.when(gone).then(pl.lit(f"no {name}")))
    return pl.coalesce(*reasons, *evaluator.not_applicable_reasons())


def _blank_failed_answers(samples: pl.DataFrame) -> pl.DataFrame:
    """Take away what failed answers carry, so that it cannot count for the system anywhere."""
    if samples["error"].null_count() == samples.height:
        return samples
    given = [name for name in samples.columns if name in ANSWER_COLUMNS]
    empty = {
        name: pl.lit("" if SAMPLE_COLUMNS[name] == pl.String else [], dtype=SAMPLE_COLUMNS[name])
        for name in given
    }
    return samples.with_columns(
        pl.when(pl.col("error").is_not_null() & pl.col(name).is_not_null())
        .then(empty[name])
        .otherwise(name)
        .alias(name)
        for name in given
    )


def _validate_output(evaluator: Evaluator, samples: pl.DataFrame, computed: pl.DataFrame) -> None:
    """Refuse other metrics or rows than promised, and values out of their bounds."""
    promised = [metric.name for metric in evaluator.sample_metrics]
    beside = {f"{kind}:{name}" for name in promised for kind in ("status", "reason")} | {"detail"}
    exact = set(promised) == set(computed.columns) - beside
    if not exact or computed.height != samples.height:
        raise BrokenPromise(
            f"{evaluator.name}: promised {promised} for {samples.height} samples, "
            f"returned {computed.columns} for {computed.height}"
        )
    for metric in evaluator.sample_metrics:
        value = pl.col(metric.name)
        low, high = metric.bounds
        wrong = ~value.is_finite() | (value < low - _TOLERANCE) | (value > high + _TOLERANCE)
        found = computed.select(wrong.fill_null(value=False)).to_series().arg_true()
        if len(found):
            first = found[0]
            raise BrokenPromise(
                f"{evaluator.name}.{metric.name} gave {computed[metric.name][first]!r} "
                f"for question {samples['question_id'][first]!r} "
                f"of system {samples['system'][first]!r}: "
                f"not within {metric.bounds}"
            )


def _clip_rounding(evaluator: Evaluator, computed: pl.DataFrame) -> pl.DataFrame:
    """Take back what rounding added beyond a bound: a cosine of 1.0000000000000002 is 1."""
    beyond = [
        metric
        for metric in evaluator.sample_metrics
        if not computed[metric.name].is_between(*metric.bounds).all()
    ]
    return computed.with_columns(pl.col(metric.name).clip(*metric.bounds) for metric in beyond)


def _is_within_bounds(metric: Metric, value: float) -> bool:
    low, high = metric.bounds
    return math.isfinite(value) and low - _TOLERANCE <= value <= high + _TOLERANCE
