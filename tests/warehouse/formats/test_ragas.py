"""Ragas data sets are read from all files in which they are kept, under old and new names."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.ragas import read_predictions, read_questions
from warehouse.store import Warehouse

REAL = Path(__file__).parents[2] / "data" / "real" / "ragas"
"""Files that ragas 0.4.3 wrote."""

ROWS: list[dict[str, Any]] = [
    {
        "user_input": "What is a gaggle?",
        "retrieved_contexts": ['Geese, "many"; it\'s said.', "Crows\nfly."],
        "response": "Geese.",
        "reference": "Many geese.",
        "faithfulness": 0.5,
    },
    {
        "user_input": "What is a murder?",
        "retrieved_contexts": [],
        "response": "",
        "reference": "Many crows.",
        "faithfulness": 1.0,
    },
]
EARLIER = {
    "user_input": "question",
    "retrieved_contexts": "contexts",
    "response": "answer",
    "reference": "ground_truth",
}


def write(path: Path, rows: list[dict[str, Any]], lists: str = "python") -> Path:
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(rows))
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".parquet":
            parquet.write_table(pa.Table.from_pylist(rows), path)
        case ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[0]))
                writer.writeheader()
                for row in rows:
                    listed = str if lists == "python" else json.dumps
                    writer.writerow(
                        {k: listed(v) if isinstance(v, list | dict) else v for k, v in row.items()}
                    )
    return path


@pytest.mark.parametrize("names", ["today", "earlier"])
@pytest.mark.parametrize(
    ("ending", "lists"),
    [("csv", "python"), ("csv", "json"), ("json", ""), ("jsonl", ""), ("parquet", "")],
)
def test_all_kinds_of_files(tmp_path: Path, ending: str, lists: str, names: str) -> None:
    rows = ROWS
    if names == "earlier":
        rows = [{EARLIER.get(name, name): value for name, value in row.items()} for row in ROWS]
    path = write(tmp_path / f"s.{ending}", rows, lists)
    questions = [each.record for each in read_questions(Source(path)) if isinstance(each, Read)]
    assert [(each.question_id, each.question, each.expected_answer) for each in questions] == [
        ("q001", "What is a gaggle?", ["Many geese."]),
        ("q002", "What is a murder?", ["Many crows."]),
    ]
    given = [each.record for each in read_predictions(Source(path, "s")) if isinstance(each, Read)]
    assert [each.contexts for each in given] == [row["retrieved_contexts"] for row in ROWS]
    # An empty cell of a CSV file is absent.
    assert [each.answer for each in given] == ["Geese.", None if ending == "csv" else ""]
    score = "0.5" if ending == "csv" else 0.5
    assert given[0].extra == {"faithfulness": score}


def test_ids_references_and_rubrics(tmp_path: Path) -> None:
    row = {
        **ROWS[0],
        "id": 7,
        "retrieved_context_ids": ["d1", 2],
        "reference_context_ids": ["d1"],
        "reference_contexts": ["Geese."],
        "rubrics": {"score1_description": "bad", "score2_description": "good", "other": "x"},
    }
    path = write(tmp_path / "s.jsonl", [row])
    (question,), (given,) = read_questions(Source(path)), read_predictions(Source(path, "s"))
    assert isinstance(question, Read)
    assert isinstance(given, Read)
    assert (question.record.question_id, question.record.gold_doc_ids) == ("7", ["d1"])
    assert question.record.rubric == {"scale": {"1": "bad", "2": "good"}}
    assert question.record.extra == {
        "reference_contexts": ["Geese."],
        "rubrics": row["rubrics"],
    }
    retrieved = [(each.doc_id, each.text) for each in given.record.retrieved or []]
    assert retrieved == list(zip(["d1", "2"], row["retrieved_contexts"], strict=True))


def test_the_text_identifies_a_question_in_any_order_and_subset(tmp_path: Path) -> None:
    third = {**ROWS[0], "user_input": "What is a pride?", "reference": "Lions."}
    one = write(tmp_path / "one.csv", [*ROWS])
    two = write(tmp_path / "two.csv", [third, *({**row, "response": "No."} for row in ROWS[::-1])])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files: list[tuple[Path, str | None]] = [(one, "one"), (two, "two")]
    asked = ingest_questions(warehouse, benchmark="b", format="ragas", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="ragas", files=files)
    assert (asked.rows, done.rows) == (3, 6)
    assert done.notes == ("system 'one' did not answer 1 question: 'q003'",)
    found = warehouse.fetch(
        "SELECT system, question, answer FROM predictions JOIN questions USING (question_id) "
        "WHERE answer IS NOT NULL ORDER BY system, question"
    )
    assert found.rows() == [
        ("one", "What is a gaggle?", "Geese."),
        ("two", "What is a gaggle?", "No."),
        ("two", "What is a murder?", "No."),
        ("two", "What is a pride?", "Geese."),
    ]


def test_files_with_and_without_ids_are_matched(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", [{**row, "id": f"x{n}"} for n, row in enumerate(ROWS)])
    two = write(tmp_path / "two.jsonl", ROWS[1:])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files: list[tuple[Path, str | None]] = [(one, "one"), (two, "two")]
    ingest_questions(warehouse, benchmark="b", format="ragas", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="ragas", files=files)
    assert done.notes == ("system 'two' did not answer 1 question: 'x0'",)


def test_a_text_that_occurs_twice_is_named(tmp_path: Path) -> None:
    def problems(rows: list[dict[str, Any]]) -> list[str]:
        path = write(tmp_path / "one.jsonl", rows)
        warehouse = Warehouse(tmp_path / "w.duckdb")
        files: list[tuple[Path, str | None]] = [(path, "one")]
        with pytest.raises(InputError) as caught:  # noqa: PT012 - either may find it
            ingest_questions(warehouse, benchmark="b", format="ragas", predictions=files)
            ingest_predictions(warehouse, benchmark="b", format="ragas", files=files)
        return [f"{each.line}: {each.message}" for each in caught.value.problems]

    same = "both have the text 'What is a gaggle?': questions with the same text need an `id`"
    where = f"in {tmp_path / 'one.jsonl'}:1"
    assert problems([ROWS[0], ROWS[0]]) == [
        f"2: a second prediction of 'one' for question 'q001', the first {where}; {same}"
    ]
    assert problems([ROWS[0], {**ROWS[0], "reference": "Ducks."}]) == [
        f"2: question 'q001' differs from the one {where} in expected_answer; {same}"
    ]
    named = [{**ROWS[0], "id": "a"}, {**ROWS[0], "id": "b"}, ROWS[0]]
    (problem,) = problems(named)
    assert problem.startswith("3: the questions 'a', 'b' have the text 'What is a gaggle?': ")


def test_columns_and_tags(tmp_path: Path) -> None:
    rows = [
        {"frage": "What is a gaggle?", "answer": "Geese.", "gold": "Many geese.", "lang": "en"},
        {"frage": "Was ist das?", "answer": "Enten.", "gold": "Enten.", "lang": "de"},
    ]
    path = write(tmp_path / "one.csv", rows)
    source = Source(path, "s", columns={"frage": "question", "gold": "expected_answer"})
    (first, _) = read_questions(source)
    (given, _) = read_predictions(source)
    assert isinstance(first, Read)
    assert isinstance(given, Read)
    assert first.record.expected_answer == ["Many geese."]
    assert (first.record.question, given.question_text) == ("What is a gaggle?",) * 2
    assert given.record.answer == "Geese."
    (reject, _) = read_questions(Source(path))
    assert isinstance(reject, Reject)
    assert reject.reason == (
        "user_input: missing; found 'frage', 'answer', 'gold', 'lang' (delimiter: comma)"
    )


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"user_input": None}, "user_input: missing"),
        ({"user_input": [{"content": "Hi", "type": "human"}]}, "conversations of several turns"),
        ({"user_input": 5}, "user_input: expected text, found the number 5"),
        ({"response": ["a"]}, "response: expected text, found a list"),
        ({"retrieved_contexts": [1]}, "retrieved_contexts[0]: expected text, found the number 1"),
        (
            {"retrieved_context_ids": "a"},
            "retrieved_context_ids: expected a list as JSON or Python",
        ),
        ({"retrieved_context_ids": ["a"]}, "retrieved_contexts: expected 1 texts, one for each id"),
        ({"reference_context_ids": [[]]}, "reference_context_ids[0]: expected text"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    path = write(tmp_path / "s.jsonl", [{**ROWS[0], **row}])
    rejects = [
        each
        for reader in (read_questions, read_predictions)
        for each in reader(Source(path, "s"))
        if isinstance(each, Reject)
    ]
    assert {each.line for each in rejects} == {1}
    assert any(said in each.reason for each in rejects), rejects


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("['a' 'b']", "expected commas between the elements of the list; NumPy writes none"),
        ("['a'\n 'b']", "expected commas"),
        ("['a', b]", "expected a list as JSON or Python writes it, found \"['a', b]\" ("),
        ("'a'", "expected a list"),
        ("[" * 400, "expected a list"),
    ],
)
def test_cells_that_are_no_lists_are_named(tmp_path: Path, cell: str, said: str) -> None:
    path = write(tmp_path / "s.csv", [{**ROWS[0], "retrieved_contexts": cell}])
    (reject,) = read_predictions(Source(path, "s"))
    assert isinstance(reject, Reject)
    assert reject.reason.startswith("retrieved_contexts: ")
    assert said in reject.reason


@pytest.mark.parametrize("name", ["multi_turn.csv", "multi_turn_pandas.csv", "multi_turn.jsonl"])
def test_conversations_are_refused(name: str) -> None:
    found = list(read_predictions(Source(REAL / name, "s")))
    reasons = {each.reason for each in found if isinstance(each, Reject)}
    assert len(found) == 2
    assert reasons == {
        "user_input: expected text, found a list: conversations of several turns are not read"
    }


@pytest.mark.parametrize("text", ["[{'a': 1}] is what?", "[content]?", "[{}]"])
def test_a_question_that_begins_like_a_list_is_text(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "s.csv", [{"user_input": text, "response": "x"}])
    (found,) = read_questions(Source(path))
    assert isinstance(found, Read)
    assert found.record.question == text


@pytest.mark.parametrize("name", ["result.csv", "result.parquet"])
def test_metrics_are_reported(name: str) -> None:
    found = [
        each.record.reported
        for each in read_predictions(Source(REAL / name, "s"))
        if isinstance(each, Read)
    ]
    assert found == [
        {"exact_match": 0.0, "id_based_context_recall": 1.0, "id_based_context_precision": 0.5},
        {"exact_match": 0.0, "id_based_context_recall": 0.5, "id_based_context_precision": 1.0},
        {"exact_match": 0.0, "id_based_context_recall": 0.0},
    ]


def test_columns_that_are_not_metrics_are_not_reported(tmp_path: Path) -> None:
    given = {"user_input": "Which?", "response": "x", "latency_s": 1.5, "year": 1999, "id": 7}
    given |= {"critic": True, "note": "12 apples", "query_length": 3}
    for name in ("s.csv", "s.jsonl"):
        path = write(tmp_path / name, [given])
        (found,) = read_predictions(Source(path, "s", tags=("year",)))
        assert isinstance(found, Read)
        assert found.record.reported == {"critic": True}


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet", "a_hf.parquet"])
def test_all_files_of_a_data_set_are_alike(name: str) -> None:
    questions = [
        each.record for each in read_questions(Source(REAL / name)) if isinstance(each, Read)
    ]
    answers = [
        each.record for each in read_predictions(Source(REAL / name, "s")) if isinstance(each, Read)
    ]
    assert [each.gold_doc_ids for each in questions] == [["d1"], ["d3", "d4"], ["d9"]]
    assert questions[1].question == "What is a group\nof geese called?"
    assert [[doc.doc_id for doc in each.retrieved or ()] for each in answers] == [
        ["d1", "d2"],
        ["d3"],
        [],
    ]
    assert [each.reported for each in answers] == [None, None, None]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_of_numbers_beyond_1_are_named(tmp_path: Path, ending: str) -> None:
    row = {"user_input": "Which?", "response": "x", "harmless": 1, "answer_relevancy": -0.25}
    row |= {"order_id": 1, "order": 1, "month": "2024_01", "score": "0.5", "instance_rubrics": 4}
    other = {**row, "user_input": "Who?", "order": 17, "score": "n/a", "harmless": 0}
    source = Source(write(tmp_path / f"s.{ending}", [row, other]), "s")
    found = [each.record for each in read_predictions(source) if isinstance(each, Read)]
    both = {"answer_relevancy": -0.25, "instance_rubrics": 4}
    assert [each.reported for each in found] == [{**both, "harmless": 1}, {**both, "harmless": 0}]
    assert [str(each.extra["order"]) for each in found if each.extra] == ["1", "17"]
    assert source.notes == ["not reported as scores, since they are not from -1 to 1: 'order'"]


def test_a_score_that_pandas_lacks_is_missing(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "faithfulness": float("nan")}, ROWS[1]]
    path = write(tmp_path / "s.parquet", rows)
    found = [each for each in read_predictions(Source(path, "s")) if isinstance(each, Read)]
    assert [each.record.reported for each in found] == [None, {"faithfulness": 1.0}]
    assert found[0].record.extra is None
