"""What holds for every evaluator, whatever it measures; each property raises where it does not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import polars as pl
from polars.testing import assert_frame_equal

from evaluators.kinds.composite import CompositeEvaluator
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import NotApplicable, Status
from evaluators.sample import ANSWER_COLUMNS, KEYS, SAMPLE_COLUMNS, Sample
from evaluators.score_grid import aggregation_rows
from evaluators.scoring import aggregate

if TYPE_CHECKING:
    from collections.abc import Callable

    from evaluators.evaluator import Evaluator
    from evaluators.score_grid import ScoreGrid

Score: TypeAlias = "Callable[[Evaluator, pl.DataFrame], ScoreGrid]"
Property: TypeAlias = "Callable[[Score, Evaluator, pl.DataFrame], None]"

ROUNDING = 1e-9


def the_grid_is_complete(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """Every sample comes back with every sample metric, in the same order."""
    names = [metric.name for metric in evaluator.sample_metrics]
    expected = [(*row, name) for row in frame.select(KEYS).rows() for name in names]
    assert score(evaluator, frame).long().select(*KEYS, "metric").rows() == expected


def a_value_or_a_reason(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """A value is null exactly when the status is not `scored`, and then there is a reason."""
    known = {status.value for status in Status}
    for value, status, reason in _outcomes(score, evaluator, frame):
        assert status in known
        assert (value is None) == (status != Status.SCORED)
        assert status == Status.SCORED or reason


def values_keep_their_bounds(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """Values are finite and within the bounds of their metric."""
    bounds = [metric.bounds for metric in evaluator.sample_metrics] * frame.height
    found = _outcomes(score, evaluator, frame)
    for (value, _, _), (low, high) in zip(found, bounds, strict=True):
        if value is not None:
            assert math.isfinite(value)
            assert low <= value <= high


def the_order_of_rows_does_not_matter(
    score: Score, evaluator: Evaluator, frame: pl.DataFrame
) -> None:
    """Permuted rows give permuted results."""
    whole = score(evaluator, frame).frame
    odd_first = [*range(1, frame.height, 2), *range(0, frame.height, 2)]
    for order in (odd_first, _backwards(frame)):
        assert_frame_equal(score(evaluator, frame[order]).frame, whole[order])


def a_subset_gives_the_same_rows(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """What a sample gets does not depend on what it is scored with."""
    whole = score(evaluator, frame).frame
    for rows in (slice(0, 1), slice(1, None), slice(None, None, 2)):
        assert_frame_equal(score(evaluator, frame[rows]).frame, whole[rows])


def the_input_is_unchanged(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """The frame of samples is as it was."""
    before = pl.DataFrame(frame.to_dict(as_series=False), schema=frame.schema)
    score(evaluator, frame)
    assert_frame_equal(frame, before)


def nothing_gives_an_empty_grid(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """No samples give no grades, in the columns and types of other grades."""
    empty = score(evaluator, frame.clear())
    assert empty.frame.height == empty.long().height == 0
    assert empty.frame.schema == score(evaluator, frame).frame.schema
    assert empty.long().schema == score(evaluator, frame).long().schema


def failed_answers_get_the_worst_or_nothing(
    score: Score, evaluator: Evaluator, frame: pl.DataFrame
) -> None:
    """A failed answer is worst and scored, or `target_error` where nothing is the worst."""
    failed = frame.with_columns(error=pl.lit("timeout"))
    applicable = _applicable(evaluator, frame)
    found = iter(_outcomes(score, evaluator, failed))
    for applies, row in zip(applicable, failed.to_dicts(), strict=True):
        excused = _excused(evaluator, row) if applies else set()
        for metric in evaluator.sample_metrics:
            worst = metric.worst if evaluator.failure_is_worst else None
            value, status, reason = next(found)
            if not applies or metric.name in excused:
                assert (value, status) == (None, Status.NOT_APPLICABLE)
            else:
                assert reason == Status.TARGET_ERROR
                assert (value, status) == (
                    worst,
                    Status.TARGET_ERROR if worst is None else Status.SCORED,
                )


def failed_answers_are_not_looked_at(
    score: Score, evaluator: Evaluator, frame: pl.DataFrame
) -> None:
    """Whatever came with a failed answer changes neither its grades nor the evidence."""
    failed = frame.with_columns(error=pl.lit("timeout"))
    answers = [name for name in frame.columns if name in ANSWER_COLUMNS]
    emptied = failed.with_columns(
        pl.when(pl.col(name).is_not_null())
        .then(pl.lit("" if SAMPLE_COLUMNS[name] == pl.String else [], dtype=SAMPLE_COLUMNS[name]))
        .alias(name)
        for name in answers
    )
    assert_frame_equal(score(evaluator, failed).frame, score(evaluator, emptied).frame)


def another_system_changes_nothing(score: Score, evaluator: Evaluator, frame: pl.DataFrame) -> None:
    """Rows of another system leave the others as they are."""
    other = frame[_backwards(frame)].with_columns(system=pl.lit("other"))
    together = score(evaluator, pl.concat([frame, other])).frame
    assert_frame_equal(together.head(frame.height), score(evaluator, frame).frame)


def system_metrics_keep_their_bounds(
    score: Score, evaluator: Evaluator, frame: pl.DataFrame
) -> None:
    """Folding gives every system metric a finite value within bounds, in any order of rows."""
    if not evaluator.system_metrics:
        return
    rows = aggregation_rows(evaluator, score(evaluator, frame).frame)
    folded = aggregate(evaluator, rows)
    for metric in evaluator.system_metrics:
        value = folded.scores[metric.name]
        again = aggregate(evaluator, rows[_backwards(rows)]).scores[metric.name]
        if isinstance(value, float | int):
            low, high = metric.bounds
            assert math.isfinite(value)
            assert low <= value <= high
            assert isinstance(again, float | int)
            assert abs(value - again) <= ROUNDING
        else:
            assert value.reason
            assert value.status != Status.SCORED
            assert not isinstance(again, float | int)


PROPERTIES: tuple[Property, ...] = (
    the_grid_is_complete,
    a_value_or_a_reason,
    values_keep_their_bounds,
    the_order_of_rows_does_not_matter,
    a_subset_gives_the_same_rows,
    the_input_is_unchanged,
    nothing_gives_an_empty_grid,
    failed_answers_get_the_worst_or_nothing,
    failed_answers_are_not_looked_at,
    another_system_changes_nothing,
    system_metrics_keep_their_bounds,
)


def _backwards(frame: pl.DataFrame) -> list[int]:
    # Not `frame.reverse()`: it forgets the type of lists that are all null.
    return list(range(frame.height))[::-1]


def _outcomes(
    score: Score, evaluator: Evaluator, frame: pl.DataFrame
) -> list[tuple[float | None, str, str | None]]:
    long = score(evaluator, frame).long()
    return list(long.select("value", "status", "reason").iter_rows())


def _applicable(evaluator: Evaluator, frame: pl.DataFrame) -> list[bool]:
    """Whether each failed answer is graded: read off the declarations, apart from the scoring."""
    free = [True] * frame.height
    for obstacle in evaluator.not_applicable_reasons():
        reasons = frame.select(reason=obstacle)["reason"]
        free = [so_far and reason is None for so_far, reason in zip(free, reasons, strict=True)]
    return [
        so_far and _applies(evaluator, row)
        for so_far, row in zip(free, frame.to_dicts(), strict=True)
    ]


def _excused(evaluator: Evaluator, row: dict[str, object]) -> set[str]:
    """The metrics of which the evaluator says that they do not apply to this failed answer."""
    if isinstance(evaluator, CompositeEvaluator):
        gone = {part for part in evaluator.parts if _nothing_of(part, row)}
        of = {name: set(value.meta.root_names()) for name, value in evaluator.expressions().items()}
        return {name for name, names in of.items() if names & gone}
    if not isinstance(evaluator, RowEvaluator | FlowEvaluator):
        return set()
    special = evaluator.on_failure(Sample.of(row)).scores
    return {name for name, outcome in special.items() if isinstance(outcome, NotApplicable)}


def _applies(evaluator: Evaluator, row: dict[str, object]) -> bool:
    for name in evaluator.reads:
        value = row[name]
        empty = not (value.strip() if isinstance(value, str) else value)
        counts = name in evaluator.non_empty and name not in ANSWER_COLUMNS
        if value is None or (counts and empty):
            return False
    return True


def _nothing_of(part: str, row: dict[str, object]) -> bool:
    """Whether a part of a composite does not apply to a sample."""
    status = row[f"status:{part}"] or Status.NOT_APPLICABLE
    return row[part] is None and status == Status.NOT_APPLICABLE
