"""Composites: numbers made of numbers, and the reason of the part that is missing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.errors import BadSamples
from evaluators.scoring import score
from tests.support.evaluators import metric, of_parts
from tests.support.samples import Outcome, outcomes, samples

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

A, B = "judge.score", "overlap.recall"
TYPES: dict[str, Any] = {
    A: pl.Float64,
    f"status:{A}": pl.String,
    B: pl.Float64,
    f"status:{B}": pl.String,
}
MEAN = of_parts([A, B], {"mean": (pl.col(A) + pl.col(B)) / 2})
WORST_FIRST = ["judge_error", "parse_failure", "target_error", "undefined", "not_applicable"]


def _row(a: float | str | None, b: float | str | None, **more: Any) -> dict[str, Any]:
    row = dict(more)
    for part, given in ((A, a), (B, b)):
        row[part if isinstance(given, float) else f"status:{part}"] = given
    return row


def _mean(row: dict[str, Any], evaluator: Evaluator = MEAN) -> Outcome:
    (found,) = outcomes(evaluator, samples([row], **TYPES))
    return found["mean"]


def test_parts_are_columns() -> None:
    assert MEAN.columns == set(TYPES)
    with pytest.raises(BadSamples, match=r"judge\.score"):
        score(MEAN, samples([{}]))


def test_a_number_where_every_part_has_one() -> None:
    assert _mean(_row(0.5, 1.0)) == Outcome(0.75)
    assert _mean(_row(0.0, 0.0)) == Outcome(0.0)


@pytest.mark.parametrize("status", WORST_FIRST)
@pytest.mark.parametrize("part", [A, B])
def test_the_reason_of_the_missing_part(status: str, part: str) -> None:
    row = _row(status, 0.5) if part == A else _row(0.5, status)
    assert _mean(row) == Outcome(None, status, f"{part}: {status}")


@pytest.mark.parametrize(("graver", "lesser"), list(itertools.combinations(WORST_FIRST, 2)))
def test_the_graver_reason_of_two(graver: str, lesser: str) -> None:
    assert _mean(_row(graver, lesser)) == Outcome(None, graver, f"{A}: {graver}")
    assert _mean(_row(lesser, graver)) == Outcome(None, graver, f"{B}: {graver}")


def test_a_part_without_scores_is_not_applicable() -> None:
    assert _mean(_row(None, 0.5)) == Outcome(None, "not_applicable", f"{A}: not_applicable")


def test_a_formula_without_a_value_is_undefined() -> None:
    ratio = of_parts([A, B], {"mean": pl.when(pl.col(B) > 0).then(pl.col(A) / pl.col(B))})
    assert _mean(_row(0.5, 0.0), ratio) == Outcome(
        None, "undefined", "the formula has no value here"
    )
    assert _mean(_row(0.5, 1.0), ratio) == Outcome(0.5)


@pytest.mark.parametrize(
    ("a", "b", "outcome"),
    [
        (0.0, 0.0, Outcome(0.0, "scored", "target_error")),
        ("target_error", 0.0, Outcome(0.0, "scored", "target_error")),
        ("not_applicable", 0.0, Outcome(None, "not_applicable", f"{A}: not_applicable")),
        (None, None, Outcome(None, "not_applicable", f"{A}: not_applicable")),
    ],
)
def test_a_failed_answer_is_the_worst_where_the_parts_apply(
    a: float | str | None, b: float | None, outcome: Outcome
) -> None:
    assert _mean(_row(a, b, error="timeout")) == outcome


def test_each_metric_for_itself() -> None:
    both = of_parts(
        [A, B],
        {"mean": (pl.col(A) + pl.col(B)) / 2, "gap": pl.when(pl.col(A) > pl.col(B)).then(0.5)},
        metrics=(metric("mean", primary=True), metric("gap", best="low")),
    )
    (found,) = outcomes(both, samples([_row(0.0, 1.0)], **TYPES))
    assert found["mean"] == Outcome(0.5)
    assert found["gap"].status == "undefined"


def test_a_metric_needs_only_the_parts_that_it_mentions() -> None:
    beside = of_parts(
        [A, B],
        {"mean": (pl.col(A) + pl.col(B)) / 2, "same": pl.col(A)},
        metrics=(metric("mean", primary=True), metric("same")),
    )
    (found,) = outcomes(beside, samples([_row(0.25, "judge_error")], **TYPES))
    assert found["mean"] == Outcome(None, "judge_error", f"{B}: judge_error")
    assert found["same"] == Outcome(0.25)
