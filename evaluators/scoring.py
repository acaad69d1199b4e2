"""Scoring: the only caller of evaluators; it enforces "a number, or the reason why there is none".

Every sample gets an outcome for each metric. Samples that an evaluator cannot score are separated
first, its output is validated, and a missing value never becomes a zero.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from evaluators.errors import BadSamples, BrokenPromise
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.flows.scheduler import OPEN_FLOWS, Scheduler
from evaluators.kinds.pairwise import grade_strengths, pair_answers
from evaluators.metric import rounding_error
from evaluators.outcome import Graded, Status, TargetError, Undefined, Unscored, as_graded
from evaluators.sample import ANSWER_COLUMNS, KEYS, SAMPLE_COLUMNS, empty_value
from evaluators.score_grid import IS_FAILED, ScoreGrid, pack, unscored_columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from calls.call import Origin
    from evaluators.evaluator import Evaluator
    from evaluators.flows.requests import Flow
    from evaluators.kinds.flow import FlowEvaluator
    from evaluators.kinds.pairwise import PairedAnswers, PairwiseEvaluator
    from evaluators.metric import Metric
    from evaluators.outcome import Chance, Value
    from evaluators.statistics.pairwise.bradley_terry import Strengths


class PairedSystems(NamedTuple):
    """The system metrics of systems that are compared with each other.

    Attributes:
        graded: The value, or the reason why there is none, of each metric by system.
        paired: The comparisons.
        found: The strengths of the systems in `paired`.
    """

    graded: Mapping[str, Graded]
    paired: PairedAnswers
    found: Strengths


NOT_ASKED = "not_asked"
"""The optional column of samples that is true where the system was not asked the question."""

COUNTED = "is_counted"
"""The column that says which samples the system metrics count."""

_TALLY = "tally"
_TALLIED = tuple(product(Status, (False, True), (False, True)))
"""The meaning of each number in `tally`: status, `is_counted`, `failed`."""


def score(evaluator: Evaluator, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> ScoreGrid:
    """Score samples with one evaluator.

    Args:
        evaluator: The evaluator.
        samples: One row per sample: the keys, `error` and every column that the evaluator reads;
            `repeat` and `input_digest` are passed through. The frame is not changed.
        engines: The engines that the evaluator may call. Without one that it requires, samples
            are not applicable.

    Returns:
        A complete grid: every sample with every sample metric.

    Raises:
        BadSamples: A column is missing.
        BrokenPromise: The evaluator returned other rows or metrics than it declares, or a value
            that is not finite or out of bounds. All other exceptions are defects and propagate.
    """
    identity = [*KEYS, *(name for name in ("repeat", "input_digest") if name in samples.columns)]
    checked = _add_absent_reason(evaluator, samples).with_row_index("row")
    applicable = checked.filter(pl.col("absent").is_null())
    computed = evaluator.compute(
        _blank_failed_answers(applicable.drop("absent", "left_out", "row")), engines
    )
    _validate_output(evaluator, applicable, computed)
    computed = _clip_rounding(evaluator, computed)
    packed = pack(
        evaluator, computed.with_columns(applicable["error"].is_not_null().alias(IS_FAILED))
    )
    packed_rows = pl.concat([applicable.select("row", *identity), packed], how="horizontal")
    if applicable.height < samples.height:
        skipped = checked.filter(pl.col("absent").is_not_null())
        for is_left_out, rows in skipped.partition_by("left_out", as_dict=True).items():
            number = 0.0 if evaluator.no_data == "zero" and is_left_out == (False,) else None
            columns = unscored_columns(evaluator, pl.col("absent"), number)
            packed_rows = packed_rows.vstack(rows.select("row", *identity, *columns))
        packed_rows = packed_rows.sort("row")
    frame = packed_rows.drop("row")
    return ScoreGrid(tuple(metric.name for metric in evaluator.sample_metrics), frame)


def run_flows(parts: Iterable[tuple[FlowEvaluator, pl.DataFrame]], engines: Engines) -> None:
    """Run the flows of many evaluators concurrently for their judge calls; discard the scores.

    While the last replies of one evaluator arrive, the next evaluator already sends its calls, so
    the judge is never idle.

    Args:
        parts: Evaluators with their samples, as for `score`; consumed as flows end.
        engines: The engines that the evaluators may call. A model that cannot be loaded ends only
            the flows that call it.

    Raises:
        BadSamples: As for `score`. Exceptions of the judge and defects propagate.
    """
    tolerant = engines.tolerate_missing_models()

    def flows() -> Iterator[tuple[Origin, Flow[Graded]]]:
        for evaluator, samples in parts:
            checked = _add_absent_reason(evaluator, samples)
            applicable = _blank_failed_answers(
                checked.filter(pl.col("absent").is_null()).drop("absent", "left_out")
            )
            # `flows` checks once per slice which models are available.
            for piece in applicable.iter_slices(OPEN_FLOWS):
                yield from evaluator.flows(piece, tolerant)

    for _ in Scheduler[Graded](tolerant).run(flows()):
        pass


def aggregate(evaluator: Evaluator, rows: pl.DataFrame) -> Graded:
    """Compute an evaluator's system metrics from the scored samples of one system.

    Args:
        evaluator: The evaluator.
        rows: One row per sample: the result of `aggregation_rows`.

    Returns:
        A finite value within bounds, or the reason why there is none, for each system metric.

    Raises:
        BrokenPromise: As for `score`.
    """
    return aggregate_unpacked(evaluator, unpack_evidence(evaluator, rows))


def aggregate_systems(
    evaluator: PairwiseEvaluator, by_system: Mapping[str, pl.DataFrame]
) -> PairedSystems:
    """Compute the system metrics that compare systems with each other; see `aggregate`.

    Args:
        evaluator: The evaluator.
        by_system: The unpacked samples of each system, with the columns system and question.
    """
    counted = {system: counted_rows(rows) for system, rows in by_system.items()}
    paired = pair_answers(pl.concat(counted.values()))
    found = paired.strengths()
    graded = grade_strengths(found, paired.systems)
    for system, rows in by_system.items():
        try:
            _require_answers(evaluator, rows, counted[system])
        except Unscored as reason:
            names = [metric.name for metric in evaluator.system_metrics]
            graded[system] = Graded(dict.fromkeys(names, reason))
    return PairedSystems(graded, paired, found)


def unpack_evidence(evaluator: Evaluator, rows: pl.DataFrame) -> pl.DataFrame:
    """Replace the JSON column `detail` by columns with the evaluator's `evidence`.

    The columns of `mark_counted` are added.
    """
    return mark_counted(evaluator, _unpack(evaluator, rows))


def mark_counted(evaluator: Evaluator, rows: pl.DataFrame) -> pl.DataFrame:
    """Add `is_counted`, and `tally`: status, `is_counted` and `failed` as one number."""
    status = pl.col("status").cast(pl.Enum(Status)).to_physical()
    is_counted = evaluator.counted().fill_null(value=False).alias(COUNTED)
    tally = status * 4 + pl.col(COUNTED).cast(pl.UInt8) * 2 + pl.col("failed").cast(pl.UInt8)
    return rows.with_columns(is_counted).with_columns(tally.alias(_TALLY))


def counted_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the samples that the system metrics count, of the result of `unpack_evidence`."""
    # Most slices are so small that planning a filter takes longer than the filter.
    return rows if rows[COUNTED].all() else rows.filter(rows[COUNTED])


def _unpack(evaluator: Evaluator, rows: pl.DataFrame) -> pl.DataFrame:
    if not evaluator.evidence:
        return rows
    fields = dict(evaluator.evidence)
    if rows.is_empty():
        evidence = pl.DataFrame(schema=fields)
    else:
        # Reading JSON lines is twice as fast as decoding text by text.
        lines = rows["detail"].fill_null("{}").str.join("\n").item()
        evidence = pl.read_ndjson(lines.encode(), schema=fields)
    return rows.drop("detail").hstack(evidence)


def aggregate_unpacked(
    evaluator: Evaluator, rows: pl.DataFrame, chance: Mapping[str, Chance] | None = None
) -> Graded:
    """Aggregate the result of `unpack_evidence`; see `aggregate`.

    Args:
        evaluator: The evaluator.
        rows: The unpacked samples of one system.
        chance: The chance levels; None: compute them. The jackknife passes those of all samples.
    """
    declared = {metric.name: metric for metric in evaluator.system_metrics}
    counted = counted_rows(rows)
    try:
        _require_answers(evaluator, rows, counted)
        result = as_graded(evaluator.aggregate(counted))
    except Unscored as reason:
        return Graded(dict.fromkeys(declared, reason))
    returned = {name for name, metric in declared.items() if metric.debiases is None}
    if set(result.scores) != returned:
        raise BrokenPromise(
            f"{evaluator.name}: declared the system metrics {sorted(returned)}, "
            f"returned {sorted(result.scores)}"
        )
    levels = evaluator.chance(counted) if chance is None else chance
    scores = dict(result.scores)
    for name in declared.keys() - returned:
        base = declared[name].debiases or ""
        scores[name] = _excess(scores[base], levels.get(base))
    return replace(
        result,
        scores={
            name: value
            if isinstance(value, Unscored)
            else _settle(evaluator, declared[name], value)
            for name, value in scores.items()
        },
        chance=levels,
    )


def count_samples(rows: pl.DataFrame, score: Value) -> dict[str, int]:
    """Count the samples behind a system metric by status, as the leaderboard does.

    If the metric has no value, its failed answers have none either. The others are undefined,
    unless the failed answers are the reason.

    Args:
        rows: The result of `unpack_evidence`.
        score: The metric's value, or the reason why there is none.
    """
    is_number = not isinstance(score, Unscored)
    has_meaning = is_number or isinstance(score, TargetError)
    found = {f"n_{status.value}": 0 for status in Status}
    tallies = np.bincount(rows[_TALLY].to_numpy(), minlength=4 * len(Status)).tolist()
    for (given, is_counted, failed), n in zip(_TALLIED, tallies, strict=True):
        if not n:
            continue
        status = given
        if is_counted and (is_number or not failed):
            status = Status.SCORED if has_meaning else Status.UNDEFINED
        elif is_counted or given is Status.SCORED:
            status = Status.TARGET_ERROR if failed else Status.UNDEFINED
        if status is not Status.TARGET_ERROR:
            found[f"n_{status.value}"] += n
        if failed and status is not Status.NOT_APPLICABLE:
            found[f"n_{Status.TARGET_ERROR.value}"] += n
    return {"n": rows.height, **found}


def _require_answers(evaluator: Evaluator, rows: pl.DataFrame, counted: pl.DataFrame) -> None:
    """Raise the reason why a system has no system metric, if there is one.

    Failures that the evaluator does not count would otherwise improve the metric, and counted
    failures alone measure nothing.
    """
    if counted.is_empty():
        raise Undefined("no sample has what the metric needs")
    if counted["failed"].all():
        raise TargetError("the system answered no question that the metric counts")
    if not evaluator.failure_is_worst or not rows["failed"].any():
        return
    ignored = rows.filter(
        pl.col("failed") & (pl.col("status") != Status.NOT_APPLICABLE.value) & ~pl.col(COUNTED)
    ).height
    if ignored:
        raise TargetError(f"failed answers have no value: {ignored}")


def _excess(score: Value, chance: Chance | None) -> Value:
    """Return a score less its chance level."""
    if isinstance(score, Unscored):
        return score
    return Undefined("there is no chance level") if chance is None else score - chance.level


def _add_absent_reason(evaluator: Evaluator, samples: pl.DataFrame) -> pl.DataFrame:
    """Add the columns `absent` and `left_out`.

    `absent` is the reason why a sample is not applicable, or null; `left_out` is true if the sample
    is left out, whatever it has: its system was not asked, or is not scored.
    """
    missing_columns = (evaluator.columns | {*KEYS, "error"}) - set(samples.columns)
    if missing_columns:
        raise BadSamples(
            f"{evaluator.name}: the samples lack the columns {sorted(missing_columns)}"
        )
    left_out = evaluator.other_system_reason()
    if NOT_ASKED in samples.columns:
        left_out = pl.coalesce(pl.when(NOT_ASKED).then(pl.lit("not asked")), left_out)
    return samples.with_columns(
        absent=pl.coalesce(left_out, evaluator.absent_reason()), left_out=left_out.is_not_null()
    ).drop(NOT_ASKED, strict=False)


def _blank_failed_answers(samples: pl.DataFrame) -> pl.DataFrame:
    """Empty the answer columns of failed answers, so that they cannot earn a score."""
    if samples["error"].null_count() == samples.height:
        return samples
    given = [name for name in samples.columns if name in ANSWER_COLUMNS]
    empty = {name: pl.lit(empty_value(name), dtype=SAMPLE_COLUMNS[name]) for name in given}
    return samples.with_columns(
        pl.when(pl.col("error").is_not_null() & pl.col(name).is_not_null())
        .then(empty[name])
        .otherwise(name)
        .alias(name)
        for name in given
    )


def _validate_output(evaluator: Evaluator, samples: pl.DataFrame, computed: pl.DataFrame) -> None:
    """Check that exactly the declared metrics and rows came back, with values within bounds."""
    declared = [metric.name for metric in evaluator.sample_metrics]
    extra = {f"{kind}:{name}" for name in declared for kind in ("status", "reason", "of_run")} | {
        "detail"
    }
    exact = set(declared) == set(computed.columns) - extra
    if not exact or computed.height != samples.height:
        raise BrokenPromise(
            f"{evaluator.name}: declared {declared} for {samples.height} samples, "
            f"returned {computed.columns} for {computed.height}"
        )
    for metric in evaluator.sample_metrics:
        value = pl.col(metric.name)
        low, high = metric.bounds
        out_of_bounds = (
            ~value.is_finite()
            | (value < low - rounding_error(low))
            | (value > high + rounding_error(high))
        )
        found = computed.select(out_of_bounds.fill_null(value=False)).to_series().arg_true()
        if len(found):
            first = found[0]
            raise BrokenPromise(
                f"{evaluator.name}.{metric.name} gave {computed[metric.name][first]!r} "
                f"for question {samples['question_id'][first]!r} "
                f"of system {samples['system'][first]!r}: "
                f"not within {metric.bounds}"
            )


def _clip_rounding(evaluator: Evaluator, computed: pl.DataFrame) -> pl.DataFrame:
    """Clip values that exceed a bound by a rounding error (a cosine of 1 + 2e-16)."""
    beyond = [
        metric
        for metric in evaluator.sample_metrics
        if not computed[metric.name].is_between(*metric.bounds).all()
    ]
    return computed.with_columns(pl.col(metric.name).clip(*metric.bounds) for metric in beyond)


def _settle(evaluator: Evaluator, metric: Metric, value: float) -> float:
    settled = metric.settle(value)
    if settled is None:
        raise BrokenPromise(
            f"{evaluator.name}.{metric.name} gave {value!r}: not within {metric.bounds}"
        )
    return settled
