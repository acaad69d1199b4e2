"""Folding: metrics that exist only for a whole system keep the same promises."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

from evaluators.errors import BrokenPromise
from evaluators.outcome import Graded, Scores, TargetError, Undefined
from evaluators.scoring import aggregate, count_samples, unpack_evidence
from tests.support.evaluators import metric, of_frame
from tests.support.samples import rows_to_fold, samples

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Value

RATIO = pl.col("noise_ratio")


def test_system_metrics_come_from_the_evidence() -> None:
    evaluator = of_frame(
        {"share": RATIO},
        metrics=(metric("share", primary=True), metric("most", level="system")),
        evidence={"noise_ratio": pl.Float64},
        aggregate=lambda _, rows: {"most": rows["noise_ratio"].max()},
    )
    rows = rows_to_fold(evaluator, samples([{"noise_ratio": 0.25}, {"noise_ratio": 0.5}, {}]))
    assert aggregate(evaluator, rows).scores == {"most": 0.5}


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        ({"most": 1.5}, r"most gave 1.5: not within \(0.0, 1.0\)"),
        ({"most": math.nan}, "most gave nan"),
        ({"most": math.inf}, "most gave inf"),
        ({}, r"declared the system metrics \['most'\], returned \[\]"),
        ({"most": 1.0, "least": 0.0}, r"returned \['least', 'most'\]"),
    ],
)
def test_system_metrics_keep_promises_too(scores: Scores, told: str) -> None:
    system = (metric("share", primary=True), metric("most", level="system"))
    evaluator = of_frame({"share": RATIO}, metrics=system, aggregate=lambda _self, _rows: scores)
    with pytest.raises(BrokenPromise, match=told):
        aggregate(evaluator, rows_to_fold(evaluator, samples([{"noise_ratio": 1.0}])))


def test_a_system_metric_may_be_undefined() -> None:
    def refuse(_self: Evaluator, _rows: pl.DataFrame) -> Graded:
        raise Undefined("too few")

    system = (metric("share", primary=True), metric("most", level="system"))
    evaluator = of_frame({"share": RATIO}, metrics=system, aggregate=refuse)
    rows = rows_to_fold(evaluator, samples([{"noise_ratio": 1.0}]))
    (most,) = aggregate(evaluator, rows).scores.values()
    assert isinstance(most, Undefined)
    assert most.reason == "too few"


FAILING = samples([{"noise_ratio": 1.0}, {"noise_ratio": 0.5, "error": "timeout"}, {}])


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (0.5, {"n_scored": 2, "n_undefined": 0}),
        (TargetError("one failed"), {"n_scored": 1, "n_undefined": 0}),
        (Undefined("too few"), {"n_scored": 0, "n_undefined": 1}),
    ],
)
def test_each_metric_counts_its_own_samples(score: Value, expected: dict[str, int]) -> None:
    system = (metric("share", primary=True), metric("most", level="system"))
    counted = {"counted": lambda _: pl.col("status") == "scored"}
    evaluator = of_frame(
        {"share": RATIO}, metrics=system, aggregate=lambda *_: {"most": score}, **counted
    )
    rows = unpack_evidence(evaluator, rows_to_fold(evaluator, FAILING))
    found = count_samples(rows, score)
    assert found == {
        "n": 3,
        "n_not_applicable": 1,
        "n_parse_failure": 0,
        "n_judge_error": 0,
        "n_target_error": 1,
        **expected,
    }


def test_by_default_a_failed_answer_leaves_no_system_metric() -> None:
    """An author who forgets failures does not reward them."""
    system = (metric("share", primary=True), metric("most", level="system"))
    facts = {"metrics": system, "aggregate": lambda _, rows: {"most": rows["share"].max()}}
    strict, lenient = (
        of_frame({"share": RATIO}, failure_is_worst=worst, **facts) for worst in (True, False)
    )
    (lost,) = aggregate(strict, rows_to_fold(strict, FAILING)).scores.values()
    assert isinstance(lost, TargetError)
    # Where an empty text is not at fault, the answers given count.
    assert aggregate(lenient, rows_to_fold(lenient, FAILING)).scores == {"most": 1.0}


def test_failed_answers_alone_are_no_system_metric() -> None:
    system = (metric("share", primary=True), metric("most", level="system"))
    counted = {"counted": lambda _: pl.col("status") == "scored"}
    evaluator = of_frame(
        {"share": RATIO}, metrics=system, aggregate=lambda *_: {"most": 0.0}, **counted
    )
    (lost,) = aggregate(evaluator, rows_to_fold(evaluator, FAILING[1:])).scores.values()
    assert isinstance(lost, TargetError)
    assert lost.reason == "the system answered no question that the metric counts"
