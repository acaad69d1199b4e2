"""Results of promptfoo are read in the shape of its version 0.121."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.promptfoo import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from records.prediction import Prediction
    from records.question import Question

CROWS = {"question": "What is a group of crows called?", "context": "Crows form murders."}
BRIEF = "Answer briefly: {{question}}"


def result(index: int = 0, provider: Any = "echo", **more: Any) -> dict[str, Any]:
    """A result as `promptfoo eval --output results.json` writes it, without its token counts."""
    return {
        "cost": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": "All assertions passed"},
        "id": "f3d91846-7728-4463-9201-a043c0a7cbb5",
        "latencyMs": 1500,
        "namedScores": {},
        "prompt": {"raw": "Answer briefly: What ...?", "label": BRIEF, "config": {}},
        "promptId": "42e3ff4f",
        "promptIdx": index,
        "provider": {"id": provider, "label": ""} if isinstance(provider, str) else provider,
        "response": {"output": "A murder.", "cached": False},
        "score": 1,
        "success": True,
        "testCase": {"vars": CROWS, "assert": [], "options": {}, "metadata": {}},
        "testIdx": 0,
        "vars": CROWS,
        "metadata": {"_promptfooFileMetadata": {}},
        "failureReason": 0,
        **more,
    }


def write(path: Path, *results: dict[str, Any]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(each) + "\n" for each in results))
        return path
    summary = {"version": 3, "timestamp": "2025-01-31T12:00:00.000Z", "prompts": [], "stats": {}}
    file = {"evalId": "eval-abc", "results": {**summary, "results": results}, "config": {}}
    path.write_text(json.dumps(file, indent=2))
    return path


def read(path: Path, system: str | None = None) -> tuple[list[Question], list[Prediction]]:
    questions, predictions = list(read_questions(Source(path))), []
    for each in read_predictions(Source(path, system)):
        assert isinstance(each, Read), each
        predictions.append(each.record)
    assert all(isinstance(each, Read) for each in questions), questions
    return [each.record for each in questions if isinstance(each, Read)], predictions


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_a_result_is_a_question_and_an_answer(tmp_path: Path, name: str) -> None:
    given = result(
        response={"output": "A murder.", "cost": 0.001},
        testCase={
            "description": "crows",
            "assert": [
                {"type": "equals", "value": "A murder of crows."},
                {"type": "similar", "value": "A murder of crows."},
                {"type": "factuality", "value": "{{question}}"},
                {"type": "contains", "value": "murder"},
            ],
            "metadata": {"lang": "en", "nested": {}},
        },
    )
    (question,), (prediction,) = read(write(tmp_path / name, given))
    assert (question.question, question.tags) == (CROWS["question"], {"lang": "en"})
    assert question.expected_answer == ["A murder of crows."]
    assert question.extra == {"vars": CROWS, "description": "crows"}
    assert (prediction.system, prediction.answer) == ("echo", "A murder.")
    assert (prediction.latency_s, prediction.cost_usd) == (1.5, 0.001)
    assert prediction.contexts == ["Crows form murders."]
    assert prediction.error is None
    assert prediction.extra is not None
    assert prediction.extra["prompt"] == "Answer briefly: What ...?"
    assert prediction.extra["gradingResult"]["score"] == 1


def test_every_provider_with_every_prompt_is_a_system(tmp_path: Path) -> None:
    polite = {"raw": "Please: ...", "label": "polite"}
    brief = {"raw": "Answer briefly: ...", "label": BRIEF}
    named = {"id": "openai:gpt", "label": "large"}
    path = write(
        tmp_path / "results.json",
        # Results come in the order in which calls end.
        result(3, prompt=polite),
        result(0, prompt=brief),
        result(2, named, prompt=brief),
        result(1, "text", prompt=polite) | {"provider": "text"},
    )
    _, predictions = read(path)
    assert [each.system for each in predictions] == [
        "echo / polite",
        "echo / prompt 1",
        "large / prompt 1",
        "text / polite",
    ]


def test_providers_that_share_a_name_are_numbered(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", result(1), result(0))
    assert [each.system for each in read(path)[1]] == ["echo #2", "echo"]


def test_tokens_are_those_of_the_call(tmp_path: Path) -> None:
    usage = {"total": 12, "prompt": 10, "completion": 2}
    response = {"output": "A murder.", "tokenUsage": usage}
    cached = {**response, "cached": True}
    path = write(
        tmp_path / "results.json",
        result(vars={"question": "a"}, response=response),
        result(vars={"question": "b"}, response=cached),
    )
    found = [(each.tokens_in, each.tokens_out) for each in read(path)[1]]
    assert found == [(10, 2), (None, None)]


def test_a_failed_assertion_is_an_answer_and_a_failed_call_is_not(tmp_path: Path) -> None:
    refused = "Expected output to contain murder"
    path = write(
        tmp_path / "results.json",
        result(error=refused, failureReason=1, success=False, score=0),
        result(
            vars={"question": "b"},
            error="API error: 400",
            response={"error": "400 content filtered"},
            failureReason=2,
        ),
        result(vars={"question": "c"}, response=None, error="no key", failureReason=2),
        # Results of version 2 have no reason.
        {
            "vars": {"question": "d"},
            "provider": {"id": "echo"},
            "prompt": {"raw": "d", "label": BRIEF},
            "promptIdx": 0,
            "error": "timed out",
        },
        # What promptfoo itself writes where a provider returns null, and for a red team.
        result(
            vars={"question": "g"},
            response={"output": None, "tokenUsage": {}},
            error="No output",
            failureReason=0,
            success=False,
            score=0,
        ),
        result(vars={"question": "h"}, response={"cached": False}, failureReason=0),
        result(vars={"question": "e"}, response={"output": "", "cached": True}),
        result(vars={"question": "f"}, response={"output": {"a": [1]}}),
    )
    first, *others = read(path)[1]
    assert (first.answer, first.error) == ("A murder.", None)
    assert [(each.answer, each.error) for each in others] == [
        (None, "400 content filtered"),
        (None, "no key"),
        (None, "timed out"),
        (None, "No output"),
        (None, "there is no output"),
        ("", None),
        ('{"a": [1]}', None),
    ]
    # A cached answer took no time; without `response.cost` the cost is unknown, not 0.
    assert [each.latency_s for each in others[-2:]] == [None, 1.5]
    assert {each.cost_usd for each in others} == {None}


@pytest.mark.parametrize(
    ("variables", "asked"),
    [
        ({"topic": "crows", "query": "Which?"}, "Which?"),
        ({"topic": "crows"}, "crows"),
        ({"topic": "crows", "place": ["a", 1]}, 'place: ["a", 1]\ntopic: crows'),
        ({"sessionId": "x", "_conversation": [], "body": "text"}, "text"),
        ({}, "Answer briefly: What ...?"),
    ],
)
def test_which_text_is_the_question(tmp_path: Path, variables: dict[str, Any], asked: str) -> None:
    (question,), _ = read(write(tmp_path / "results.json", result(vars=variables)))
    assert question.question == asked


def test_the_same_question_in_other_contexts_is_another(tmp_path: Path) -> None:
    path = write(
        tmp_path / "one.json",
        result(),
        result(1, "other", vars=dict(reversed(CROWS.items()))),
        result(vars={**CROWS, "context": "Another."}, testIdx=1),
        result(1, "other", vars={**CROWS, "context": "Another."}, testIdx=1),
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files: list[tuple[Path, str | None]] = [(path, None)]
    asked = ingest_questions(warehouse, benchmark="b", format="promptfoo", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="promptfoo", files=files)
    assert (asked.rows, done.rows, done.problems) == (2, 4, ())


def test_a_test_that_comes_again_is_a_repeat(tmp_path: Path) -> None:
    path = write(
        tmp_path / "r.json",
        result(testIdx=2, response={"output": "third"}),
        result(testIdx=0, response={"output": "first"}),
        result(1, "other", testIdx=1, response={"output": "theirs"}),
        result(testIdx=1, response={"output": "second"}),
    )
    files: list[tuple[Path, str | None]] = [(path, None)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="promptfoo", predictions=files)
    ingest_predictions(warehouse, benchmark="b", format="promptfoo", files=files)
    found = warehouse.fetch("SELECT system, repeat, answer FROM predictions ORDER BY ALL").rows()
    assert asked.rows == 1
    assert found == [
        ("echo", 0, "first"),
        ("echo", 1, "second"),
        ("echo", 2, "third"),
        ("other", 0, "theirs"),
    ]


TWO = Path(__file__).parents[2] / "data" / "real" / "promptfoo" / "two"


def answered(warehouse: Warehouse, path: Path) -> list[tuple[Any, ...]]:
    """Return the systems, repeats and answers of a file, in order."""
    files: list[tuple[Path, str | None]] = [(path, None)]
    ingest_questions(warehouse, benchmark="b", format="promptfoo", predictions=files)
    ingest_predictions(warehouse, benchmark="b", format="promptfoo", files=files)
    return warehouse.fetch("SELECT system, repeat, answer FROM predictions ORDER BY ALL").rows()


def test_two_evals_in_one_file_are_two_systems(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text((TWO / "a.jsonl").read_text() + (TWO / "b.jsonl").read_text())
    assert answered(Warehouse(tmp_path / "w.duckdb"), path) == [
        ("a", 0, "A murder."),
        ("a", 0, "A pack."),
        ("b", 0, "A flock."),
        ("b", 0, "A heap."),
    ]


def test_providers_and_prompts_of_one_column_are_systems(tmp_path: Path) -> None:
    large, small = {"id": "openai:gpt", "label": "large"}, {"id": "openai:gpt", "label": "small"}
    brief, polite = {"raw": "?", "label": "brief"}, {"raw": "?", "label": "polite"}
    path = write(
        tmp_path / "r.json",
        result(0, large, prompt=brief),
        result(0, small, prompt=brief),
        result(0, small, prompt=polite),
        result(0, "x", prompt=brief),
    )
    found = [(each.system, each.repeat) for each in read(path)[1]]
    systems = ["large / brief", "small / brief", "small / polite", "x / brief"]
    assert found == [(each, 0) for each in systems]


@pytest.mark.parametrize(
    "second",
    [
        [result()],
        [result(testIdx=1)],  # where index 1 is another test of the first eval
    ],
)
def test_an_answer_of_another_eval_is_not_a_repeat(
    tmp_path: Path, second: list[dict[str, Any]]
) -> None:
    path = write(tmp_path / "r.jsonl", result(), result(testIdx=1, vars={"question": "b"}), *second)
    with pytest.raises(InputError) as error:
        answered(Warehouse(tmp_path / "w.duckdb"), path)
    (problem,) = error.value.problems
    assert "a second prediction of 'echo' for question" in problem.message
    assert "label of its own in each" in problem.message
    assert "field 'repeat'" not in problem.message


def test_tests_with_the_same_variables_and_other_assertions_are_other_questions(
    tmp_path: Path,
) -> None:
    def test(value: str) -> dict[str, Any]:
        return {"assert": [{"type": "contains", "value": value}]}

    path = write(
        tmp_path / "r.json",
        result(testIdx=0, testCase=test("a")),
        result(testIdx=1, testCase=test("b")),
        result(testIdx=2, testCase=test("b")),
    )
    questions, predictions = read(path)
    ids = [each.question_id for each in questions]
    assert [each.constraints for each in questions] == [["a"], ["b"], ["b"]]
    assert ids[0] != ids[1] == ids[2]
    assert [(each.question_id, each.repeat) for each in predictions] == [
        (ids[0], 0),
        (ids[1], 0),
        (ids[2], 1),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            [{"input": "?", "actual_output": "a"}],
            "expected promptfoo's results with the list 'results.results'; found a list",
        ),
        (
            {"spec": {}, "final_report": {}},
            (
                "expected promptfoo's results with the list 'results.results'; "
                "found the fields 'spec', 'final_report'"
            ),
        ),
        (
            {"results": {"results": [{"input": "?"}]}},
            (
                "expected results of `promptfoo eval`, each with 'vars', 'provider' and "
                "'response'; found the fields 'input'"
            ),
        ),
        (
            {"results": {"results": [result(vars="x")]}},
            "vars: expected an object, found the text 'x'",
        ),
        (
            {"results": {"results": [result(provider={})]}},
            "system: missing; expected in the row, or as {system} in the path",
        ),
        (
            {"results": {"results": [result(latencyMs="1")]}},
            "latencyMs: expected milliseconds, found the text '1'",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    try:
        problems = [
            each.reason for each in read_predictions(Source(path)) if isinstance(each, Reject)
        ]
    except InputError as error:
        problems = [problem.message for problem in error.problems]
    assert problems == [said]


def test_a_path_names_a_system_where_there_is_one(tmp_path: Path) -> None:
    path = write(tmp_path / "results.json", result(), result(1, "other"))
    with pytest.raises(InputError, match=r"expected one provider with one prompt.*found 2"):
        list(read_predictions(Source(path, "north")))
    _, (prediction,) = read(write(path, result()), "north")
    assert prediction.system is None


def test_a_name_of_a_metric_is_that_of_the_metric(tmp_path: Path) -> None:
    components = [{"pass": False, "score": 0.5, "assertion": {"type": "llm-rubric"}}]
    given = result(
        score=0.75,
        success=False,
        namedScores={"score": 0.25, "pass": 1, "llm-rubric": 0.125, "name": "x"},
        gradingResult={"pass": False, "score": 0.75, "componentResults": components},
    )
    _, (prediction,) = read(write(tmp_path / "results.json", given))
    metrics = {"score": 0.25, "pass": 1.0, "llm-rubric": 0.125}
    others = {"score #2": 0.75, "pass #2": False, "llm-rubric #2": 0.5}
    assert prediction.reported == metrics | others
