"""Rubric judge: grades from 1 to 5 and the scores that follow from them."""

from __future__ import annotations

import gzip
import json
import re
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.flows.protocols import Engines
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.sample import Sample
from evaluators.scoring import score
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted, by_form, in_turn, judged, values

if TYPE_CHECKING:
    from pathlib import Path

RUBRIC = {
    "description": "Does it name the time and the pier?",
    "scale": {"1": "Neither.", "5": "Both.", "3": "One of them."},
    "author": "kept unread",
}
SAMPLE = {
    "question": "When and where does the ferry leave?",
    "expected_answers": ["At eight, from the old pier."],
    "answer": "At eight.",
    "rubric": json.dumps(RUBRIC),
}


def _grade(grade: Any) -> dict[str, Any]:
    return {"reasoning": "why", "missing": ["the pier"], "incorrect": [], "score": grade}


def _scored(said: Any, **change: Any) -> list[dict[str, Any]]:
    return judged(build("rubric_judge"), SAMPLE | change, by_form(Grade=said))


@pytest.mark.parametrize(
    ("grade", "share", "stretched"),
    [(1, 0.2, 0.0), (2, 0.4, 0.25), (3, 0.6, 0.5), (4, 0.8, 0.75), (5, 1.0, 1.0)],
)  # the golden example of the specification is the fourth
def test_the_scores_of_a_grade(grade: int, share: float, stretched: float) -> None:
    rows = _scored(_grade(grade))
    assert values(rows) == {
        "answer_score": share,
        "raw_score": grade,
        "answer_score_01": stretched,
        "answer_score_failures_as_zero": share,
    }
    assert json.loads(rows[0]["detail"])["missing"] == ["the pier"]


@pytest.mark.parametrize("grade", [0, 6, 4.5, "4", None, True])
def test_what_is_no_grade_is_a_parse_failure_and_never_a_nought(grade: Any) -> None:
    rows = _scored(_grade(grade))
    assert {row["status"] for row in rows[:3]} == {"parse_failure"}
    assert {row["value"] for row in rows[:3]} == {None}


@pytest.mark.parametrize("reason", [JudgeError("rate limit"), ParseFailure("no JSON")])
def test_a_missing_grade_counts_as_nought_only_where_it_says_so(reason: Any) -> None:
    rows = _scored(reason)
    assert [row["status"] for row in rows] == [reason.status] * 3 + ["scored"]
    assert [row["value"] for row in rows] == [None, None, None, 0.0]


def test_an_empty_answer_has_the_lowest_grade_and_asks_nothing() -> None:
    rows = judged(build("rubric_judge"), SAMPLE | {"answer": " "}, Scripted(lambda _: 1 / 0))
    assert {(row["value"], row["reason"]) for row in rows[:2]} == {
        (0.2, "empty_answer"),
        (1.0, "empty_answer"),
    }
    keys = {"benchmark": "b", "system": "s", "question_id": "q"}
    evaluator: Any = build("rubric_judge")
    assert evaluator.expected_calls(Sample.of(keys | SAMPLE | {"answer": " "})) == 0
    assert evaluator.expected_calls(Sample.of(keys | SAMPLE)) == 1


@pytest.mark.parametrize(
    ("rubric", "reason"),
    [
        (None, "no rubric"),
        ("", "no rubric"),
        ("{}", "the rubric says nothing"),
        (json.dumps({"scale": {"3": " "}}), "the rubric says nothing"),
        (json.dumps({"scale": {"0": "bad", "1": "good"}}), "levels 0 beside"),
        (json.dumps({"description": 3}), "not a text"),
        ("[]", "not a JSON object"),
        ("{", "not valid JSON"),
    ],
)
@pytest.mark.parametrize("error", [None, "timeout"])
def test_without_a_rubric_nothing_is_graded(
    rubric: str | None, reason: str, error: str | None
) -> None:
    for row in _scored(_grade(5), rubric=rubric, error=error):
        assert (row["status"], row["value"]) == ("not_applicable", None)
        assert error or reason in row["reason"]


def test_who_cannot_be_measured_and_who_failed() -> None:
    for change in ({"expected_answers": ["", " "]}, {"question": " "}):
        assert {row["status"] for row in _scored(_grade(5), **change)} == {"not_applicable"}
    failed = _scored(_grade(5), error="timeout")
    assert values(failed) == {
        "answer_score": 0.0,
        "raw_score": 1.0,
        "answer_score_01": 0.0,
        "answer_score_failures_as_zero": 0.0,
    }


@pytest.mark.parametrize("lost", [JudgeError("timed out"), {"score": "good"}])
def test_failed_judgments_are_zero_as_in_the_source(lost: Any) -> None:
    """The specification leaves a failed judgment out, the source's script counts it as 0."""
    evaluator = build("rubric_judge", {"failed_judgments": "zero"})
    assert values(judged(evaluator, SAMPLE, by_form(Grade=lost))) == {
        "answer_score": 0.0,
        "raw_score": 0.0,
        "answer_score_01": None,
        "answer_score_failures_as_zero": 0.0,
    }
    graded = values(judged(evaluator, SAMPLE, by_form(Grade=_grade(4))))
    assert (graded["raw_score"], graded["answer_score"]) == (4.0, 0.8)


def test_the_judge_sees_the_rubric_and_every_expected_answer() -> None:
    judge = by_form(Grade=_grade(3))
    expected = {"expected_answers": ["At eight, from the old pier.", "8:00, old pier"]}
    judged(build("rubric_judge"), SAMPLE | expected, judge)
    ((asked, _),) = judge.asked
    for shown in ("Does it name the time", "[1] Neither.\n[3] One", "[2] 8:00", "At eight.\n"):
        assert shown in asked.prompt.material
    assert "kept unread" not in asked.prompt.material
    alone = {"rubric": json.dumps({"description": "Right?", "scale": None})}
    assert values(judged(build("rubric_judge"), SAMPLE | alone, judge))["raw_score"] == 3


class _People:
    identity = "people"

    def of(self, _: Any) -> dict[str, float]:
        return {"raw_score": 4.0}


def test_people_who_give_a_grade_give_all_that_follows() -> None:
    grades = score(build("rubric_judge"), samples([SAMPLE]), Engines(labels=_People()))
    assert grades.long()["value"].to_list() == [0.8, 4.0, 0.75, 0.8]


PARTS = re.compile(
    r"###The instruction to evaluate:\n(?P<question>.*)\n\n###Response to evaluate:\n(?P<answer>.*)"
    r"\n\n###Reference Answer \(Score 5\):\n(?P<expected>.*)\n\n###Score Rubrics:\n"
    r"\[(?P<description>.*?)\]\n(?P<levels>.*)\n\n###Feedback:",
    re.DOTALL,
)


def test_recorded_grades_give_the_means_of_every_system(shared: Path) -> None:
    folder = shared / "data" / "prometheus_vicuna"
    if not folder.is_dir():
        pytest.skip(f"missing: {folder}")
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    with gzip.open(folder / "rubric_prompts_gpt4.jsonl.gz", "rt", encoding="utf-8") as lines:
        recorded = [json.loads(line) for line in lines]
    assert len(recorded) == figures["rows"]
    asked, said, systems = [], [], []
    for row in recorded:
        for grade, feedback in zip(row["gpt4_scores"], row["gpt4_feedback"], strict=True):
            asked.append(_as_sample(row))
            said.append({"reasoning": feedback, "missing": [], "incorrect": [], "score": grade})
            systems.append(row["system"])
    found: dict[str, list[float]] = {}
    scored = judged(build("rubric_judge"), asked, in_turn(*said))
    for system, row in zip(
        systems, [row for row in scored if row["metric"] == "raw_score"], strict=True
    ):
        found.setdefault(system, []).append(row["value"])
    means = {system: round(fmean(grades), 4) for system, grades in found.items()}
    assert means == figures["mean_score_by_system"]


def _as_sample(row: dict[str, Any]) -> dict[str, Any]:
    """The sample that a recorded prompt is about."""
    parts = PARTS.search(row["judge_prompt"])
    assert parts is not None, row["idx"]
    levels = dict(re.findall(r"^Score (\d): (.*)$", parts["levels"], re.MULTILINE))
    assert sorted(levels) == ["1", "2", "3", "4", "5"]
    rubric = {"description": parts["description"], "scale": levels}
    return {
        "question": parts["question"],
        "expected_answers": [parts["expected"]],
        "answer": parts["answer"],
        "rubric": json.dumps(rubric),
    }
