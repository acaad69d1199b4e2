"""Traces and observations are read as Langfuse's interface and API write them."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.langfuse import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

CROWS = "What is a group of crows called?"
START = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)
PASSAGES = [
    {"id": "d1", "content": "Crows form murders.", "score": 0.5},
    {"id": "d2", "content": "Geese form gaggles.", "score": 0.75},
]
TRACE: dict[str, Any] = {
    "id": "t1",
    "timestamp": "2025-01-31T12:00:00.000Z",
    "name": "rag",
    "input": {"args": [], "kwargs": {"question": CROWS}},
    "output": "A murder.",
    "sessionId": None,
    "release": "abc",
    "version": "2",
    "userId": "u1",
    "metadata": {"expected_answer": "A murder of crows.", "lang": "en"},
    "tags": ["birds"],
    "public": False,
    "environment": "default",
    "htmlPath": "/project/p/traces/t1",
    "latency": 1.5,
    "totalCost": 0.002,
    "observations": ["o1", "o2"],
    "scores": [],
}
"""A trace as `GET /api/public/traces` lists it: observations and scores are ids."""


def observation(name: str, kind: str, second: float, parent: str | None, **more: Any) -> Any:
    """An observation as a trace with all details has it; it takes half a second."""
    return {
        "id": name,
        "traceId": "t1",
        "type": kind,
        "name": name,
        "startTime": (START + timedelta(seconds=second)).isoformat(),
        "endTime": (START + timedelta(seconds=second + 0.5)).isoformat(),
        "parentObservationId": parent,
        "level": "DEFAULT",
        "statusMessage": None,
        "input": None,
        "output": None,
        **more,
    }


OBSERVATIONS = [
    observation("model", "GENERATION", 0.5, "root", totalCost=0.002),
    observation("retrieve", "RETRIEVER", 0.25, "root", output=PASSAGES),
    observation("root", "CHAIN", 0, None, input=CROWS, output={"answer": "A murder."}),
]


def read(path: Path, system: str | None = None) -> tuple[list[Question], list[Prediction]]:
    questions, predictions = list(read_questions(Source(path))), []
    for each in read_predictions(Source(path, system)):
        assert isinstance(each, Read), each
        predictions.append(each.record)
    assert all(isinstance(each, Read) for each in questions), questions
    return [each.record for each in questions if isinstance(each, Read)], predictions


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    match path.suffix:
        case ".json":
            path.write_text(json.dumps(rows))
        case ".jsonl":
            path.write_text("".join(json.dumps(each) + "\n" for each in rows))
        case ".csv":
            text = io.StringIO()
            writer = csv.writer(text)
            writer.writerow(rows[0])
            for row in rows:
                writer.writerow(
                    [json.dumps(v) if isinstance(v, list | dict) else v for v in row.values()]
                )
            path.write_text(text.getvalue())
    return path


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv", "page"])
def test_a_trace_is_a_question_and_an_answer(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"traces.{suffix}"
    if suffix == "page":
        path = tmp_path / "traces.json"
        path.write_text(json.dumps({"data": [TRACE], "meta": {"page": 1}}, indent=2))
    else:
        write(path, [TRACE])
    (question,), (prediction,) = read(path)
    assert (question.question, question.expected_answer) == (CROWS, ["A murder of crows."])
    assert (prediction.system, prediction.answer) == ("2", "A murder.")
    assert (prediction.latency_s, prediction.cost_usd) == (1.5, 0.002)
    assert (prediction.retrieved, prediction.error) == (None, None)
    assert prediction.extra == {
        "environment": "default",
        "metadata": TRACE["metadata"],
        "name": "rag",
        "release": "abc",
        "tags": ["birds"],
        "timestamp": TRACE["timestamp"],
        "user_id": "u1",
        "version": "2",
    }
    assert prediction.trace_id == "t1"


@pytest.mark.parametrize("shape", ["details", "download", "observations", "snake"])
def test_retrievers_give_what_was_retrieved(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "trace.json"
    scores = [{"name": "correct", "value": 1}]
    match shape:
        case "details":
            content: Any = {**TRACE, "observations": OBSERVATIONS, "scores": scores}
        case "download":
            content = {"trace": TRACE, "observations": OBSERVATIONS, "scores": scores}
            content["trace"] = {
                k: v for k, v in TRACE.items() if k not in ("observations", "scores")
            }
        case "observations":
            content = {"data": OBSERVATIONS, "meta": {"cursor": None}}
        case _:
            # As the export to a blob storage names fields and writes objects.
            names = {"traceId": "trace_id", "startTime": "start_time", "endTime": "end_time"}
            names |= {"parentObservationId": "parent_observation_id", "totalCost": "total_cost"}
            content = [
                {
                    names.get(k, k): json.dumps(v) if isinstance(v, list | dict) else v
                    for k, v in each.items()
                }
                for each in OBSERVATIONS
            ]
    path.write_text(json.dumps(content))
    (question,), (prediction,) = read(path, "s")
    assert (question.question, prediction.answer) == (CROWS, "A murder.")
    items = [each.model_dump(exclude_none=True) for each in prediction.retrieved or []]
    assert items == [
        {"doc_id": "d1", "rank": 1, "score": 0.5, "text": "Crows form murders."},
        {"doc_id": "d2", "rank": 2, "score": 0.75, "text": "Geese form gaggles."},
    ]
    has_trace = shape in {"details", "download"}
    assert (prediction.latency_s, prediction.cost_usd) == (1.5 if has_trace else 0.5, 0.002)
    assert (prediction.extra or {}).get("scores") == ({"correct": 1} if has_trace else None)


@pytest.mark.parametrize(
    ("output", "texts", "ids"),
    [
        (["a", "b", "a"], ["a", "b"], [None, None]),
        ({"documents": [{"page_content": "a", "metadata": {}}]}, ["a"], [None]),
        ([{"document": {"id": 7, "text": "a"}, "score": 1}], ["a"], ["7"]),
        ([{"id": "x", "text": "a"}, {"text": "b"}], ["a", "b"], [None, None]),
        ("a text", ["a text"], [None]),
        ([], [], []),
    ],
)
def test_shapes_of_documents(
    tmp_path: Path, output: Any, texts: list[str], ids: list[str | None]
) -> None:
    retriever = observation("retrieve", "RETRIEVER", 0, None, output=output)
    inner = observation("inner", "RETRIEVER", 0, "retrieve", output=["other"])
    path = write(tmp_path / "t.jsonl", [{**TRACE, "observations": [retriever, inner]}])
    _, (prediction,) = read(path)
    retrieved = prediction.retrieved
    assert retrieved is not None
    assert [each.text for each in retrieved] == texts
    assert [each.doc_id for each in retrieved] == ids


@pytest.mark.parametrize(
    "outputs",
    [
        # Neither all ids nor all texts are known.
        [[{"id": "x"}, {"text": "b"}]],
        [[{"id": "x"}], ["a text"]],
        [{"ids": ["x"], "documents": ["a"]}],
        [{}],
        # The output of a retriever was not exported.
        [None],
        [""],
        [["a text"], None],
    ],
)
def test_what_was_retrieved_may_be_unknown(tmp_path: Path, outputs: list[Any]) -> None:
    """It is not an empty list, which would be scored 0."""
    retrievers = [
        observation(f"r{n}", "RETRIEVER", n, None, output=output)
        for n, output in enumerate(outputs)
    ]
    rows = [
        {**TRACE, "observations": retrievers},
        {**TRACE, "id": "t2", "observations": retrievers, "output": None},
    ]
    _, (answered, silent) = read(write(tmp_path / "t.jsonl", rows))
    assert (answered.retrieved, answered.contexts) == (None, None)
    assert (answered.answer, answered.error) == ("A murder.", None)
    assert (silent.retrieved, silent.error) == (None, "there is no output")


@pytest.mark.parametrize(
    ("output", "error"), [([], "there is no output"), (PASSAGES, None), (["a"], None)]
)
def test_a_trace_without_output_may_only_retrieve(
    tmp_path: Path, output: Any, error: str | None
) -> None:
    retriever = observation("r", "RETRIEVER", 0, None, output=output)
    row = {**TRACE, "observations": [retriever], "output": None}
    _, (prediction,) = read(write(tmp_path / "t.jsonl", [row]))
    assert (prediction.answer, prediction.error) == (None, error)
    assert len(prediction.retrieved or []) == len(output)


@pytest.mark.parametrize(
    ("own", "costs", "expected"),
    [
        (None, [0.5, 0.25], 0.75),
        (1.5, [0.5, 1.0], 1.5),
        # A part of the sum: a generation has no price.
        (None, [0.5, None], None),
        (None, [0.5, 0], None),
        (0.5, [0.5, None], None),
        (None, [None, None], None),
        # The observations were exported without costs.
        (0.75, [None, None], 0.75),
    ],
)
def test_a_cost_is_whole_or_unknown(
    tmp_path: Path, own: float | None, costs: list[float | None], expected: float | None
) -> None:
    calls = [
        observation(f"m{n}", "GENERATION", n, "root", totalCost=cost)
        for n, cost in enumerate(costs)
    ]
    observations = [*calls, OBSERVATIONS[2]]
    rows = observations if own is None else [{**TRACE, "totalCost": own, "observations": calls}]
    _, (prediction,) = read(write(tmp_path / "t.jsonl", rows), "s")
    assert prediction.cost_usd == expected


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"output": None}, "there is no output"),
        (
            {"output": "a", "observations": [OBSERVATIONS[2] | {"level": "ERROR"}]},
            "the level is ERROR",
        ),
        (
            {"observations": [OBSERVATIONS[2] | {"level": "ERROR", "statusMessage": "timed out"}]},
            "timed out",
        ),
        # A part may fail and the answer be found all the same.
        ({"observations": [*OBSERVATIONS[1:], OBSERVATIONS[0] | {"level": "ERROR"}]}, None),
    ],
)
def test_failed_answers(tmp_path: Path, change: dict[str, Any], error: str | None) -> None:
    _, (prediction,) = read(write(tmp_path / "t.jsonl", [{**TRACE, **change}]))
    assert prediction.error == error


def test_metrics_that_were_not_asked_for_are_missing(tmp_path: Path) -> None:
    """The API writes -1 where `fields` leaves out metrics, and 0 where it knows no price."""
    rows = [{**TRACE, "latency": -1, "totalCost": -1}, {**TRACE, "id": "t2", "totalCost": 0}]
    _, predictions = read(write(tmp_path / "t.jsonl", rows))
    assert [(each.latency_s, each.cost_usd) for each in predictions] == [(None, None), (1.5, None)]


@pytest.mark.parametrize(
    ("change", "system"),
    [
        ({"metadata": {"system": "north"}}, "north"),
        ({}, "2"),
        ({"version": None}, "abc"),
        ({"version": None, "release": ""}, "rag"),
    ],
)
def test_what_names_the_system(tmp_path: Path, change: dict[str, Any], system: str) -> None:
    _, (prediction,) = read(write(tmp_path / "t.jsonl", [{**TRACE, **change}]))
    assert prediction.system == system


def test_versions_are_asked_the_same(tmp_path: Path) -> None:
    rows = [
        {**TRACE, "id": f"t{n}", "version": str(n), "input": text, "metadata": {"run": n}}
        for n, text in enumerate([CROWS, [{"role": "user", "content": CROWS}]])
    ]
    files: list[tuple[Path, str | None]] = [(write(tmp_path / "t.jsonl", rows), None)]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="langfuse", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="langfuse", files=files)
    assert (asked.rows, done.rows, done.problems, done.notes) == (1, 2, (), ())


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (
            [{"question": "?", "answer": "a"}],
            (
                "expected Langfuse's traces with 'id', 'input' and 'output', or observations with "
                "'traceId'; found the fields 'question', 'answer'"
            ),
        ),
        ([{**TRACE, "id": 5}], "id: expected the id of a trace, found the number 5"),
        ([{**TRACE, "input": {}}], "input: missing"),
        ([{**TRACE, "latency": "fast"}], "latency: expected a number, found the text 'fast'"),
        (
            [{**TRACE, "observations": [{"id": "o", "startTime": "noon"}]}],
            "start_time: expected a time as in ISO 8601, found the text 'noon'",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, rows: list[dict[str, Any]], said: str) -> None:
    path = write(tmp_path / "t.jsonl", rows)
    try:
        given = list(read_predictions(Source(path, "s")))
        problems = [each.reason for each in given if isinstance(each, Reject)]
    except InputError as error:
        problems = [problem.message for problem in error.problems]
    assert problems == [said]


def test_a_trace_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", [TRACE, TRACE])
    (reject,) = [each for each in read_predictions(Source(path)) if isinstance(each, Reject)]
    assert (reject.line, reject.reason) == (2, "id: expected each trace once, found 't1' again")


def test_what_the_client_of_langfuse_returns(tmp_path: Path) -> None:
    """Observations as the API's client gives them back, in its own classes."""
    types = pytest.importorskip(
        "langfuse.api.observations.types", reason="langfuse is not installed"
    )
    client = pytest.importorskip("langfuse.api.core.pydantic_utilities")
    page = client.parse_obj_as(
        types.ObservationsV2Response,
        {"data": [{**each, "projectId": "p"} for each in OBSERVATIONS], "meta": {"cursor": None}},
    )
    path = tmp_path / "observations.json"
    path.write_text(page.json())
    (question,), (prediction,) = read(path, "s")
    assert (question.question, prediction.answer) == (CROWS, "A murder.")
    assert [each.doc_id for each in prediction.retrieved or []] == ["d1", "d2"]
    assert (prediction.latency_s, prediction.cost_usd) == (0.5, 0.002)


UNLIKELY = "times before 1990 or after tomorrow, and ends before starts, count as missing"


@pytest.mark.parametrize(
    ("change", "latency"),
    [
        ({}, 0.5),
        ({"startTime": 0}, None),
        ({"startTime": "0"}, None),
        ({"startTime": "1970-01-01T00:00:00Z"}, None),
        ({"startTime": "0001-01-01T00:00:00Z"}, None),
        ({"startTime": "1989-12-31T23:59:59Z"}, None),
        ({"endTime": "2999-01-01T00:00:00Z"}, None),
        ({"endTime": "2025-01-31T11:59:59Z"}, None),
        # Langfuse's own latency does not rest on these times.
        ({"startTime": 0, "latency": 2.5}, 2.5),
    ],
)
def test_unlikely_times_are_missing(
    tmp_path: Path, change: dict[str, Any], latency: float | None
) -> None:
    path = tmp_path / "s.jsonl"
    root = OBSERVATIONS[2] | change
    path.write_text("".join(json.dumps(each) + "\n" for each in [*OBSERVATIONS[:2], root]))
    source = Source(path, "s")
    (found,) = read_predictions(source)
    assert isinstance(found, Read), found
    assert found.record.latency_s == latency
    assert [note[: len(UNLIKELY)] for note in source.notes] == ([UNLIKELY] if change else [])


def test_a_latency_since_1970_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(TRACE | {"latency": 1_738_324_800.0}))
    source = Source(path, "s")
    (found,) = read_predictions(source)
    assert isinstance(found, Read), found
    assert found.record.latency_s is None
    assert len(source.notes) == 1
