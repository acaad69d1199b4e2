"""Scoring: an outcome for every sample and metric, and no number that was not declared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.errors import BadSamples, BrokenPromise
from evaluators.outcome import (
    JudgeError,
    NotApplicable,
    ParseFailure,
    Scores,
    TargetError,
    Undefined,
    Unscored,
)
from evaluators.scoring import score
from tests.support.evaluators import computing, metric, of_frame, of_rows
from tests.support.samples import Outcome, outcomes, samples
from tests.support.scripted_judge import by_form, judged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.evaluator import Evaluator
    from evaluators.sample import Sample

RATIO = pl.col("noise_ratio")
PLAIN = of_frame({"share": RATIO})
LENGTH = {
    "reads": frozenset({"answer", "expected_answers"}),
    "non_empty": frozenset({"answer", "expected_answers"}),
}
CHARACTERS = of_frame({"length": pl.col("answer").str.len_chars() / 100}, **LENGTH)
GOLD = ["x"]


def _one(evaluator: Evaluator, row: Mapping[str, Any]) -> dict[str, Outcome]:
    (found,) = outcomes(evaluator, samples([row]))
    return found


@pytest.mark.parametrize(
    ("messages", "error", "outcome"),
    [
        ('[{"role":"assistant"}]', None, Outcome(1.0)),
        ("[]", None, Outcome(None, "not_applicable", "no messages")),
        ('[{"role":"assistant"}]', "x", Outcome(0.0, reason="target_error")),
        ("[]", "x", Outcome(0.0, reason="target_error")),
    ],
)
def test_empty_lists_in_json_are_missing_unless_the_system_failed(
    messages: str, error: str | None, outcome: Outcome
) -> None:
    column = frozenset({"messages"})
    evaluator = of_frame(
        {"n": (pl.col("messages").str.len_bytes() > 2).cast(pl.Float64)},
        reads=column,
        non_empty=column,
    )
    assert _one(evaluator, {"messages": messages, "error": error}) == {"n": outcome}


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        ({"answer": "four", "expected_answers": GOLD}, Outcome(0.04)),
        ({"answer": None, "expected_answers": GOLD}, "no answer"),
        ({"answer": "", "expected_answers": GOLD}, "no answer"),
        ({"answer": " \n\t", "expected_answers": GOLD}, "no answer"),
        ({"answer": "four", "expected_answers": None}, "no expected_answers"),
        ({"answer": "four", "expected_answers": []}, "no expected_answers"),
        ({"answer": None, "expected_answers": None}, "no answer"),
        ({"answer": None, "expected_answers": GOLD, "error": "x"}, "no answer"),
        ({"answer": "four", "expected_answers": [], "error": "x"}, "no expected_answers"),
        ({"answer": "", "expected_answers": GOLD, "error": "x"}, "failed"),
        ({"answer": "four", "expected_answers": GOLD, "error": ""}, "failed"),
    ],
)
def test_what_is_absent_and_what_has_failed(row: Mapping[str, Any], outcome: Outcome | str) -> None:
    if outcome == "failed":
        outcome = Outcome(0.0, "scored", "target_error")
    elif isinstance(outcome, str):
        outcome = Outcome(None, "not_applicable", outcome)
    assert _one(CHARACTERS, row) == {"length": outcome}


def test_an_empty_list_is_something_unless_declared_otherwise() -> None:
    counting = of_frame({"n": pl.col("contexts").list.len() / 9}, reads=frozenset({"contexts"}))
    assert _one(counting, {"contexts": []})["n"] == Outcome(0.0)


@pytest.mark.parametrize(
    ("facts", "failure_is_worst", "outcome"),
    [
        ({}, True, Outcome(0.0, "scored", "target_error")),
        ({"best": "low"}, True, Outcome(1.0, "scored", "target_error")),
        ({"bounds": (-1.0, 1.0)}, True, Outcome(-1.0, "scored", "target_error")),
        (
            {"best": "low", "bounds": (0.0, math.inf)},
            True,
            Outcome(None, "target_error", "target_error"),
        ),
        ({}, False, Outcome(None, "target_error", "target_error")),
        ({"best": "low"}, False, Outcome(None, "target_error", "target_error")),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "rows"])
def test_a_failed_answer_is_the_worst_or_nothing(
    kind: str, facts: dict[str, Any], failure_is_worst: bool, outcome: Outcome
) -> None:
    attributes = {
        "metrics": (metric("share", primary=True, **facts),),
        "failure_is_worst": failure_is_worst,
    }
    evaluator = (
        of_frame({"share": RATIO}, **attributes)
        if kind == "frame"
        else of_rows(lambda _: {"share": 0.5}, **attributes)
    )
    answered, failed = outcomes(
        evaluator, samples([{"noise_ratio": 0.5}, {"noise_ratio": 0.5, "error": "timeout"}])
    )
    assert answered == {"share": Outcome(0.5)}
    assert failed == {"share": outcome}


def test_a_failed_answer_is_not_looked_at() -> None:
    seen = of_frame(
        {"right": (pl.col("label") == "yes").cast(pl.Float64)},
        reads=frozenset({"label", "retrieved_doc_ids", "question"}),
        evidence={"label": pl.String, "retrieved_doc_ids": pl.String, "question": pl.String},
    )
    row = {"label": "yes", "retrieved_doc_ids": ["d"], "question": "Who?", "error": "cut off"}
    (detail,) = score(seen, samples([row])).frame["detail"]
    assert detail == '{"label":"","retrieved_doc_ids":[],"question":"Who?"}'


def test_one_metric_may_be_undefined_beside_another() -> None:
    evaluator = of_frame({"share": RATIO, "odds": pl.when(RATIO < 1).then(RATIO)})
    assert _one(evaluator, {"noise_ratio": 1.0}) == {
        "share": Outcome(1.0),
        "odds": Outcome(None, "undefined", "the formula has no value for this sample"),
    }


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (NotApplicable("why"), "not_applicable"),
        (Undefined("why"), "undefined"),
        (ParseFailure("why"), "parse_failure"),
        (JudgeError("why"), "judge_error"),
        (TargetError("why"), "target_error"),
    ],
)
def test_a_reason_holds_for_one_metric_or_for_all(reason: Unscored, status: str) -> None:
    def refuse(_: Sample) -> Scores:
        raise reason

    why = Outcome(None, status, "why")
    one = of_rows(lambda _: {"a": reason, "b": 1.0}, "a", "b")
    assert _one(one, {"noise_ratio": 0.0}) == {"a": why, "b": Outcome(1.0)}
    assert _one(of_rows(refuse, "a", "b"), {"noise_ratio": 0.0}) == {"a": why, "b": why}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_without_bounds_values_are_finite_still(value: float) -> None:
    open_ended = (metric("share", primary=True, bounds=(-math.inf, math.inf)),)
    evaluator = of_rows(lambda _: {"share": value}, "share", metrics=open_ended)
    with pytest.raises(BrokenPromise, match=r"not within \(-inf, inf\)"):
        score(evaluator, samples([{"noise_ratio": 0.5}]))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.001, -0.001, 2.0])
@pytest.mark.parametrize("kind", ["frame", "rows"])
def test_values_out_of_bounds_are_refused(kind: str, value: float) -> None:
    evaluator = (
        of_frame({"share": pl.when(RATIO > 0).then(value).otherwise(0.5)})
        if kind == "frame"
        else of_rows(lambda sample: {"share": value if sample.noise_ratio else 0.5}, "share")
    )
    frame = samples([{"noise_ratio": 0.0}, {"noise_ratio": 1.0, "question_id": "which?"}])
    with pytest.raises(BrokenPromise) as error:
        score(evaluator, frame)
    assert str(error.value) == (
        f"test_double.share gave {value!r} for question 'which?' of system 's': "
        "not within (0.0, 1.0)"
    )


@pytest.mark.parametrize(("ratio", "value"), [(1 + 1e-12, 1.0), (-1e-12, 0.0), (0.5, 0.5)])
def test_what_rounding_adds_beyond_a_bound_is_taken_back(ratio: float, value: float) -> None:
    assert _one(of_frame({"share": RATIO}), {"noise_ratio": ratio})["share"] == Outcome(value)


@pytest.mark.parametrize(
    ("evaluator", "told"),
    [
        (of_frame({"a": RATIO}, metrics=(metric("a"), metric("b"))), r"\['a', 'b'\].*\['a'\]"),
        (of_frame({"a": RATIO, "b": RATIO}, metrics=(metric("a"),)), r"\['a'\].*\['a', 'b'\]"),
        (of_frame({"a": pl.lit(1.0)}), "for 2 samples, returned .* for 1"),
        (computing(lambda frame: frame.head(1).select(a=RATIO), "a"), "returned .* for 1"),
        (computing(lambda frame: frame.select(b=RATIO), "a"), r"\['a'\].*\['b'\]"),
        (of_rows(lambda _: {"a": 1.0}, "a", "b"), r"\['a', 'b'\], returned \['a'\]"),
        (of_rows(lambda _: {"a": 1.0, "b": 1.0}, "a"), r"\['a'\], returned \['a', 'b'\]"),
        (of_rows(lambda _: {}, "a"), r"returned \[\]"),
    ],
)
def test_other_metrics_or_rows_than_declared_are_refused(evaluator: Evaluator, told: str) -> None:
    frame = samples([{"noise_ratio": 0.1}, {"noise_ratio": 0.2}])
    with pytest.raises(BrokenPromise, match=f"^test_double: declared .*{told}"):
        score(evaluator, frame)


def test_other_exceptions_fly() -> None:
    with pytest.raises(ZeroDivisionError):
        _one(of_rows(lambda sample: {"a": 1 / (sample.noise_ratio or 0)}, "a"), {"noise_ratio": 0})
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        _one(of_frame({"a": pl.col("no_such_column")}), {"noise_ratio": 0.0})


@pytest.mark.parametrize("missing", ["noise_ratio", "error", "question_id", "answer"])
def test_missing_columns_are_named(missing: str) -> None:
    evaluator = of_frame({"share": RATIO}, optional=frozenset({"answer"}))
    frame = samples([{"noise_ratio": 0.5}]).drop(missing)
    with pytest.raises(BadSamples, match=rf"^test_double: .* lack the columns \['{missing}'\]"):
        score(evaluator, frame)


def test_input_digests_stay_with_their_samples() -> None:
    rows: list[dict[str, Any]] = [
        {"noise_ratio": 0.5, "input_digest": 7},
        {"input_digest": 2**64 - 1},
    ]
    frame = samples(rows, input_digest=pl.UInt64)
    assert score(PLAIN, frame).frame["input_digest"].to_list() == [7, 2**64 - 1]


def test_an_evaluator_for_some_systems_only_asks_no_judge_about_others() -> None:
    evaluator = replace(build("sexism"), only_systems=("strong",))
    judge = by_form(Verdict={})
    rows = [
        {"system": name, "question": "Who?", "answer": "", "error": error}
        for name in ("simple", "strong")
        for error in (None, "timed out")
    ]
    found = [
        (row["system"], row["value"], row["status"], row["reason"])
        for row in judged(evaluator, rows, judge)
        if row["metric"] == "passes"
    ]
    assert found == [
        ("simple", None, "not_applicable", "only for 'strong'"),
        ("simple", None, "not_applicable", "only for 'strong'"),
        ("strong", 1.0, "scored", "empty_answer"),
        ("strong", None, "target_error", "target_error"),
    ]
    assert judge.asked == []


def test_zero_where_there_is_no_data() -> None:
    """A source writes 0 where an input is missing; the specification gives no value."""
    rows = [
        {"question_id": "given", "answer": "yes", "expected_answers": ["yes"]},
        {"question_id": "missing", "answer": "yes", "expected_answers": None},
        {"question_id": "other", "system": "x", "answer": "yes", "expected_answers": ["yes"]},
        {"question_id": "failed", "answer": "", "expected_answers": ["yes"], "error": "late"},
    ]
    evaluator = replace(build("rouge"), no_data="zero", only_systems=("system",))
    given = samples([{"system": "system", **row} for row in rows])
    found = score(evaluator, given).long().filter(pl.col("metric") == "rouge_l")
    assert found.select("question_id", "value", "status", "reason").rows() == [
        ("given", 1.0, "scored", None),
        ("missing", 0.0, "scored", "no expected_answers"),
        ("other", None, "not_applicable", "only for 'system'"),
        ("failed", 0.0, "scored", "target_error"),
    ]
    assert evaluator.signature != build("rouge").signature


def test_a_missing_engine_is_not_missing_data() -> None:
    evaluator = replace(build("groundedness"), no_data="zero")
    rows = [{"question_id": "q", "answer": "A.", "contexts": ["B."]}]
    (row,) = score(evaluator, samples(rows)).long().rows(named=True)
    assert (row["value"], row["status"]) == (None, "not_applicable")
    assert row["reason"] == "no embedding model is configured"
