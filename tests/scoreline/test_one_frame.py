"""One frame with questions and answers is enough, and `print` says what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline
from tests.scoreline.rows import ANSWERS, QUESTIONS
from tests.support.judge_server import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path


def combined(*systems: str) -> list[dict[str, Any]]:
    """A row for each answer, with its question."""
    questions = {row["question_id"]: row for row in QUESTIONS}
    return [
        {**questions[row["question_id"]], **row, "system": name}
        for name in systems
        for row in ANSWERS[name]
    ]


def without(rows: Iterable[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in names} for row in rows]


def means(results: scoreline.Results) -> dict[str, float]:
    rows = results.leaderboard.filter(evaluator="citation", metric="f1", slice="all")
    return dict(rows.select("system", "mean").iter_rows())


@pytest.mark.parametrize("convert", [pl.DataFrame, iter])
def test_one_frame_holds_questions_and_answers(convert: Callable[[Any], Any]) -> None:
    rows = convert(combined("good", "poor"))
    # 22 of 24 answers and 12 of 24 have an F1 of 2/3, all others 0.
    expected = {"good": 2 / 3 * 22 / 24, "poor": 2 / 3 / 2}
    assert means(scoreline.evaluate(rows, evaluators=["citation"])) == pytest.approx(expected)


def test_systems_are_keys_of_frames() -> None:
    rows = {name: iter(without(combined(name), "system")) for name in ANSWERS}
    expected = {"good": 2 / 3 * 22 / 24, "poor": 2 / 3 / 2}
    assert means(scoreline.evaluate(rows, evaluators=["citation"])) == pytest.approx(expected)


@pytest.mark.parametrize("names", [(), ("question_id",), ("question_id", "question")])
@pytest.mark.parametrize("convert", [pl.DataFrame, list])
def test_rows_without_a_system_are_of_one(
    names: tuple[str, ...], convert: Callable[[Any], Any]
) -> None:
    rows = convert(without(combined("good"), "system", *names))
    found = scoreline.evaluate(rows, evaluators="citation")
    assert means(found) == pytest.approx({"system": 2 / 3 * 22 / 24})
    beside = scoreline.evaluate(QUESTIONS, without(ANSWERS["good"], "system"), "citation")
    assert means(beside) == means(found)


def test_columns_of_one_frame_have_other_names() -> None:
    rows = [{"prompt": row["question"], **row} for row in combined("good")]
    found = scoreline.evaluate(
        without(rows, "question", "question_id", "system"),
        evaluators="citation",
        columns={"questions": {"prompt": "question"}},
    )
    assert means(found) == pytest.approx({"system": 2 / 3 * 22 / 24})


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{"system": name, "answer": "x", "expected_answer": "x"} for name in "ab"],
            r"predictions\[0\]: answers of several systems need a `question_id`, or the text",
        ),
        (
            {name: [{"answer": "x", "expected_answer": "x"}] for name in "ab"},
            r"questions\[0\]: expected a `question_id`, or the text of the `question`",
        ),
        (
            [{"question": "a", "answer": "x"}, {"answer": "y"}],
            r"questions\[1\]: expected a `question_id`, or the text of the `question`",
        ),
        ([{"question": "a", "answer": "x"}] * 2, r"predictions\[1\]: a second .* 'q001'"),
        ([["a"]], "predictions: expected a Polars, pandas or Arrow frame, .*, found list"),
        (combined, "predictions: expected .*, found function"),
        ("rows.jsonl", r"^rows\.jsonl: no such file"),
        (iter(()), "there are no rows"),
        (
            [{"question": "a\ud800", "answer": "x", "expected_answer": "x"}],
            r"questions\[0\]: expected text, found half of a surrogate pair",
        ),
    ],
)
def test_what_one_frame_lacks_is_said(rows: Any, message: str) -> None:
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(rows, evaluators=["rouge"])


def test_evaluators_cannot_be_left_out() -> None:
    with pytest.raises(scoreline.ScorelineError, match=r"such as evaluators=\['rouge'\]"):
        scoreline.evaluate(combined("good"))


def test_what_is_not_passed_is_named_as_arguments() -> None:
    rows = [{**row, "contexts": ["It opens."]} for row in combined("good")]
    wanted = ["rouge", "faithfulness", "answer_relevancy_sentence_similarity"]
    found = scoreline.evaluate(rows, evaluators=wanted)
    notes = "\n".join(found.notes)
    assert 'faithfulness: there is no judge: pass `judge`, such as judge="openai/' in notes
    assert 'pass models={"embedding": ...}, a folder or a name on the hub' in notes
    assert "scoreline.yaml" not in notes
    assert "note: no scores from faithfulness: there is no judge: pass `judge`" in str(found)


def test_print_says_which_system_is_best() -> None:
    found = scoreline.evaluate(combined("good", "poor"), evaluators="citation")
    good, poor = found.leaderboard.filter(metric="f1", slice="all").sort("rank").to_dicts()
    assert str(found).splitlines() == [
        (
            "evaluation: good (0.611) is best on citation.f1, before poor (0.333): the difference "
            "is significant."
        ),
        f"  good  0.611 (95 % interval {good['ci_low']:.3f} to {good['ci_high']:.3f}, n = 24)",
        f"  poor  0.333 (95 % interval {poor['ci_low']:.3f} to {poor['ci_high']:.3f}, n = 24)",
    ]


def test_print_names_no_winner_where_there_is_none() -> None:
    # `good` cites none of q0 and q12, `poor` none of those with an even number.
    rows = [row for row in combined("good", "poor") if row["question_id"] in {"q1", "q2"}]
    shown = str(scoreline.evaluate(rows, evaluators="citation"))
    assert shown.startswith("evaluation: No winner on citation.f1: 2 questions are too few for any")
    alone = str(scoreline.evaluate(combined("good"), evaluators="citation"))
    assert alone.startswith(
        "evaluation: No winner on citation.f1: good (0.611) is the only system with a value."
    )
    nothing = str(scoreline.evaluate(combined("good"), evaluators="faithfulness"))
    assert nothing.splitlines()[:2] == [
        "evaluation: No winner: no system has a rank on faithfulness.faithfulness.",
        "  good  no value (n = 0)",
    ]


def test_print_escapes_names() -> None:
    rows = [{**row, "system": "a\u202eb"} for row in combined("good")]
    assert "a\\u202eb" in str(scoreline.evaluate(rows, evaluators="citation"))


def test_paths_of_the_judge_are_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{**row, "contexts": ["It opens early."]} for row in combined("good")[:2]]
    with JudgeServer() as server:
        judge = {"model": "openai/judge", "api_base": server.url}
        ledger = tmp_path / "judge.ledger"
        live = scoreline.evaluate(rows, evaluators="context_relevancy", judge=judge, ledger=ledger)
    recorded = live.sql(
        "SELECT messages, reply_schema, replicate, reply, status FROM judgments"
    ).to_dicts()
    lines = [
        json.dumps({**each, "messages": json.loads(each["messages"])}) + "\n" for each in recorded
    ]
    (tmp_path / "replies.jsonl").write_text("".join(lines), "utf-8")
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    found = scoreline.evaluate(rows, evaluators="context_relevancy", judge="recorded:replies.jsonl")
    assert found.scores["value"].to_list() == live.scores["value"].to_list()
    assert sorted(tmp_path.iterdir()) == before


REPORTED: list[dict[str, Any]] = [
    {
        "question": "a",
        "answer": "x",
        "reported": {"p": True},
        "rubric": {"criteria": "c", "scale": {"1": "bad"}},
        "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}],
        "extra_lists": [{"k": 1}, {"l": 2}],
    },
    {
        "question": "b",
        "answer": "y",
        "reported": {"s": 0.5},
        "rubric": {"criteria": "c", "scale": {"5": "good"}},
        "messages": [{"role": "assistant", "content": "y", "name": "n"}],
        "extra_lists": [],
    },
]


@pytest.mark.parametrize(
    "convert", [list, pl.DataFrame, lambda rows: pl.DataFrame(rows).to_arrow()]
)
def test_rows_of_a_frame_may_have_objects_with_different_names(
    convert: Callable[[Any], Any],
) -> None:
    """A frame gives all rows the names of all objects, with null for those that a row lacks."""
    evaluators = [{"p": {"reported": {"pass_fail": True}}}, {"s": {"reported": {}}}]
    results = scoreline.evaluate(convert(REPORTED), evaluators=evaluators)
    rows = results.sql("SELECT reported, messages FROM predictions ORDER BY answer").rows()
    assert [json.loads(reported) for reported, _ in rows] == [{"p": 1}, {"s": 0.5}]
    assert [json.loads(messages) for _, messages in rows] == [
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "x"}],
        [{"role": "assistant", "content": "y", "name": "n"}],
    ]
    (rubric,) = results.sql("SELECT rubric FROM questions WHERE question = 'a'").to_series()
    assert json.loads(rubric)["scale"] == {"1": "bad"}
