"""The scores of several answers to a question, combined into one."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import polars as pl
import pytest

from assets.scoring.repeated_answers import average_repeats
from evaluators import catalog

SCHEMA = {
    **dict.fromkeys(("system", "question_id", "label"), pl.String),
    "repeat": pl.Int32,
    "values": pl.List(pl.Float64),
    **dict.fromkeys(("statuses", "reasons"), pl.List(pl.String)),
    "input_digest": pl.UInt64,
    "scored_at": pl.Datetime,
}
FAILED = ("scored", "target_error")
"""The status and the reason of a failed answer with the worst value."""

LOST = ("judge_error", "the judge did not answer")


def answer(value: float | None, label: str | None = None, *why: str) -> dict[str, Any]:
    status, reason = why or (None, None)
    return {
        "values": [value],
        "statuses": [status] if status else None,
        "reasons": [reason] if reason else None,
        "label": label,
    }


def averaged(*answers: dict[str, Any], repeats: int = 3, name: str = "classification") -> Any:
    """The metrics of one question: value, status and reason by name; and its other columns."""
    evaluator = replace(catalog.build(name), repeats=repeats)
    constants = {"system": "a", "question_id": "q", "scored_at": datetime(2026, 1, 1)}  # noqa: DTZ001
    rows = [
        {**constants, "repeat": number, "input_digest": number, **each}
        for number, each in enumerate(answers)
    ]
    (row,) = average_repeats(evaluator, pl.DataFrame(rows, schema=SCHEMA)).to_dicts()
    names = [metric.name for metric in evaluator.sample_metrics]
    given = zip(row.pop("values"), row.pop("statuses"), row.pop("reasons"), strict=True)
    return dict(zip(names, given, strict=True)), row


def test_the_mean_the_pass_rates_and_the_majority() -> None:
    metrics, row = averaged(answer(1.0, "x"), answer(0.0, "y"), answer(0.0, "y"))
    values = {name: value for name, (value, *_) in metrics.items()}
    # Of the pairs of answers, two of three hold the one that passes.
    assert values == {
        "accuracy": pytest.approx(1 / 3),
        "accuracy_majority": 0.0,
        "accuracy_pass_at_2": pytest.approx(2 / 3),
        "accuracy_pass_hat_2": 0.0,
        "accuracy_pass_at_3": 1.0,
        "accuracy_pass_hat_3": 0.0,
    }
    assert {status for _, status, _ in metrics.values()} == {"scored"}
    assert {reason for *_, reason in metrics.values()} == {None}
    assert (row["n_answers"], row["detail"]) == (3, '{"answers":[1.0,0.0,0.0]}')


def test_a_tie_of_labels_counts_all_of_them() -> None:
    metrics, _ = averaged(answer(1.0, "x"), answer(0.0, "y"))
    assert metrics["accuracy_majority"][0] == 0.5


def test_a_lost_answer_leaves_the_others_and_says_so() -> None:
    metrics, row = averaged(answer(1.0, "x"), answer(None, None, *LOST), answer(0.0, "y"))
    assert metrics["accuracy"] == (0.5, "scored", "of 3 answers 1 judge_error")
    assert metrics["accuracy_pass_at_2"][0] == 1.0
    # Three answers were given, so that the lost verdict is the reason.
    assert metrics["accuracy_pass_at_3"] == (None, "judge_error", "2 of 3 answers have a score")
    assert row["detail"] == '{"answers":[1.0,"judge_error",0.0]}'


def test_bounds_are_what_a_score_could_be_with_lost_answers() -> None:
    unclear = answer(None, None, "parse_failure", "no verdict")
    metrics, row = averaged(answer(1.0, "x"), answer(0.0, "y"), unclear, unclear, repeats=4)
    bounds = dict(
        zip(metrics, zip(row["values_low"], row["values_high"], strict=True), strict=True)
    )
    # One to three of four pass.
    assert metrics["accuracy"][0] == 0.5
    assert bounds["accuracy"] == (0.25, 0.75)
    # Of the six pairs of four answers, three hold the one that passes; of three passing all do.
    assert metrics["accuracy_pass_at_2"][0] == 1.0
    assert bounds["accuracy_pass_at_2"] == (pytest.approx(0.5), 1.0)
    assert metrics["accuracy_pass_hat_2"][0] == 0.0
    assert bounds["accuracy_pass_hat_2"] == (0.0, pytest.approx(0.5))
    assert metrics["accuracy_pass_at_3"][:2] == (None, "parse_failure")
    assert bounds["accuracy_pass_at_3"] == (None, None)
    assert set(row["has_failed"]) == {False}


def test_answers_that_do_not_apply_or_were_not_given_are_not_lost() -> None:
    other = answer(None, None, "not_applicable", "no label")
    metrics, row = averaged(answer(1.0, "x"), other, repeats=3)
    assert metrics["accuracy"] == (1.0, "scored", "of 2 answers 1 not_applicable")
    assert metrics["accuracy_pass_at_2"][:2] == (None, "undefined")
    assert set(row["values_low"]) == set(row["values_high"]) == {None}


def test_without_a_scored_answer_there_is_no_score() -> None:
    unclear = ("parse_failure", "no verdict")
    metrics, _ = averaged(answer(None, None, *unclear), answer(None, None, *LOST))
    for value, status, reason in metrics.values():
        assert (value, status) == (None, "judge_error")
        assert reason == "of 2 answers 1 judge_error, 1 parse_failure"


def test_a_failed_answer_counts_as_the_worst() -> None:
    metrics, row = averaged(answer(1.0, "x"), answer(0.0, None, *FAILED))
    assert metrics["accuracy"] == (0.5, "scored", "of 2 answers 1 target_error")
    assert set(row["has_failed"]) == {True}
    # It is no lost answer: the worst value is its value.
    assert set(row["values_low"]) == {None}
    # A failed answer is no vote.
    assert metrics["accuracy_majority"][0] == 1.0


def test_a_question_whose_answers_all_failed_has_failed() -> None:
    metrics, _ = averaged(*[answer(0.0, None, *FAILED)] * 3)
    assert set(metrics.values()) == {(0.0, "scored", "target_error")}


def test_remarks_on_scores_stay() -> None:
    metrics, _ = averaged(answer(1.0, "x", "scored", "an empty answer"), answer(0.0, "y"))
    assert metrics["accuracy"] == (0.5, "scored", "an empty answer")


def test_numbers_have_no_pass_rates() -> None:
    texts = [{**answer(None), "values": [value, 0.5, 1.0]} for value in (0.25, 0.75)]
    metrics, _ = averaged(*texts, name="rouge")
    assert list(metrics) == ["rouge_1", "rouge_2", "rouge_l"]
    assert metrics["rouge_1"][0] == 0.5


def test_a_low_best_passes_where_it_is_low() -> None:
    """`pass@k` counts what is best, whichever end of the scale that is."""
    found = catalog.build("tokens_presence").repeated_metrics(2)
    assert [each.metric.name for each in found] == ["passes_pass_at_2", "passes_pass_hat_2"]


def test_composed_and_decomposed_labels_are_one_vote() -> None:
    metrics, _ = averaged(answer(1.0, "caf\u00e9"), answer(1.0, "cafe\u0301"), answer(0.0, "x"))
    assert metrics["accuracy_majority"][0] == 1.0
    metrics, _ = averaged(answer(0.0, "x"), answer(1.0, "caf\u00e9"), answer(1.0, "cafe\u0301"))
    assert metrics["accuracy_majority"][0] == 1.0
