"""Frame evaluators: expressions over whole frames."""

from __future__ import annotations

import json

import polars as pl
import pytest

from evaluators.scoring import score
from tests.support.evaluators import of_frame
from tests.support.samples import Outcome, outcomes, samples

RATIO = pl.col("noise_ratio")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (RATIO > 0, 1.0),
        (RATIO < 0, 0.0),
        (RATIO.cast(pl.Float32), 0.5),
        ((RATIO * 2).cast(pl.UInt8), 1.0),
    ],
)
def test_truths_and_numbers_of_any_width_become_values(expression: pl.Expr, value: float) -> None:
    evaluator = of_frame({"share": expression})
    assert outcomes(evaluator, samples([{"noise_ratio": 0.5}])) == [{"share": Outcome(value)}]


def test_text_is_no_number() -> None:
    worded = of_frame({"share": pl.lit("half") + RATIO.cast(pl.String)})
    with pytest.raises(pl.exceptions.InvalidOperationError):
        score(worded, samples([{"noise_ratio": 0.5}]))


def test_null_is_undefined_with_the_reason_that_the_evaluator_gives() -> None:
    evaluator = of_frame({"share": pl.when(RATIO > 0).then(RATIO)}, undefined="no noise at all")
    assert outcomes(evaluator, samples([{"noise_ratio": 0.0}, {"noise_ratio": 0.5}])) == [
        {"share": Outcome(None, "undefined", "no noise at all")},
        {"share": Outcome(0.5)},
    ]


def test_expressions_see_the_prepared_frame() -> None:
    evaluator = of_frame(
        {"share": pl.col("half")},
        prepare=lambda _, frame: frame.select(half=RATIO / 2),
        evidence={"half": pl.Float64},
    )
    grades = score(evaluator, samples([{"noise_ratio": 0.5}]))
    assert grades.frame["values"].to_list() == [[0.25]]
    assert grades.frame["detail"].to_list() == ['{"half":0.25}']


@pytest.mark.parametrize(
    "label", ['"', "\\", "\n", "\x00", "\u2028", "null", "1", "", "東京", "e\u0301", "}{"]
)
def test_evidence_survives_json(label: str) -> None:
    evaluator = of_frame(
        {"right": pl.lit(1.0) * (RATIO >= 0)},
        reads=frozenset({"noise_ratio", "label"}),
        evidence={"label": pl.String},
    )
    frame = score(evaluator, samples([{"noise_ratio": 0.5, "label": label}])).frame
    (detail,) = frame["detail"]
    assert json.loads(detail) == {"label": label}
    fields = pl.Struct({"label": pl.String})
    assert frame["detail"].str.json_decode(fields).to_list() == [{"label": label}]
