"""Systems without answers: a problem with the most likely cause, not a board of zeros."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import scoreline
from tests.support.command import scoreline as command

if TYPE_CHECKING:
    from pathlib import Path

N = 4
QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": f"q{at}",
        "question": "Which?",
        "expected_answer": "Rome",
        "expected_label": "yes",
        "gold_doc_ids": ["d1"],
    }
    for at in range(N)
]


def answers(**fields: Any) -> list[dict[str, Any]]:
    return [{"question_id": f"q{at}", **fields} for at in range(N)]


def found(
    predictions: list[dict[str, Any]],
    *evaluators: str,
    questions: list[dict[str, Any]] = QUESTIONS,
) -> list[tuple[str, str, float]]:
    results = scoreline.evaluate(questions, {"s": predictions}, evaluators=list(evaluators))
    problems = results.problems.filter(kind="empty_answers")
    assert set(problems["system"]) <= {"s"}
    return list(problems.select("severity", "message", "value").iter_rows())


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"answer": ""}, "no other field of these predictions could hold them"),
        ({"answer": " \n"}, "no other field"),
        ({"answer": "nan"}, "no other field"),
        ({"answer": None}, "the field is missing in the file, or null in every row"),
        ({"ansewr": "Rome", "id_of_run": "a long text that is no answer"}, 'field "ansewr"'),
        ({"reply": "Rome", "trace": "a long text that is no answer"}, 'field "reply"'),
        ({"said": "Rome is the capital.", "lang": "en", "tokens": 12345678}, 'field "said"'),
    ],
)
def test_a_system_without_any_answer(fields: dict[str, Any], cause: str) -> None:
    ((severity, message, value),) = found(answers(**fields), "rouge")
    assert (severity, value) == ("high", 1.0)
    assert message.startswith("all 4 answers of s are empty (nothing in `answer`): ")
    assert cause in message


def test_some_empty_answers() -> None:
    given = answers(answer="Rome")
    given[1] = {"question_id": "q1", "response_text": "Rome"}
    ((severity, message, value),) = found(given, "rouge")
    assert (severity, value) == ("medium", 0.25)
    assert message.startswith("1 of 4 answers of s are empty")
    assert 'field "response_text"' in message


def test_a_field_beside_other_answers_is_not_the_answer() -> None:
    given = answers(answer="Rome", prompt="Which? Answer in one word.")
    given[1]["answer"] = ""
    ((_, message, _),) = found(given, "rouge")
    assert message.endswith("no other field of these predictions could hold them")


def test_failed_answers_are_not_empty_ones() -> None:
    given = [{"question_id": "q0", "answer": ""}]
    given += [{"question_id": f"q{at}", "error": "timed out"} for at in range(1, N)]
    ((severity, _, _),) = found(given, "rouge")
    assert severity == "high"
    assert not found([{"question_id": "q0", "answer": "Rome"}, *given[1:]], "rouge")


def test_the_text_none_is_an_answer_where_it_is_expected() -> None:
    asked = [{**QUESTIONS[0], "expected_answer": ["None", "nobody"]}, *QUESTIONS[1:]]
    given = answers(answer="Rome")
    given[1]["answer"] = "None"
    assert [each[0] for each in found(given, "rouge")] == ["medium"]
    assert not found(given, "rouge", questions=asked)


@pytest.mark.parametrize(
    ("fields", "evaluators"),
    [
        # A label is an answer, and a retriever gives none.
        ({"label": "yes"}, ("classification",)),
        ({"retrieved": [{"doc_id": "d1"}]}, ("document_retrieval",)),
        ({"retrieved": []}, ("document_retrieval",)),
    ],
)
def test_what_evaluators_read_is_there(fields: dict[str, Any], evaluators: tuple[str, ...]) -> None:
    assert not found(answers(**fields), *evaluators)


def test_a_renamed_list_of_documents() -> None:
    fields = {"passages": [{"doc_id": "d1"}], "comment": "a long text that is no list"}
    ((severity, message, _),) = found(answers(**fields), "document_retrieval")
    assert severity == "high"
    assert 'field "passages"' in message


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"answer": "Rome"}, 0),
        ({"reply": "Rome"}, 1),
    ],
)
def test_the_run_fails_on_it(tmp_path: Path, fields: dict[str, Any], code: int) -> None:
    for name, rows in (("q", QUESTIONS), ("of-s", answers(**fields))):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "scoreline.yaml").write_text(
        "benchmarks: {b: {questions: q.jsonl, predictions: 'of-{system}.jsonl', "
        "evaluators: [rouge]}}"
    )
    assert command(tmp_path, "run", "--quiet", "--fail-on", "medium").code == code
