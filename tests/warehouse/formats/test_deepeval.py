"""DeepEval's datasets and test runs are read as DeepEval writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.deepeval import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from records.prediction import Prediction
    from records.question import Question

REAL = Path(__file__).parents[2] / "data" / "real" / "deepeval"
"""Files that DeepEval 4.3.1 wrote."""

CROWS = "What is a group of crows called?"
PASSAGES = ["A group of crows is a murder.", 'Geese; "gaggle"\nline']
HEADER = (
    "input,actual_output,expected_output,retrieval_context,context,name,comments,source_file,"
    "tools_called,expected_tools,token_cost,input_token_count,output_token_count,"
    "additional_metadata,custom_column_key_values,expectations\r\n"
)
DATASET: dict[str, Any] = {
    "input": CROWS,
    "actual_output": "A murder.",
    "expected_output": "A murder of crows.",
    "retrieval_context": PASSAGES,
    "context": ["Crows form murders."],
    "name": None,
    "tools_called": [{"name": "search", "type": "FUNCTION", "inputParameters": {"q": 1}}],
    "expected_tools": [{"name": "search", "type": "FUNCTION"}],
    "input_token_count": 10,
    "output_token_count": 2,
    "token_cost": 0.002,
    "additional_metadata": {"lang": "en", "nested": [1]},
}
"""A row that follows `EvaluationDataset.save_as` of DeepEval 4.3."""

RUN: dict[str, Any] = {
    "testCases": [
        {
            "name": "test_case_0",
            "input": CROWS,
            "actualOutput": "A murder.",
            "expectedOutput": "A murder of crows.",
            "retrievalContext": PASSAGES,
            "tokenCost": 0.002,
            "completionTime": 1.5,
            "success": True,
            "metricsData": [{"name": "Faithfulness", "score": 0.9, "success": True}],
            "runDuration": 2.5,
            "order": 0,
        },
        {"name": "empty", "input": "Which bird?", "actualOutput": "", "order": 1},
    ],
    "identifier": "north",
    "hyperparameters": {"model": "m"},
}


def read(path: Path, system: str | None = "s") -> tuple[list[Question], list[Prediction]]:
    questions, predictions = list(read_questions(Source(path))), []
    for each in read_predictions(Source(path, system)):
        assert isinstance(each, Read), each
        predictions.append(each.record)
    assert all(isinstance(each, Read) for each in questions), questions
    return [each.record for each in questions if isinstance(each, Read)], predictions


def test_all_files_of_a_dataset(tmp_path: Path) -> None:
    joined = {**DATASET, "retrieval_context": "|".join(PASSAGES), "context": DATASET["context"][0]}
    (tmp_path / "d.json").write_text(json.dumps([DATASET], indent=4))
    (tmp_path / "d.jsonl").write_text(json.dumps(joined) + "\n")
    tools = json.dumps(DATASET["tools_called"]).replace('"', '""')
    expected = json.dumps(DATASET["expected_tools"]).replace('"', '""')
    metadata = json.dumps(DATASET["additional_metadata"]).replace('"', '""')
    cells = (
        f'{CROWS},A murder.,A murder of crows.,"A group of crows is a murder.|Geese; ""gaggle""\n'
        f'line",Crows form murders.,,,,"{tools}","{expected}",0.002,10,2,"{metadata}",,\r\n'
    )
    (tmp_path / "d.csv").write_text(HEADER + cells, newline="")
    for path in sorted(tmp_path.iterdir()):
        (question,), (prediction,) = read(path)
        assert (question.question, question.expected_answer) == (CROWS, ["A murder of crows."])
        assert question.tags == {"lang": "en"}
        assert question.extra == {
            "context": ["Crows form murders."],
            "metadata": {"lang": "en", "nested": [1]},
        }
        assert (prediction.answer, prediction.cost_usd) == ("A murder.", 0.002)
        assert prediction.contexts == PASSAGES, path
        assert prediction.extra is None
        assert (prediction.tokens_in, prediction.tokens_out) == (10, 2)
        (message,) = prediction.messages or []
        assert message.model_dump(exclude_none=True) == {
            "role": "assistant",
            "tool_calls": [{"id": "1", "name": "search", "arguments": {"q": 1}}],
        }
        (call,) = question.expected_tool_calls or []
        assert call.model_dump(exclude_none=True) == {"name": "search", "optional": False}


def test_results_of_tools_are_messages(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    tools = ["look", {"name": "search", "output": {"n": 1}, "reasoning": "r"}]
    path.write_text(json.dumps([{**DATASET, "tools_called": tools}]))
    _, (prediction,) = read(path)
    called, result = prediction.messages or []
    assert [each.model_dump(exclude_none=True) for each in called.tool_calls or ()] == [
        {"id": "1", "name": "look"},
        {"id": "2", "name": "search", "reasoning": "r"},
    ]
    assert (result.role, result.tool_call_id, result.content) == ("tool", "2", '{"n": 1}')


def test_tools_that_are_not_a_list_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps([{**DATASET, "tools_called": {"a": 1}, "expected_tools": [5]}]))
    (asked,) = read_questions(Source(path))
    assert isinstance(asked, Reject)
    assert asked.reason == "expected_tools[0]: expected an object, found the number 5"
    (given,) = read_predictions(Source(path, "s"))
    assert isinstance(given, Reject)
    assert given.reason == "tools_called: expected a list, found an object"


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_test_run(tmp_path: Path, wrapped: bool) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"testRunData": RUN} if wrapped else RUN))
    (question, named), (prediction, empty) = read(path, None)
    assert question.question_id.startswith("q-")
    assert (named.question_id, named.expected_answer) == ("empty", None)
    assert (prediction.system, prediction.answer, prediction.latency_s) == (
        "north",
        "A murder.",
        1.5,
    )
    assert prediction.extra == {
        "metrics_data": RUN["testCases"][0]["metricsData"],
        "runDuration": 2.5,
        "success": True,
    }
    assert (empty.answer, empty.contexts) == ("", None)


def test_a_source_of_every_context_is_its_document(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    marked = [f"deepeval_source=doc-{n},deepeval_context=Text, {n}\nmore" for n in (1, 2)]
    path.write_text(
        json.dumps(
            [
                {**DATASET, "retrieval_context": marked},
                {"input": "b", "actual_output": "", "retrieval_context": [marked[0], "plain"]},
                {"input": "c", "retrieval_context": [{"source": "doc", "context": "text"}]},
            ]
        )
    )
    _, (all_named, some, given) = read(path)
    assert [(each.doc_id, each.text) for each in all_named.retrieved or []] == [
        ("doc-1", "Text, 1\nmore"),
        ("doc-2", "Text, 2\nmore"),
    ]
    assert (some.contexts, some.retrieved) == (["Text, 1\nmore", "plain"], None)
    assert [(each.doc_id, each.text) for each in given.retrieved or []] == [("doc", "text")]


def test_systems_in_another_order_are_asked_the_same(tmp_path: Path) -> None:
    other = {"input": "Which bird?", "actual_output": "A crow.", "retrieval_context": []}
    (tmp_path / "one.json").write_text(json.dumps([DATASET, other]))
    (tmp_path / "two.json").write_text(json.dumps([other, {**DATASET, "actual_output": None}]))
    files: list[tuple[Path, str | None]] = [(tmp_path / f"{n}.json", n) for n in ("one", "two")]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    assert (
        ingest_questions(warehouse, benchmark="b", format="deepeval", predictions=files).rows == 2
    )
    ingest_predictions(warehouse, benchmark="b", format="deepeval", files=files)
    found = warehouse.fetch(
        "SELECT system, question, answer FROM predictions JOIN questions USING (question_id) "
        "ORDER BY ALL"
    ).rows()
    assert found[0] == ("one", CROWS, "A murder.")
    assert found[1] == ("one", "Which bird?", "A crow.")
    assert ("two", "Which bird?", "A crow.") in found


@pytest.mark.parametrize("reader", [read_questions, read_predictions])
def test_a_conversation_and_its_golden_are_named(reader: Any) -> None:
    path = Path(__file__).parents[2] / "data" / "real" / "deepeval" / "conversation_refused.json"
    reasons = [each.reason for each in reader(Source(path, "s")) if isinstance(each, Reject)]
    assert reasons == ["turns: expected input, found a conversation of several turns"] * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([{"input": "?"}], "expected test cases with actual_output, found 1 goldens without one"),
        (
            [{"scenario": "s", "turns": [{"role": "user", "content": "c"}]}],
            "turns: expected input, found a conversation of several turns",
        ),
        (
            {"evalId": "e", "results": {}, "config": {}},
            (
                "expected a DeepEval test run with the list 'testCases', or a list of test cases; "
                "found the fields 'evalId', 'results', 'config'"
            ),
        ),
        (
            [{"user_input": "?", "response": "a"}],
            (
                "expected DeepEval's test cases, each with 'input'; found the fields 'user_input', "
                "'response'"
            ),
        ),
        ([{"input": 5, "actual_output": "a"}], "input: expected text, found the number 5"),
        (
            [{"input": "?", "actual_output": ["a"]}],
            "actual_output: expected text, found a list",
        ),
        ({"testCases": ["text"]}, "testCases: expected an object"),
        ("plain", "not JSON: expected a list or an object"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: Any, said: str) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(content))
    try:
        problems = [
            each.reason for each in read_predictions(Source(path, "s")) if isinstance(each, Reject)
        ]
    except InputError as error:
        problems = [problem.message for problem in error.problems]
    assert problems == [said]


def test_files_that_deepeval_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.chdir(tmp_path)
    dataset = pytest.importorskip("deepeval.dataset", reason="deepeval is not installed")
    test_case = pytest.importorskip("deepeval.test_case")
    written = dataset.EvaluationDataset(goldens=[dataset.Golden(input="Only a golden?")])
    written.add_test_case(
        test_case.LLMTestCase(
            input=CROWS,
            actual_output="A murder.",
            expected_output="A murder of crows.",
            retrieval_context=PASSAGES,
            context=["Crows form murders."],
            token_cost=0.002,
            metadata={"lang": "en"},
        )
    )
    for suffix in ("json", "csv", "jsonl"):
        written.save_as(suffix, str(tmp_path), "data", include_test_cases=True)
        (golden, question), (prediction,) = read(tmp_path / f"data.{suffix}")
        assert (golden.question, question.question) == ("Only a golden?", CROWS)
        assert (question.expected_answer, question.tags) == (["A murder of crows."], {"lang": "en"})
        assert (prediction.answer, prediction.contexts) == ("A murder.", PASSAGES)
        assert prediction.cost_usd == 0.002
    test_run = pytest.importorskip("deepeval.test_run.test_run").TestRun(identifier="north")
    api = pytest.importorskip("deepeval.test_case.api")
    test_run.add_test_case(api.create_api_test_case(test_case=written.test_cases[0], index=0))
    with (tmp_path / "run.json").open("w") as file:
        test_run.save(file)
    (question,), (prediction,) = read(tmp_path / "run.json", None)
    assert (question.question, prediction.system) == (CROWS, "north")
    assert prediction.contexts == PASSAGES


def test_a_golden_and_its_test_case_are_one_question(tmp_path: Path) -> None:
    for kind in ("json", "jsonl", "csv"):
        questions, predictions = read(REAL / f"goldens.{kind}")
        by_name = {each.question_id: each for each in questions}
        assert [each.question for each in questions] == [
            f"What is a group of {animal} called?" for animal in ("crows", "geese", "fish")
        ]
        crows, geese = by_name["crows-1"], questions[1]
        assert (crows.expected_answer, crows.tags) == (["A murder of crows."], {"lang": "en"})
        assert (crows.extra or {})["context"] == ["A group of crows is a murder."]
        assert (crows.extra or {})["comments"] == "from the handbook"
        assert geese.tags == {"lang": "fr", "n": 3}
        assert [(each.question_id, each.answer) for each in predictions] == [
            ("crows-1", "A murder."),
            (geese.question_id, "A flock."),
        ]
        assert predictions[0].contexts == ["A group of crows is a murder."]
    files: list[tuple[Path, str | None]] = [(REAL / "goldens.json", "north")]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="deepeval", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="deepeval", files=files)
    assert done.notes == ("system 'north' did not answer 1 question: 'fish-1'",)


def test_a_golden_that_contradicts_its_test_case_is_named() -> None:
    (reject,) = [
        each
        for each in read_questions(Source(REAL / "goldens_differ.jsonl"))
        if isinstance(each, Reject)
    ]
    assert (reject.line, reject.reason) == (
        2,
        "the golden and the test case in line 1 differ in expected_output",
    )


@pytest.mark.parametrize("name", ["latest_test_run.json", "test_run.json"])
def test_scores_and_verdicts_of_metrics_are_reported(name: str) -> None:
    questions, predictions = read(REAL / name, None)
    assert questions[2].question_id == "fish-1"
    assert [each.reported for each in predictions] == [
        {"Murder": 1.0, "Murder.passed": True},
        {"Murder": 0.0, "Murder.passed": False},
        {"Murder": 0.0, "Murder.passed": False},
    ]


def test_a_metric_that_failed_is_not_reported(tmp_path: Path) -> None:
    metrics = [
        {"name": "A", "score": None, "success": False, "error": "timeout"},
        {"name": "B", "score": 0.25, "success": True},
        {"name": "B", "score": 0.5, "success": None},
    ]
    case = {**RUN["testCases"][0], "metricsData": metrics}
    (tmp_path / "run.json").write_text(json.dumps({"testCases": [case]}))
    _, (prediction,) = read(tmp_path / "run.json")
    assert prediction.reported == {"B": 0.375, "B.passed": True}


def test_a_data_set_of_goldens_and_test_cases_that_are_alike() -> None:
    for name in ("plain.json", "plain.csv"):
        (question,), (prediction,) = read(REAL / name)
        assert (question.expected_answer, prediction.answer) == (
            ["A murder of crows."],
            "A murder.",
        )
