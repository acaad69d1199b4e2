"""Files that Phoenix, its client and OpenTelemetry wrote are read: `tests/data/real/README.md`."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Read, Reject, Source
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from records.prediction import Prediction
    from records.question import Question

FILES = Path(__file__).parents[2] / "data" / "real" / "phoenix"


def read(
    path: Path, name: str = "openinference", system: str | None = None
) -> tuple[list[Question], list[Prediction]]:
    form = format_named(name)
    questions: list[Any] = []
    predictions: list[Any] = []
    for reader, source, records in (
        (form.questions, Source(path), questions),
        (form.predictions, Source(path, system), predictions),
    ):
        for each in reader(source):  # type: ignore[operator]
            assert isinstance(each, Read), each
            records.append(each.record)
    return questions, predictions


def refused(path: Path, name: str = "openinference") -> list[str]:
    try:
        return [
            each.reason
            for each in format_named(name).predictions(Source(path, "s"))
            if isinstance(each, Reject)
        ]
    except InputError as error:
        return [str(problem) for problem in error.problems]


CROWS = "What is a group of crows called?"
OWLS = "What is a group of owls called?"
LIONS = "What is a group of lions called?"
ASKED = {
    "crows-1": (CROWS, ["A murder.", "A murder!"]),
    "owls-1": (OWLS, ["A parliament.", "A parliament!"]),
    "lions-1": (LIONS, ["A pride.", "A pride!"]),
}
ANSWERED = {
    ("north", "crows-1"): ("A murder.", None),
    ("north", "owls-1"): ("A parliament.", None),
    ("north", "lions-1"): ("A pride.", None),
    ("south", "crows-1"): ("A flock.", None),
    ("south", "owls-1"): ("A herd.", None),
    ("south", "lions-1"): (None, "RuntimeError: no such model"),
}
FIRST = {
    "crows-1": "A group of crows is a murder.",
    "owls-1": "Owls form parliaments.",
    "lions-1": "Lions live in prides.",
}
"""What the script asks and answers, and the first document that each retriever finds."""


@pytest.mark.parametrize(
    "file",
    [
        "rest_spans.json",
        "rest_otlpv1.json",
        "get_spans.json",
        "frame.csv",
        "frame_with_index.csv",
        "frame_with_evaluations.csv",
        "console.json",
        "console.jsonl",
    ],
)
def test_every_export_says_the_same(tmp_path: Path, file: str) -> None:
    path = FILES / file
    if file == "console.jsonl":
        path = tmp_path / file
        path.write_bytes((FILES / "console.json").read_bytes())
    questions, predictions = read(path)
    assert len(questions) == len(predictions) == 6
    assert {each.question_id: (each.question, each.expected_answer) for each in questions} == ASKED
    given = {(each.system, each.question_id): (each.answer, each.error) for each in predictions}
    assert given == ANSWERED
    for each in predictions:
        if each.error is not None:
            assert each.retrieved is None
            continue
        documents = [
            (item.doc_id, item.text, item.score, item.rank) for item in each.retrieved or []
        ]
        assert documents == [
            (each.question_id, FIRST[each.question_id], 0.5, 1),
            ("x's", "It's other.", 0.25, 2),
        ]
        assert (each.tokens_in, each.tokens_out) == (10, 2)
        assert each.latency_s is not None
        assert 0 < each.latency_s < 10


@pytest.mark.parametrize("file", ["frame_with_annotations.csv", "frame_with_evaluations.csv"])
def test_scores_of_annotations_are_reported(file: str) -> None:
    """The script scores the roots from the last one: 0.0, 0.1, ..., 0.5."""
    _, predictions = read(FILES / file)
    assert [each.reported for each in predictions] == [
        {"correctness": score} for score in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    ]
    labels = [(each.extra or {})["annotations"] for each in predictions]
    assert labels == [{"correctness": "bad"}, *[{"correctness": "good"}] * 5]


def span(name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "context.trace_id": "t",
        "context.span_id": name,
        "parent_id": parent,
        "span_kind": "LLM",
        "attributes.input.value": CROWS,
        "attributes.output.value": "A murder.",
        "attributes.llm.token_count.prompt": 10,
        **{key.replace("__", "."): value for key, value in more.items()},
    }


def write(path: Path, *spans: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in spans))
    return path


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        ([{"annotations['is it so?'].score": 0.5}], {"is it so?": 0.5}),
        ([{'evals["a"].score': True}], {"a": True}),
        ([{"eval.a.b.score": 0.5, "eval.a.b.label": "x"}], {"a.b": 0.5}),
        ([{"annotations": [{"name": "a", "result": {"score": 1}}]}], {"a": 1}),
        ([{"annotations": [{"name": "a", "score": 1}, {"name": "a", "score": 0}]}], {"a": 0.5}),
        # A label alone is not a number.
        ([{"annotations": [{"name": "a", "label": "good"}]}], None),
        ([{"eval.a.score": None}], None),
        # One span, joined with its two annotations.
        (
            [
                {"annotation_name": "a", "result.score": 0.25},
                {"annotation_name": "b", "result.score": 1},
            ],
            {"a": 0.25, "b": 1},
        ),
    ],
)
def test_forms_of_annotations(
    tmp_path: Path, rows: list[dict[str, Any]], reported: dict[str, Any] | None
) -> None:
    spans = [span("root") | each for each in rows]
    _, (prediction,) = read(write(tmp_path / "s.jsonl", *spans), system="s")
    assert prediction.reported == reported
    # A span that is there twice has used its tokens once.
    assert prediction.tokens_in == 10


def test_annotations_of_the_root_count_first(tmp_path: Path) -> None:
    spans = [
        span("a", "root", eval__x__score=0.25, eval__y__score=0.25),
        span("b", "root", eval__x__score=0.75, eval__y__score=0.75),
        span("root", eval__x__score=1),
    ]
    _, (prediction,) = read(write(tmp_path / "s.jsonl", *spans), system="s")
    assert prediction.reported == {"x": 1, "y": 0.5}


@pytest.mark.parametrize(
    ("file", "count", "systems"),
    [
        ("spans.parquet", 7, {"lc": 3, "deco": 2, "bare": 1, "stream": 1}),
        ("spans.jsonl", 7, {"lc": 3, "deco": 2, "bare": 1, "stream": 1}),
        ("sdk.jsonl", 7, {"lc": 3, "deco": 2, "bare": 1, "stream": 1}),
        ("otlp_collector.jsonl", 2, {"rag-svc": 2}),
    ],
)
def test_traces_of_instrumentations(file: str, count: int, systems: dict[str, int]) -> None:
    questions, predictions = read(FILES / file)
    assert len(questions) == len(predictions) == count
    names = [each.system for each in predictions]
    assert {name: names.count(name) for name in names} == systems
    assert sum(each.error is not None for each in predictions) == (1 if count == 7 else 0)
    assert ("owls-1" in {each.question_id for each in questions}) == (count == 7)


def test_otlp_under_the_names_of_protobuf(tmp_path: Path) -> None:
    listed = json.loads((FILES / "rest_otlpv1.json").read_text())["data"]
    resource = {"attributes": [{"key": "service.name", "value": {"string_value": "svc"}}]}
    export = {"resource_spans": [{"resource": resource, "scope_spans": [{"spans": listed}]}]}
    path = tmp_path / "otlp.json"
    path.write_text(json.dumps(export))
    _, predictions = read(path)
    assert {(each.system, each.question_id) for each in predictions} == ANSWERED.keys()


def test_pages_and_frames_of_the_list_of_spans(tmp_path: Path) -> None:
    """One page per line, and what pandas makes of `get_spans()`."""
    listed = json.loads((FILES / "get_spans.json").read_text())
    pages = tmp_path / "pages.jsonl"
    pages.write_text(
        "".join(json.dumps({"data": [each], "next_cursor": "x"}) + "\n" for each in listed)
    )
    frame = tmp_path / "frame.csv"
    with frame.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["", *listed[0]])
        writer.writerows([[n, *each.values()] for n, each in enumerate(listed)])
    for path in (pages, frame):
        _, predictions = read(path)
        assert {(each.system, each.question_id) for each in predictions} == ANSWERED.keys()


def pages_of(file: str, cursors: list[str | None]) -> list[dict[str, Any]]:
    """Return the spans of a file as pages that end with cursors."""
    listed = json.loads((FILES / file).read_text())["data"]
    size = -(-len(listed) // len(cursors))
    return [
        {"data": listed[n * size : (n + 1) * size], "next_cursor": cursor}
        for n, cursor in enumerate(cursors)
    ]


@pytest.mark.parametrize("file", ["rest_spans.json", "rest_otlpv1.json"])
@pytest.mark.parametrize("form", ["objects.json", "pages.jsonl", "list.json"])
@pytest.mark.parametrize("last", [None, "U3BhbjoxNg=="])
def test_an_export_that_goes_on_is_noted(
    tmp_path: Path, file: str, form: str, last: str | None
) -> None:
    pages = pages_of(file, ["U3BhbjoyMA==", last])
    path = tmp_path / form
    if form == "list.json":
        path.write_text(json.dumps(pages))
    else:
        path.write_text("\n".join(json.dumps(each) for each in pages))
    source = Source(path)
    found = list(format_named("openinference").predictions(source))
    assert {each.record.system for each in found if isinstance(each, Read)} == {"north", "south"}
    assert len(source.notes) == (last is not None)
    assert all("`next_cursor`): fetch the next page and append it" in each for each in source.notes)


@pytest.mark.parametrize(
    ("name", "content", "listed"),
    [
        ("a.json", '{"data": [], "next_cursor": null}', "data"),
        ("a.json", '{\n  "data": []\n}', "data"),
        ("a.jsonl", '{"data": [], "next_cursor": null}\n', "data"),
        ("a.json", '[{"data": [], "next_cursor": null}]', "data"),
        ("a.json", '{"resourceSpans": []}', "resourceSpans"),
        ("a.jsonl", '{"resource_spans": []}', "resource_spans"),
    ],
)
def test_an_export_without_spans_is_not_an_empty_file(
    tmp_path: Path, name: str, content: str, listed: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    (said,) = refused(path)
    assert f"the export has no spans: its list '{listed}' is empty" in said


def test_two_traces_with_one_question_say_what_to_do(tmp_path: Path) -> None:
    rows = [
        span(f"s{n}") | {"context.trace_id": f"t{n}", "attributes.metadata": {"question_id": "q"}}
        for n in range(2)
    ]
    path = write(tmp_path / "s.jsonl", *rows)
    files: list[tuple[Path, str | None]] = [(path, "north")]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="openinference", predictions=files)
    with pytest.raises(InputError) as raised:
        ingest_predictions(warehouse, benchmark="b", format="openinference", files=files)
    message = str(raised.value)
    assert "s.jsonl:2: a second prediction of 'north' for question 'q', the first in" in message
    assert "give each trace a 'question_id' of its own in its metadata" in message
    assert "number the traces from 0 by 'repeat' in the metadata" in message
    rows[1]["attributes.metadata"]["repeat"] = 1
    write(path, *rows)
    done = ingest_predictions(warehouse, benchmark="b", format="openinference", files=files)
    assert (done.rows, done.problems) == (2, ())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("s.json", '{\n"context": 1\n}\n{\n"a" 1}', "s.json:5: not JSON: expecting ':' delimiter"),
        ("s.json", '{"a": 1}\n[2]', "s.json:2: expected a JSON object, found a list"),
        (
            "s.csv",
            "context.trace_id,context.span_id,attributes.metadata\nt,s,{'a': b}\n",
            "attributes.metadata: expected JSON, found \"{'a': b}\"",
        ),
        (
            "s.csv",
            (
                "context.trace_id,context.span_id,attributes.retrieval.documents\n"
                "t,s,\"[{'document.id': '1'}\n {'document.id': '2'}]\"\n"
            ),
            (
                "attributes.retrieval.documents: expected commas between the elements of the list; "
                "NumPy writes none"
            ),
        ),
        (
            "s.csv",
            "a,context.trace_id,context.trace_id\n1,2,3\n",
            "s.csv:1: the header names the column 'context.trace_id' twice",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, content: str, said: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    (problem,) = refused(path)
    assert problem.removeprefix(f"{tmp_path}/").startswith(said)


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_an_experiment(suffix: str) -> None:
    questions, predictions = read(FILES / f"experiment.{suffix}", "phoenix-experiment", "north")
    # Phoenix writes the metadata of examples into CSV files only.
    tags = {"lang": "en"} if suffix == "csv" else None
    first, second, third = (
        {each.question_id: each for each in questions}[name]
        for name in dict.fromkeys(each.question_id for each in questions)
    )
    assert [first.question, second.question, third.question] == [CROWS, OWLS, LIONS]
    assert [each.expected_answer for each in (first, second, third)] == [
        ["A murder."],
        ["A parliament."],
        ["A pride."],
    ]
    assert first.tags == tags
    assert [each.repeat for each in predictions] == [0, 1] * 3
    assert [(each.answer, each.error) for each in predictions] == [
        ("A murder.", None),
        # A text that looks like a list.
        ('["A flock."]', None),
        ("A parliament.", None),
        ("A parliament.", None),
        ("A pride.", None),
        (None, "RuntimeError('no such model')"),
    ]
    assert [each.text for each in predictions[2].retrieved or []] == [
        "Owls form parliaments.",
        "It's other.",
    ]
    # A tenth of the characters of the output as Python prints it: of `None`, 4.
    assert [each.reported for each in predictions] == [
        {"exact": 1, "length": 0.9},
        {"exact": 0, "length": 1.2},
        {"exact": 1, "length": 8.2},
        {"exact": 1, "length": 8.2},
        {"exact": 1, "length": 0.8},
        {"exact": 0, "length": 0.4},
    ]
    assert (predictions[0].extra or {})["annotations"] == {
        "exact": {"label": "True"},
        "verdict": {"label": "short"},
    }
    for each in predictions:
        assert each.latency_s is not None
        assert each.started_at is not None
        assert each.ended_at is not None
        assert each.latency_s == pytest.approx(each.ended_at - each.started_at, abs=1e-5)


def test_repetitions_are_repeats_in_the_warehouse(tmp_path: Path) -> None:
    files: list[tuple[Path, str | None]] = [
        (FILES / "experiment.json", "north"),
        (FILES / "experiment.json", "south"),
    ]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(
        warehouse, benchmark="b", format="phoenix-experiment", predictions=files
    )
    done = ingest_predictions(warehouse, benchmark="b", format="phoenix-experiment", files=files)
    assert (asked.rows, done.rows, done.problems, done.notes) == (3, 12, (), ())


RUN: dict[str, Any] = {
    "example_id": "e1",
    "repetition_number": 1,
    "input": {"question": CROWS},
    "reference_output": {"answer": "A murder."},
    "output": "A murder.",
    "error": None,
    "latency_ms": 1500,
    "annotations": [],
}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, {"answer": "A murder.", "latency_s": 1.5, "reported": None}),
        ({"output": ""}, {"answer": "", "error": None}),
        ({"output": None}, {"answer": None, "error": "there is no output"}),
        ({"output": 42}, {"answer": "42"}),
        ({"output": {"response": "A."}}, {"answer": "A."}),
        ({"output": '{"response": "A."}'}, {"answer": '{"response": "A."}'}),
        ({"output": [{"role": "assistant", "content": "A."}]}, {"answer": "A."}),
        ({"error": " "}, {"answer": None, "error": "the run has an error"}),
        ({"annotations": [{"name": "x", "score": None, "error": "e"}]}, {"reported": None}),
        ({"annotations": [{"name": "x", "score": 1}, {"name": "x"}]}, {"reported": {"x": 1}}),
    ],
)
def test_runs(tmp_path: Path, change: dict[str, Any], found: dict[str, Any]) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps([RUN | change]))
    _, (prediction,) = read(path, "phoenix-experiment", "s")
    assert {name: getattr(prediction, name) for name in found} == found


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ({"answer": ["A murder.", "Murder."]}, ["A murder.", "Murder."]),
        ({"expected_output": "A."}, ["A."]),
        ({"anything": "A."}, ["A."]),
        ({}, None),
        (None, None),
        ({"a": 1, "b": 2}, ['{"a": 1, "b": 2}']),
        ({"answer": '["A."]'}, ['["A."]']),
    ],
)
def test_references(tmp_path: Path, reference: Any, expected: list[str] | None) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps([RUN | {"reference_output": reference}]))
    (question,), _ = read(path, "phoenix-experiment", "s")
    assert question.expected_answer == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repetition_number": 0}, "repetition_number: expected a whole number from 1, found"),
        ({"latency_ms": "fast"}, "latency_ms: expected milliseconds, found the text 'fast'"),
        ({"input": {}}, "input: missing"),
        ({"start_time": "noon"}, "start_time: expected a time with its zone"),
    ],
)
def test_runs_that_cannot_be_read(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps([RUN | change]))
    (reason,) = refused(path, "phoenix-experiment")
    assert reason.startswith(said)


def test_an_experiment_does_not_name_its_system() -> None:
    source = Source(FILES / "experiment.json")
    reasons = {
        each.reason
        for each in format_named("phoenix-experiment").predictions(source)
        if isinstance(each, Reject)
    }
    assert reasons == {"system: missing; expected in the row, or as {system} in the path"}
