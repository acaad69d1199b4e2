"""Files that the classes of Langfuse's SDK wrote are read: `tests/data/real/README.md`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Source
from warehouse.formats.langfuse import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from records.prediction import Prediction
    from records.question import Question

FILES = Path(__file__).parents[2] / "data" / "real" / "langfuse"
CROWS = "What is a group of crows called?"


def read(path: Path) -> tuple[dict[str, Question], dict[str, Prediction]]:
    questions, predictions = {}, {}
    for asked in read_questions(Source(path)):
        assert isinstance(asked, Read), asked
        questions[asked.record.question_id] = asked.record
    for given in read_predictions(Source(path)):
        assert isinstance(given, Read), given
        predictions[given.record.question_id] = given.record
    return questions, predictions


RAW = {
    "object": (CROWS, "A murder."),
    "text": (CROWS, "A murder."),
    "plain": (CROWS, "A murder."),
    "number": ("How many are 6 x 7?", "42"),
    "bare-number": ("How many are 3 / 2?", "1.50"),
    "list": ("Which list has one a?", '["a"]'),
    "quoted": ('Say "yes".', '"quoted"'),
    "messages": ('{"a": 1}', "{}"),
}
"""The question and the answer by id: what `json.dumps` was given in the script."""


@pytest.mark.parametrize("suffix", ["json", "jsonl", "list.json"])
def test_raw_strings_are_decoded_once(tmp_path: Path, suffix: str) -> None:
    path = FILES / "raw_observations.json"
    if suffix != "json":
        listed = json.loads(path.read_text())["data"]
        lines = "".join(json.dumps(each) + "\n" for each in listed)
        path = tmp_path / f"rows.{suffix}"
        path.write_text(lines if suffix == "jsonl" else json.dumps(listed))
    questions, predictions = read(path)
    said = {name: (questions[name].question, predictions[name].answer) for name in RAW}
    assert said == RAW
    assert [(each.doc_id, each.text) for each in predictions["text"].retrieved or []] == [
        ("d1", '["x"]')
    ]


def test_decoded_values_stay_as_they_are_and_scores_are_reported() -> None:
    """A text of the first version of the interface is a text, whatever it looks like."""
    questions, predictions = read(FILES / "trace_with_scores.json")
    assert questions["q1"].question == '["Is this a list?"]'
    assert questions["q1"].expected_answer == ['["yes"]']
    found = predictions["q1"]
    assert found.answer == '"quoted"'
    assert [each.text for each in found.retrieved or []] == ['["a text"]']
    # Those of the trace count first: 0.5 is the mean of 0.75 and 0.25, 0.75 that of 0.5 and 1.
    assert found.reported == {"correct": True, "faithful": 0.5, "recall": 0.75}
    assert found.reported["correct"] is True
    assert (found.extra or {})["scores"] == {
        "correct": 1.0,
        "faithful": [0.75, 0.25, 0.125],
        "recall": [0.5, 1.0],
        "tone": "friendly",
    }


@pytest.mark.parametrize(
    ("file", "answer", "documents", "latency", "cost"),
    [
        ("obs_v2.json", "A murder.", ["crows"], 1.5, 0.002),
        ("trace_v3.json", "A murder.", ["crows"], 1.5, 0.002),
        ("list_v3.json", "A murder.", None, 1.5, 0.002),
    ],
)
def test_a_trace_in_three_forms(
    file: str, answer: str, documents: list[str] | None, latency: float, cost: float
) -> None:
    questions, predictions = read(FILES / file)
    ((name, question),) = questions.items()
    found = predictions[name]
    assert (question.question, question.expected_answer) == (CROWS, ["A murder of crows."])
    assert (found.answer, found.latency_s, found.cost_usd) == (answer, latency, cost)
    ids = None if found.retrieved is None else [each.doc_id for each in found.retrieved]
    assert (found.system, ids, found.reported) == ("1", documents, None)


def test_columns_of_scores_in_exported_tables(tmp_path: Path) -> None:
    row: dict[str, Any] = {
        "id": "t1",
        "name": "rag",
        "input": CROWS,
        "output": "A murder.",
        "tags": ["birds"],
        "Helpful Tone": [1, 0],
        "recall": [0.25],
        "style": ["friendly"],
        "empty": None,
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    _, predictions = read(path)
    (found,) = predictions.values()
    assert found.reported == {"Helpful Tone": 0.5, "recall": 0.25}


def traces(path: Path, *metadata: dict[str, Any]) -> Path:
    rows = [
        {"id": f"t{n}", "name": "rag", "input": CROWS, "output": f"{n}", "metadata": each}
        for n, each in enumerate(metadata)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def ingest(path: Path) -> list[tuple[Any, ...]]:
    files: list[tuple[Path, str | None]] = [(path, None)]
    warehouse = Warehouse(path.parent / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="langfuse", predictions=files)
    ingest_predictions(warehouse, benchmark="b", format="langfuse", files=files)
    return warehouse.fetch(
        "SELECT question_id, repeat, answer FROM predictions ORDER BY question_id, repeat"
    ).rows()


def test_two_traces_with_one_question_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        ingest(traces(tmp_path / "t.jsonl", {"question_id": "q"}, {"question_id": "q"}))
    message = str(raised.value)
    assert "t.jsonl:2: a second prediction of 'rag' for question 'q', the first in" in message
    assert "give each trace a 'question_id' of its own in its metadata" in message
    assert "number the traces from 0 by 'repeat' in the metadata" in message


def test_the_metadata_may_number_the_answers_to_a_question(tmp_path: Path) -> None:
    path = traces(tmp_path / "t.jsonl", {"question_id": "q"}, {"question_id": "q", "repeat": 1})
    assert ingest(path) == [("q", 0, "0"), ("q", 1, "1")]
