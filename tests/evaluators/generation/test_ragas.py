"""RAGAS: the harmonic mean of four metrics, per sample and of means."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.scoring import aggregate
from tests.support.samples import Outcome, outcomes, rows_to_fold, samples

RAGAS = build("ragas")
PARTS = [
    "faithfulness.faithfulness",
    "answer_relevancy.answer_relevancy",
    "context_precision.context_precision",
    "context_recall.context_recall",
]
TYPES: dict[str, Any] = dict.fromkeys(PARTS, pl.Float64) | {
    f"status:{part}": pl.String for part in PARTS
}


def _frame(*rows: tuple[float | str, ...], **more: Any) -> pl.DataFrame:
    given = [
        more
        | {
            part if isinstance(value, float) else f"status:{part}": value
            for part, value in zip(PARTS, row, strict=True)
        }
        for row in rows
    ]
    return samples(given, **TYPES)


@pytest.mark.parametrize(
    ("parts", "value"),
    [  # the golden examples of the specification
        ((0.8, 0.9, 0.75, 0.6), 0.7461140),
        ((1.0, 1.0, 1.0, 0.01), 0.0388350),
        ((0.8, 0.0, 0.9, 1.0), 0.0),
        ((1.0, 0.2, 1.0, 1.0), 0.5),
        ((1.0, 1.0, 1.0, 1.0), 1.0),
        ((0.0, 0.0, 0.0, 0.0), 0.0),
    ],
)
def test_harmonic_mean_beside_its_parts(parts: tuple[float, ...], value: float) -> None:
    (found,) = outcomes(RAGAS, _frame(parts))
    assert found["ragas"].value == pytest.approx(value, abs=5e-8)
    names = [part.partition(".")[0] for part in PARTS]
    assert [found[name] for name in names] == [Outcome(part) for part in parts]


@pytest.mark.parametrize("status", ["judge_error", "parse_failure", "undefined", "not_applicable"])
def test_a_missing_part_is_named_and_the_others_keep_their_values(status: str) -> None:
    (found,) = outcomes(RAGAS, _frame((0.8, status, 0.75, 0.0)))
    missing = Outcome(None, status, f"answer_relevancy.answer_relevancy: {status}")
    assert found["ragas"] == found["answer_relevancy"] == missing
    assert found["faithfulness"] == Outcome(0.8)
    assert found["context_precision"] == Outcome(0.75)
    assert found["context_recall"] == Outcome(0.0)


def test_a_failed_answer_follows_its_parts() -> None:
    (found,) = outcomes(RAGAS, _frame((0.0, 0.0, 0.0, 0.0), error="timeout"))
    assert set(found.values()) == {Outcome(0.0, "scored", "target_error")}
    (partly,) = outcomes(RAGAS, _frame((0.0, 0.0, "not_applicable", 0.0), error="timeout"))
    assert partly["ragas"].status == partly["context_precision"].status == "not_applicable"
    assert partly["faithfulness"] == Outcome(0.0, "scored", "target_error")


def _of_means(*rows: tuple[float | str, ...]) -> Any:
    return aggregate(RAGAS, rows_to_fold(RAGAS, _frame(*rows))).scores["ragas_of_means"]


def test_the_harmonic_mean_of_means_is_another_number() -> None:
    rows = [(1.0, 0.2, 1.0, 1.0), (0.2, 1.0, 1.0, 1.0)]
    assert _of_means(*rows) == pytest.approx(0.75)
    own = [found["ragas"].value or 0.0 for found in outcomes(RAGAS, _frame(*rows))]
    assert sum(own) / 2 == pytest.approx(0.5)


def test_means_run_over_what_has_a_value() -> None:
    assert _of_means((1.0, 1.0, 1.0, 1.0), (1.0, "undefined", 1.0, 1.0)) == 1.0
    assert _of_means((0.0, 1.0, 1.0, 1.0)) == 0.0
    gone = _of_means((1.0, "judge_error", 1.0, 1.0))
    assert (gone.status.value, gone.reason) == (
        "undefined",
        "no sample has a value of answer_relevancy",
    )
