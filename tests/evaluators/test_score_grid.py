"""The score grid: packing, unpacking, and outcomes."""

from __future__ import annotations

from typing import Any

import polars as pl

from evaluators.outcome import Undefined
from evaluators.score_grid import settle_rounding
from evaluators.scoring import score
from tests.support.evaluators import of_frame, of_rows
from tests.support.samples import samples

RATIO = pl.col("noise_ratio")
TWO = of_frame({"share": RATIO, "rest": pl.when(RATIO < 1).then(1 - RATIO)})
PACKED = {
    "benchmark": pl.String,
    "system": pl.String,
    "question_id": pl.String,
    "values": pl.List(pl.Float64),
    "statuses": pl.List(pl.String),
    "reasons": pl.List(pl.String),
    "detail": pl.String,
}
LONG = {
    "benchmark": pl.String,
    "system": pl.String,
    "question_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "status": pl.String,
    "reason": pl.String,
    "detail": pl.String,
}
FORMULA = "the formula has no value for this sample"
ROWS: list[dict[str, Any]] = [
    {"noise_ratio": 0.25},
    {"noise_ratio": 1.0},
    {"noise_ratio": None},
    {"noise_ratio": 0.5, "error": "timeout"},
]


def test_samples_of_which_there_is_nothing_to_say_have_no_statuses() -> None:
    frame = score(TWO, samples(ROWS[:1] * 2)).frame
    assert frame.schema == PACKED
    assert frame["values"].to_list() == [[0.25, 0.75]] * 2
    assert frame["statuses"].to_list() == [None, None]
    assert frame["reasons"].to_list() == [None, None]


def test_samples_of_which_there_is_have_them_for_every_metric() -> None:
    frame = score(TWO, samples(ROWS)).frame
    assert frame.schema == PACKED
    assert frame.select("question_id", "values", "statuses", "reasons").rows() == [
        ("q1", [0.25, 0.75], None, None),
        ("q2", [1.0, None], ["scored", "undefined"], [None, FORMULA]),
        ("q3", [None, None], ["not_applicable"] * 2, ["no noise_ratio"] * 2),
        ("q4", [0.0, 0.0], ["scored"] * 2, ["target_error"] * 2),
    ]


def test_the_long_form_has_every_sample_with_every_metric() -> None:
    grades = score(TWO, samples(ROWS))
    assert grades.metrics == ("share", "rest")
    long = grades.long()
    assert long.schema == LONG
    assert long.select("question_id", "metric", "value", "status", "reason").rows() == [
        ("q1", "share", 0.25, "scored", None),
        ("q1", "rest", 0.75, "scored", None),
        ("q2", "share", 1.0, "scored", None),
        ("q2", "rest", None, "undefined", FORMULA),
        ("q3", "share", None, "not_applicable", "no noise_ratio"),
        ("q3", "rest", None, "not_applicable", "no noise_ratio"),
        ("q4", "share", 0.0, "scored", "target_error"),
        ("q4", "rest", 0.0, "scored", "target_error"),
    ]


def test_the_long_form_of_nothing_is_empty() -> None:
    grades = score(TWO, samples([]))
    assert grades.frame.schema == PACKED
    assert grades.long().schema == LONG
    assert grades.long().height == 0


def test_nothing_but_inapplicable_samples() -> None:
    grades = score(TWO, samples([{}, {}]))
    assert grades.frame.schema == PACKED
    assert grades.long()["status"].to_list() == ["not_applicable"] * 4


def test_a_reason_of_the_evaluator_stands_in_its_own_row() -> None:
    evaluator = of_rows(
        lambda sample: {"a": 1.0 if sample.noise_ratio else Undefined("nought")}, "a"
    )
    long = score(evaluator, samples([{"noise_ratio": 0.5}, {"noise_ratio": 0.0}])).long()
    assert long.select("value", "status", "reason").rows() == [
        (1.0, "scored", None),
        (None, "undefined", "nought"),
    ]


def test_values_that_exceed_a_bound_by_rounding_are_the_bound() -> None:
    frame = pl.DataFrame(
        {
            "value": [0.1 + 1.4e-17, -1e-18, 0.2, 0.05, 7.0, None],
            "low": [0.0, 0.0, 0.0, 0.0, None, 0.0],
            "high": [0.1, 0.1, 0.1, 0.1, None, 0.1],
        }
    )
    settled = frame.select(settle_rounding(*map(pl.col, ("value", "low", "high"))))
    # 0.2 is a defect, which stays for the checks to find.
    assert settled["value"].to_list() == [0.1, 0.0, 0.2, 0.05, 7.0, None]
