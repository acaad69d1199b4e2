"""Folding: metrics that exist only for a whole system keep the same promises."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
import pytest

from evaluators.errors import BrokenPromise
from evaluators.outcome import Graded, Scores, Undefined
from evaluators.scoring import aggregate
from tests.doubles import metric, of_frame
from tests.samples import rows_to_fold, samples

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

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
