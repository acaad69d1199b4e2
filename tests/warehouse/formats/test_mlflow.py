"""Traces and tables of MLflow are read as MLflow wrote them."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.mlflow import read_predictions, read_questions
from warehouse.store import Warehouse

REAL = Path(__file__).parents[2] / "data" / "real" / "mlflow"
TABLES = ["north_result.csv", "south_result.json", "south_traces.jsonl"]
CROWS = "What is a group of crows called?"
GEESE = "What is a group of geese called?"
OWLS = "What is a group of owls called?"
FAIL = "Fail, please."


def records(path: Path, system: str | None = None) -> list[tuple[Any, Any]]:
    """Return the questions with their predictions."""
    asked, given = list(read_questions(Source(path))), list(read_predictions(Source(path, system)))
    assert not [each for each in (*asked, *given) if isinstance(each, Reject)]
    return [
        (q.record, p.record)
        for q, p in zip(asked, given, strict=True)
        if isinstance(q, Read) and isinstance(p, Read)
    ]


@pytest.mark.parametrize("name", TABLES)
def test_expectations_are_what_is_right(name: str) -> None:
    by_text = {question.question: question for question, _ in records(REAL / name, "s")}
    assert by_text.keys() == {CROWS, GEESE, OWLS, FAIL}
    crows, geese, owls = (by_text[text] for text in (CROWS, GEESE, OWLS))
    assert (crows.expected_answer, crows.gold_doc_ids) == (["A murder of crows."], ["birds/crows"])
    facts = ["On the ground it is a gaggle.", "In flight it is a skein."]
    assert geese.expected_answer == ["\n".join(facts)]
    assert geese.expected_parts == [[fact] for fact in facts]
    assert geese.extra == {"expectations": {"guidelines": ["Answer in English."]}}
    assert (owls.expected_answer, owls.extra) == (None, None)


def test_what_a_trace_says_of_an_answer() -> None:
    by_text = {q.question: p for q, p in records(REAL / "north_result.csv", "north")}
    crows = by_text[CROWS]
    assert crows.answer == "A murder."
    assert [(each.doc_id, each.text) for each in crows.retrieved] == [
        ("birds/crows", "Of the group: A murder."),
        ("birds/facts", "Crows are clever."),
    ]
    assert (crows.tokens_in, crows.tokens_out) == (7, 2)
    assert 0 < crows.latency_s < 5
    assert crows.trace_id.startswith("tr-")
    assert crows.extra["tags"] == {"subject": "crows"}
    failed = by_text[FAIL]
    assert failed.error == "ValueError: the index is not available"
    assert failed.answer is None


def test_what_scorers_said_is_reported() -> None:
    by_text = {q.question: p for q, p in records(REAL / "north_result.csv", "north")}
    # `polite` is yes, as MLflow's own judges say it; `tone` is a text, which stays in `extra`.
    expected = {"exact": False, "words": 2.0, "polite": True, "fragile": 0.25}
    assert by_text[CROWS].reported == expected
    # The scorer failed on this answer.
    assert by_text[OWLS].reported == {"exact": False, "words": 2.0, "polite": True}
    kept = {each["name"]: each for each in by_text[OWLS].extra["assessments"]}
    assert kept["fragile"] == {"name": "fragile", "error": "no owls here", "source": "fragile"}
    assert kept["tone"]["value"] == "plain"
    assert kept["polite"]["rationale"] == "It is short."


def test_what_a_person_said_later_is_reported_as_well() -> None:
    reported = [p.reported for _, p in records(REAL / "south_traces.jsonl", "south")]
    assert [each["stars"] for each in reported if "stars" in each] == [4.0]
    assert [each["helpful"] for each in reported if "helpful" in each] == [True]


def test_columns_alone_say_the_same_as_the_trace(tmp_path: Path) -> None:
    rows = json.loads((REAL / "south_result.json").read_text())
    whole = records(REAL / "south_result.json", "s")
    for row in rows:
        del row["trace"]
    path = tmp_path / "without_trace.json"
    path.write_text(json.dumps(rows))
    for (asked, given), (asked_too, given_too) in zip(whole, records(path, "s"), strict=True):
        assert asked_too == asked
        assert given_too.model_copy(update={"started_at": None}) == given.model_copy(
            update={"started_at": None}
        )
        assert given_too.started_at == pytest.approx(given.started_at)
    for row in rows:
        del row["spans"], row["assessments"]
    path.write_text(json.dumps(rows))
    least = {q.question: (q, p) for q, p in records(path, "s")}
    asked, given = least[CROWS]
    assert (given.answer, given.retrieved) == ("A flock.", None)
    assert given.reported == {"exact": False, "words": 5.0, "polite": True, "fragile": 0.25}
    assert asked.expected_answer == ["A murder of crows."]


def test_traces_of_two_runs_are_two_systems(tmp_path: Path) -> None:
    files: list[tuple[Path, str | None]] = [(REAL / "traces.json", None)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="mlflow", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="mlflow", files=files)
    assert (asked.rows, done.rows) == (4, 8)
    assert asked.problems == done.problems == ()
    systems = warehouse.fetch(
        "SELECT system, count(answer), count(error), min(tokens_in), "
        "count(json_extract(reported, '$.words')) FROM predictions GROUP BY ALL ORDER BY 2"
    ).rows()
    (run, *north), (model, *south) = systems
    assert len(run) == 32
    assert model.startswith("m-")
    assert (north, south) == ([3, 1, 7, 4], [4, 0, 2, 4])


@pytest.mark.parametrize("name", ["cli_traces.json", "trace.json", "lines.json", "by_column.json"])
def test_other_ways_to_save_traces(tmp_path: Path, name: str) -> None:
    path, count = REAL / name, {"trace.json": 1}.get(name, 8)
    traces = json.loads((REAL / "traces.json").read_text())
    if name == "lines.json":
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in traces))
    if name == "by_column.json":  # as `DataFrame.to_json` writes without arguments
        rows = json.loads((REAL / "south_result.json").read_text())
        path, count = tmp_path / name, 4
        path.write_text(
            json.dumps({key: {str(i): r[key] for i, r in enumerate(rows)} for key in rows[0]})
        )
    found = records(path)
    assert len(found) == count
    assert {given.answer for _, given in found} >= {"A flock."}


@pytest.mark.parametrize("name", ["static_result.parquet", "static_result_index.csv"])
def test_messages_and_chat_completions(name: str) -> None:
    found = records(REAL / name, "s")
    assert [q.question for q, _ in found] == [CROWS, GEESE, OWLS]
    assert [p.answer for _, p in found] == ["A murder.", "A gaggle.", "A parliament."]
    assert found[0][0].extra["inputs"]["lang"] == "en"
    assert found[0][1].reported == {"words": 7.0}


def test_the_table_of_the_older_interface() -> None:
    found = records(REAL / "eval_results_table.json", "s")
    assert [(q.question, q.expected_answer, p.answer, p.reported) for q, p in found] == [
        (CROWS, ["A murder."], "A murder.", {"equal": 1.0}),
        (GEESE, ["A gaggle."], "A gaggle.", {"equal": 1.0}),
        (OWLS, ["A parliament."], "A hoot.", {"equal": 0.0}),
    ]
    assert found[0][1].contexts == ["Of the group: A murder."]


def test_traces_of_version_2(tmp_path: Path) -> None:
    """As MLflow 2 wrote them, after the classes that still read them."""
    span = {
        "name": "rag",
        "context": {"span_id": "0x1", "trace_id": "0x2"},
        "parent_id": None,
        "start_time": 1,
        "end_time": 2,
        "status_code": "OK",
        "status_message": "",
        "attributes": {
            "mlflow.spanInputs": '{"question": "Why?"}',
            "mlflow.spanOutputs": '"Because."',
        },
        "events": [],
    }
    info = {
        "request_id": "r1",
        "experiment_id": "0",
        "timestamp_ms": 1700000000000,
        "execution_time_ms": 1500,
        "status": "OK",
        "request_metadata": {"mlflow.sourceRun": "run-7"},
        "tags": {"mlflow.traceName": "rag", "question_id": "q7"},
    }
    data = {"spans": [span], "request": '{"question": "Why?"}', "response": '"Because."'}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps({"info": info, "data": data}) + "\n")
    ((asked, given),) = records(path)
    assert (asked.question_id, asked.question) == ("q7", "Why?")
    assert (given.system, given.answer, given.latency_s) == ("run-7", "Because.", 1.5)
    assert (given.started_at, given.trace_id) == (1.7e9, "r1")


def test_the_conversation_before_the_question_is_kept(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Why?"},
    ]
    path = tmp_path / "t.jsonl"
    rows = [{"inputs": {"messages": each}, "outputs": "So."} for each in (talk, talk[-1:])]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (long, _), (short, _) = records(path, "s")
    assert [each.content for each in long.messages] == ["Hello", "Hello!"]
    assert short.messages is None
    assert long.question == short.question == "Why?"
    assert long.question_id != short.question_id


def test_traces_of_scorers_and_previews_are_noted(tmp_path: Path) -> None:
    traces = json.loads((REAL / "traces.json").read_text())[:2]
    traces[0]["info"]["tags"]["mlflow.trace.sourceScorer"] = "correctness"
    traces[1]["data"]["spans"] = []
    path = tmp_path / "t.json"
    path.write_text(json.dumps(traces))
    source = Source(path, "s")
    (read,) = read_predictions(source)
    assert isinstance(read, Read)
    assert len(source.notes) == 2
    assert "previews, which MLflow truncates" in source.notes[0]
    assert source.notes[1] == "1 traces of scorers are left out"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{"info": {"trace_id": "t", "state": "OK"}, "data": {"spans": 5}}', 1, "spans: expected"),
        ('{"inputs": {}, "outputs": "x"}', 1, "inputs: expected a question"),
        ('{"inputs": "?", "outputs": "x"}', 1, "system: missing"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, text: str, line: int, said: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text + "\n")
    (reject,) = read_predictions(Source(path))
    assert isinstance(reject, Reject)
    assert (reject.line, said in reject.reason) == (line, True), reject


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"question_id": "a", "answer": "b"}\n')
    with pytest.raises(InputError, match=r"expected traces of MLflow, .*found the fields"):
        list(read_predictions(Source(path, "s")))


def test_repeats_are_small_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    traces = [
        {"trace_id": "t", "state": "OK", "request": "?", "response": "x", "tags": {"repeat": each}}
        for each in ("2", "9" * 5000, "²", "x")
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in traces))
    assert [given.repeat for _, given in records(path, "s")] == [2, 0, 0, 0]


def test_a_second_trace_of_a_question_is_numbered_by_its_tag(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    rows = [{"trace_id": each, "state": "OK", "request": "?", "response": each} for each in "ab"]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="mlflow", predictions=[(path, "s")])
    with pytest.raises(InputError, match="number the traces from 0 by a tag 'repeat'"):
        ingest_predictions(warehouse, benchmark="b", format="mlflow", files=[(path, "s")])


TEXTS = ["null", "1.50", "1e3", "true", '"quoted"', "[1] Paris, [2", "NaN"]
JSON = '{"answer": "x", "b": 1}'


@pytest.mark.parametrize("name", ["t.jsonl", "t.csv", "t.parquet"])
@pytest.mark.parametrize("of_traces", [False, True])
def test_texts_of_tables_stay_as_they_are(tmp_path: Path, name: str, of_traces: bool) -> None:
    """As pandas writes `result_df` and `search_traces()`, where MLflow has decoded the texts."""
    texts = TEXTS if name == "t.csv" else [*TEXTS, JSON, '["a"]']
    asked, said, right = "inputs", "outputs", "targets"
    if of_traces:
        asked, said, right = "request", "response", "expected_response/value"
    more = {"trace_id": "t", "state": "OK"} if of_traces else {}
    rows = [{asked: f"Which {n}?", said: each, right: each, **more} for n, each in enumerate(texts)]
    path = tmp_path / name
    frame = pl.DataFrame(rows)
    write = {"t.jsonl": frame.write_ndjson, "t.csv": frame.write_csv}
    write.get(name, frame.write_parquet)(path)
    found = records(path, "s")
    assert [given.answer for _, given in found] == texts
    assert [asked.expected_answer for asked, _ in found] == [[each] for each in texts]


def test_objects_of_tables_are_objects(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        ["inputs", "outputs"],
        ["{'question': 'Why?'}", "{'answer': \"It's so.\", 'n': 1}"],
        ['{"question": "How?"}', '{"answer": "So."}'],
        ["1", "[{'role': 'assistant', 'content': 'null'}]"],
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    found = [(asked.question, given.answer) for asked, given in records(path, "s")]
    assert found == [("Why?", "It's so."), ("How?", "So."), ("1", "null")]


@pytest.mark.parametrize("text", [*TEXTS, JSON])
@pytest.mark.parametrize("kept", ["spans", "response", "preview"])
def test_texts_of_traces_are_decoded_once(tmp_path: Path, text: str, kept: str) -> None:
    written = json.dumps(text)
    root = {"mlflow.spanInputs": '"Why?"', "mlflow.spanOutputs": written}
    traces: dict[str, dict[str, Any]] = {
        "spans": {"data": {"spans": [{"span_id": "a", "attributes": root}]}},
        "response": {"data": {"spans": [], "request": '"Why?"', "response": written}},
        "preview": {"data": {}, "info": {"request_preview": "Why?", "response_preview": written}},
    }
    trace = traces[kept]
    trace["info"] = {"trace_id": "t", "state": "OK", **trace.get("info", {})}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(trace))
    ((_, given),) = records(path, "s")
    assert given.answer == text


def test_scores_of_one_name_are_averaged_and_nan_is_missing(tmp_path: Path) -> None:
    def scored(name: str, value: object) -> dict[str, Any]:
        return {"assessment_name": name, "feedback": {"value": value}}

    given = [scored("a", 1), scored("a", 0), scored("b", "yes"), scored("c", "good")]
    trace = {"trace_id": "t", "state": "OK", "assessments": given, "request": "?", "response": "x"}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(trace))
    ((_, one),) = records(path, "s")
    assert one.reported == {"a": 0.5, "b": True}
    path = tmp_path / "t.parquet"
    frame = {"inputs": ["?"], "outputs": ["x"], "a/value": [math.nan], "b/value": [0.5]}
    pl.DataFrame({**frame, "latency": [math.nan], "mine": [math.nan]}).write_parquet(path)
    ((_, one),) = records(path, "s")
    assert (one.reported, one.latency_s, one.extra) == ({"b": 0.5}, None, None)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"execution_duration": "9" * 400 + "s"}, "execution_duration"),
        ({"request_time": "9" * 400}, "request_time"),
    ],
)
def test_a_number_beyond_all_bounds_is_named(
    tmp_path: Path, row: dict[str, Any], name: str
) -> None:
    row = {"trace_id": "t", "state": "OK", "request": "?", "response": "x", **row}
    path = tmp_path / "t.jsonl"
    path.write_text(json.dumps(row))
    (reject,) = read_predictions(Source(path, "s"))
    assert isinstance(reject, Reject)
    assert reject.reason.startswith(f"{name}: expected a number, found ")
