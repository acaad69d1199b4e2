"""Spans with the attributes of OpenInference are read as Phoenix and OpenTelemetry write them."""

from __future__ import annotations

import csv
import io
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.openinference import read_predictions, read_questions
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from records.prediction import Prediction
    from records.question import Question

CROWS = "What is a group of crows called?"
START = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)


def span(name: str, kind: str, second: float, parent: str | None = None, **more: Any) -> Any:
    """A span as a row of Phoenix's data frame of spans; it takes half a second."""
    begin = START.timestamp() + second
    return {
        "name": name,
        "span_kind": kind,
        "parent_id": parent,
        "start_time": datetime.fromtimestamp(begin, UTC).isoformat(),
        "end_time": datetime.fromtimestamp(begin + 0.5, UTC).isoformat(),
        "status_code": "OK",
        "status_message": "",
        "context.span_id": f"{name}-{second}",
        "context.trace_id": "t1",
        **{key.replace("__", "."): value for key, value in more.items()},
    }


DOCUMENTS = [
    {"document.id": "d1", "document.content": "Crows form murders.", "document.score": 0.5},
    {"document.id": "d2", "document.content": "Geese form gaggles.", "document.score": 0.75},
]
TRACE = [
    # Children end, and are exported, before their parents.
    span("retrieve", "RETRIEVER", 0.125, "query-0", attributes__retrieval__documents=DOCUMENTS),
    span(
        "llm",
        "LLM",
        0.25,
        "query-0",
        attributes__llm__token_count__prompt=10,
        attributes__llm__token_count__completion=2,
        attributes__llm__token_count__total=12,
        attributes__llm__cost__total=0.002,
    ),
    span(
        "query",
        "CHAIN",
        0,
        attributes__input__value=CROWS,
        attributes__output__value="A murder.",
        attributes__metadata={"expected_answer": "A murder of crows.", "system": "north"},
        attributes__session__id="s1",
    ),
]


def read(path: Path, system: str | None = None) -> tuple[list[Question], list[Prediction]]:
    questions, predictions = list(read_questions(Source(path))), []
    for each in read_predictions(Source(path, system)):
        assert isinstance(each, Read), each
        predictions.append(each.record)
    assert all(isinstance(each, Read) for each in questions), questions
    return [each.record for each in questions if isinstance(each, Read)], predictions


def refused(path: Path) -> list[str]:
    try:
        return [
            each.reason for each in read_predictions(Source(path, "s")) if isinstance(each, Reject)
        ]
    except InputError as error:
        return [problem.message for problem in error.problems]


def write(path: Path, spans: list[dict[str, Any]]) -> Path:
    names = list(dict.fromkeys(name for each in spans for name in each))
    match path.suffix:
        case ".jsonl":
            path.write_text("".join(json.dumps(each) + "\n" for each in spans))
        case ".json":
            path.write_text(json.dumps(spans))
        case ".parquet":
            parquet.write_table(
                pa.table({name: [each.get(name) for each in spans] for name in names}), path
            )
        case ".csv":
            text = io.StringIO()
            writer = csv.writer(text)
            writer.writerow(names)
            for each in spans:
                cells = [each.get(name) for name in names]
                writer.writerow(
                    [json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in cells]
                )
            path.write_text(text.getvalue())
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "json", "parquet", "csv"])
def test_a_trace_is_a_question_and_an_answer(tmp_path: Path, suffix: str) -> None:
    (question,), (prediction,) = read(write(tmp_path / f"spans.{suffix}", TRACE))
    assert (question.question, question.expected_answer) == (CROWS, ["A murder of crows."])
    assert (prediction.system, prediction.answer) == ("north", "A murder.")
    assert (prediction.latency_s, prediction.cost_usd) == (0.5, 0.002)
    items = [each.model_dump(exclude_none=True) for each in prediction.retrieved or []]
    # The order is that of the retriever: it need not follow the scores.
    assert items == [
        {"doc_id": "d1", "rank": 1, "score": 0.5, "text": "Crows form murders."},
        {"doc_id": "d2", "rank": 2, "score": 0.75, "text": "Geese form gaggles."},
    ]
    assert prediction.extra == {
        "metadata": {"expected_answer": "A murder of crows.", "system": "north"},
        "session_id": "s1",
        "span_name": "query",
        "tokens_total": 12,
    }
    assert (prediction.trace_id, prediction.tokens_in, prediction.tokens_out) == ("t1", 10, 2)


def test_parquet_as_pandas_writes_it(tmp_path: Path) -> None:
    """Times are timestamps, and spans without a number have NaN."""
    cost = "attributes.llm.cost.total"
    table = pa.table(
        {
            **{
                name: [each.get(name) for each in TRACE]
                for name in ("context.trace_id", "context.span_id", "parent_id", "span_kind")
            },
            "start_time": pa.array(
                [datetime.fromisoformat(each["start_time"]) for each in TRACE],
                pa.timestamp("ns", "UTC"),
            ),
            "end_time": pa.array(
                [START] * 2 + [START.replace(second=2)], pa.timestamp("ns", "UTC")
            ),
            "attributes.input.value": [None, None, CROWS],
            cost: [float("nan"), 0.002, float("nan")],
            "attributes.llm.token_count.total": [float("nan")] * 3,
        }
    )
    path = tmp_path / "spans.parquet"
    parquet.write_table(table, path)
    _, (prediction,) = read(path, "s")
    assert (prediction.latency_s, prediction.cost_usd) == (2.0, 0.002)
    assert "tokens_total" not in (prediction.extra or {})


def attribute(name: str, value: object) -> dict[str, Any]:
    kinds = {str: "stringValue", int: "intValue", float: "doubleValue"}
    written = str(value) if isinstance(value, int) else value
    return {"key": name, "value": {kinds[type(value)]: written}}


def otlp() -> dict[str, Any]:
    """The trace in the JSON of OTLP: times in nanoseconds, whole numbers as text."""
    begin = int(START.timestamp()) * 10**9
    query = {
        "traceId": "t1",
        "spanId": "q",
        "name": "query",
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 5 * 10**8),
        "attributes": [
            attribute("openinference.span.kind", "CHAIN"),
            attribute("input.value", json.dumps({"query": CROWS})),
            attribute("input.mime_type", "application/json"),
            attribute("output.value", "A murder."),
        ],
        "status": {"code": 1},
    }
    retrieve = {
        "traceId": "t1",
        "spanId": "r",
        "parentSpanId": "q",
        "attributes": [
            attribute("openinference.span.kind", "RETRIEVER"),
            *(
                attribute(f"retrieval.documents.{n}.{name}", value)
                for n, document in enumerate(DOCUMENTS)
                for name, value in document.items()
            ),
        ],
    }
    model = {
        "traceId": "t1",
        "spanId": "l",
        "parentSpanId": "q",
        "attributes": [
            attribute("openinference.span.kind", "LLM"),
            attribute("llm.token_count.total", 12),
        ],
    }
    resource = {"attributes": [attribute("service.name", "north")]}
    scopes = [{"scope": {}, "spans": [retrieve, model, query]}]
    return {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}


@pytest.mark.parametrize("suffix", ["json", "jsonl"])
def test_otlp_is_the_same_trace(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"spans.{suffix}"
    path.write_text(json.dumps(otlp(), indent=None if suffix == "jsonl" else 2))
    (question,), (prediction,) = read(path)
    assert question.question == CROWS
    assert (prediction.system, prediction.answer, prediction.latency_s) == (
        "north",
        "A murder.",
        0.5,
    )
    assert [(each.doc_id, each.score) for each in prediction.retrieved or []] == [
        ("d1", 0.5),
        ("d2", 0.75),
    ]
    assert (prediction.extra or {})["tokens_total"] == 12


def test_what_phoenix_returns_over_http(tmp_path: Path) -> None:
    flat = {
        name.removeprefix("attributes."): value
        for name, value in TRACE[2].items()
        if name.startswith("attributes.")
    }
    given = {
        "context": {"trace_id": "t1", "span_id": "q"},
        "span_kind": "CHAIN",
        "start_time": "2025-01-31T12:00:00Z",
        "end_time": "2025-01-31T12:00:01.250000Z",
        "status_code": "ERROR",
        "status_message": "timed out",
        "attributes": flat,
    }
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"data": [given], "next_cursor": None}))
    _, (prediction,) = read(path)
    assert (prediction.error, prediction.answer) == ("timed out", None)
    assert prediction.latency_s == 1.25
    assert prediction.retrieved is None


def test_retrievers_within_retrievers_count_once(tmp_path: Path) -> None:
    outer = span("outer", "RETRIEVER", 0.1, "query-0", attributes__retrieval__documents=DOCUMENTS)
    inner = span(
        "inner", "RETRIEVER", 0.2, "outer-0.1", attributes__retrieval__documents=DOCUMENTS[::-1]
    )
    later = span(
        "later",
        "RETRIEVER",
        0.3,
        "query-0",
        attributes__retrieval__documents=[
            DOCUMENTS[0],
            {"document.id": 3, "document.content": "Crows fly."},
        ],
    )
    path = write(tmp_path / "spans.jsonl", [later, inner, outer, TRACE[2]])
    _, (prediction,) = read(path)
    assert [each.doc_id for each in prediction.retrieved or []] == ["d1", "d2", "3"]


def test_the_first_span_with_an_input_where_the_root_has_none(tmp_path: Path) -> None:
    root = span("GET /ask", "", 0)
    retrieve = span("retrieve", "RETRIEVER", 0.1, "GET /ask-0", attributes__input__value="other")
    path = write(
        tmp_path / "spans.jsonl",
        [
            retrieve,
            span("second", "LLM", 0.3, "GET /ask-0", attributes__input__value="later"),
            span("first", "LLM", 0.2, "GET /ask-0", attributes__input__value="Which?"),
            root,
        ],
    )
    (question,), (prediction,) = read(path, "s")
    assert question.question == "Which?"
    assert (prediction.retrieved, prediction.error) == (None, "there is no output")


ID_ONLY = [{"document.id": "d1"}]
TEXT_ONLY = [{"document.content": "Crows fly."}]


@pytest.mark.parametrize(
    ("lists", "retrieved", "error"),
    [
        # Neither all ids nor all texts are known.
        ([[*ID_ONLY, *TEXT_ONLY]], None, "there is no output"),
        ([ID_ONLY, TEXT_ONLY], None, "there is no output"),
        # The documents of a retriever were not exported.
        ([None], None, "there is no output"),
        ([ID_ONLY, None], None, "there is no output"),
        ([[]], 0, "there is no output"),
        ([[], ID_ONLY], 1, None),
        ([], None, "there is no output"),
    ],
)
@pytest.mark.parametrize("answer", ["A murder.", None])
def test_what_was_retrieved_may_be_unknown(
    tmp_path: Path, lists: list[Any], retrieved: int | None, error: str | None, answer: str | None
) -> None:
    """An empty list would be scored 0; without output, only documents are an answer."""
    spans = [
        span(f"r{n}", "RETRIEVER", n, "query-0", attributes__retrieval__documents=documents)
        for n, documents in enumerate(lists)
    ]
    root = TRACE[2] | {"attributes.output.value": answer}
    _, (prediction,) = read(write(tmp_path / "spans.jsonl", [*spans, root]))
    found = None if prediction.retrieved is None else len(prediction.retrieved)
    assert (found, prediction.contexts) == (retrieved, None)
    assert (prediction.answer, prediction.error) == (answer, None if answer else error)


def test_what_a_retriever_returns_is_no_answer(tmp_path: Path) -> None:
    alone = TRACE[0] | {"attributes.input.value": CROWS, "attributes.output.value": "[1, 2]"}
    _, (prediction,) = read(write(tmp_path / "spans.jsonl", [alone]), "s")
    assert (prediction.answer, prediction.error) == (None, None)
    assert [each.doc_id for each in prediction.retrieved or []] == ["d1", "d2"]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("models", "expected"),
    [
        ([("LLM", 0.5), ("LLM", 0.25)], 0.75),
        ([("LLM", 0.5), ("EMBEDDING", 0.25), ("RERANKER", None)], 0.75),
        # A part of the sum: a call of a model has no price.
        ([("LLM", 0.5), ("LLM", None)], None),
        ([("EMBEDDING", 0.25), ("LLM", None)], None),
        ([("CHAIN", 0.25)], None),
    ],
)
def test_a_sum_is_whole_or_unknown(
    tmp_path: Path, suffix: str, models: list[tuple[str, float | None]], expected: float | None
) -> None:
    spans = [
        span(
            f"m{n}",
            kind,
            n,
            "query-0",
            attributes__llm__cost__total=number,
            attributes__llm__token_count__total=number and int(number * 100),
        )
        for n, (kind, number) in enumerate(models)
    ]
    _, (prediction,) = read(write(tmp_path / f"spans.{suffix}", [*spans, TRACE[2]]))
    assert prediction.cost_usd == expected
    assert (prediction.extra or {}).get("tokens_total") == (expected and int(expected * 100))


def test_two_systems_are_asked_the_same(tmp_path: Path) -> None:
    files: list[tuple[Path, str | None]] = []
    for system in ("north", "south"):
        others = [{**TRACE[2], "context.trace_id": f"t-{system}", "attributes.metadata": None}]
        files.append((write(tmp_path / f"{system}.jsonl", others), system))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    asked = ingest_questions(warehouse, benchmark="b", format="openinference", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="openinference", files=files)
    assert (asked.rows, done.rows, done.problems, done.notes) == (1, 2, (), ())


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        (
            [{"input": "?", "actual_output": "a"}],
            (
                "expected spans as Phoenix or OpenTelemetry export them, with 'context.trace_id' "
                "or 'traceId'; found the fields 'input', 'actual_output'"
            ),
        ),
        (
            [{"context.trace_id": 5}],
            "context.trace_id: expected the id of a trace, found the number 5",
        ),
        (
            [{**TRACE[2], "start_time": "noon"}],
            "start_time: expected a time as in ISO 8601, found the text 'noon'",
        ),
        (
            [{**TRACE[2], "attributes.input.value": None}],
            "attributes.input.value: missing in the spans of the trace",
        ),
        (
            [{**TRACE[0], "attributes.retrieval.documents": "[{'id': 1}]"}, TRACE[2]],
            (
                "attributes.retrieval.documents: expected a list as JSON, "
                "found the text \"[{'id': 1}]\""
            ),
        ),
        (
            [{**TRACE[1], "attributes.llm.cost.total": "a"}, TRACE[2]],
            "attributes.llm.cost.total: expected a number, found the text 'a'",
        ),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, spans: list[dict[str, Any]], said: str) -> None:
    assert refused(write(tmp_path / "spans.jsonl", spans)) == [said]


def test_spans_that_the_sdk_writes(tmp_path: Path) -> None:
    """The attributes are set by OpenInference's own package, the JSON is OpenTelemetry's."""
    openinference = pytest.importorskip(
        "openinference.instrumentation", reason="openinference-instrumentation is not installed"
    )
    trace = pytest.importorskip("opentelemetry.sdk.trace")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    resources = pytest.importorskip("opentelemetry.sdk.resources")
    path = tmp_path / "spans.jsonl"
    with path.open("w") as out:
        provider = trace.TracerProvider(
            resource=resources.Resource.create({"service.name": "north"})
        )
        provider.add_span_processor(
            export.SimpleSpanProcessor(
                export.ConsoleSpanExporter(
                    out=out, formatter=lambda each: each.to_json(indent=None) + "\n"
                )
            )
        )
        tracer = openinference.OITracer(provider.get_tracer("test"), openinference.TraceConfig())
        with tracer.start_as_current_span("query", openinference_span_kind="chain") as root:
            root.set_input(CROWS)
            root.set_attributes(
                openinference.get_metadata_attributes(metadata={"question_id": "q1"})
            )
            with tracer.start_as_current_span(
                "retrieve", openinference_span_kind="retriever"
            ) as retriever:
                documents = [
                    {
                        "document.id": each["document.id"],
                        "document.content": each["document.content"],
                    }
                    for each in DOCUMENTS
                ]
                for n, document in enumerate(documents):
                    for name, value in document.items():
                        retriever.set_attribute(f"retrieval.documents.{n}.{name}", value)
            with tracer.start_as_current_span("llm", openinference_span_kind="llm") as model:
                model.set_attributes(
                    openinference.get_llm_token_count_attributes(
                        {"prompt": 10, "completion": 2, "total": 12}
                    )
                )
            root.set_output("A murder.")
        failing = tracer.start_as_current_span("query", openinference_span_kind="chain")
        with suppress(RuntimeError), failing as root:
            root.set_input("Which bird?")
            raise RuntimeError("no such model")
    (question, other), (prediction, failed) = read(path)
    assert (question.question_id, question.question) == ("q1", CROWS)
    assert (prediction.system, prediction.answer) == ("north", "A murder.")
    assert [(each.doc_id, each.text) for each in prediction.retrieved or []] == [
        ("d1", "Crows form murders."),
        ("d2", "Geese form gaggles."),
    ]
    assert (prediction.extra or {})["tokens_total"] == 12
    assert other.question == "Which bird?"
    assert failed.answer is None
    assert "no such model" in (failed.error or "")


UNLIKELY = "times before 1990 or after tomorrow, and ends before starts, count as missing"


@pytest.mark.parametrize(
    ("form", "change", "latency"),
    [
        ("phoenix", {}, 0.5),
        ("phoenix", {"start_time": 0}, None),
        ("phoenix", {"start_time": "1970-01-01T00:00:00Z"}, None),
        ("phoenix", {"end_time": "2025-01-31T11:00:00Z"}, None),
        ("phoenix", {"end_time": "2999-01-01T00:00:00Z"}, None),
        ("otlp", {}, 0.5),
        ("otlp", {"startTimeUnixNano": "0"}, None),
        ("otlp", {"startTimeUnixNano": 0}, None),
        ("otlp", {"endTimeUnixNano": "1"}, None),
    ],
)
def test_unlikely_times_are_missing(
    tmp_path: Path, form: str, change: dict[str, Any], latency: float | None
) -> None:
    if form == "phoenix":
        path = write(tmp_path / "s.jsonl", [*TRACE[:2], TRACE[2] | change])
    else:
        exported = otlp()
        for resource in exported["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for each in scope["spans"]:
                    if not each.get("parentSpanId"):
                        each.update(change)
        path = tmp_path / "s.json"
        path.write_text(json.dumps(exported))
    source = Source(path, "s")
    (found,) = read_predictions(source)
    assert isinstance(found, Read), found
    assert found.record.latency_s == (latency and pytest.approx(latency, abs=1e-6))
    assert [note[: len(UNLIKELY)] for note in source.notes] == ([UNLIKELY] if change else [])


def test_spans_cannot_repeat_the_attributes_of_a_resource_without_end(tmp_path: Path) -> None:
    pairs = [{"key": f"k{n}", "value": {"intValue": n}} for n in range(5000)]
    spans = [{"traceId": f"{n:032x}", "spanId": "1"} for n in range(3000)]
    path = tmp_path / "spans.json"
    path.write_text(
        json.dumps(
            {
                "resourceSpans": [
                    {"resource": {"attributes": pairs}, "scopeSpans": [{"spans": spans}]}
                ]
            }
        )
    )
    (found,) = list(read_questions(Source(path)))
    assert isinstance(found, Reject)
    assert "spans repeat more than 10,000,000 attributes of resources" in found.reason


@pytest.mark.parametrize(
    ("digits", "said"),
    [
        ("9" * 400, "is too large"),
        ("9" * 300, "attributes.llm.token_count.prompt: expected a number"),
    ],
)
def test_numbers_of_tokens_that_do_not_fit_a_float_are_refused(
    tmp_path: Path, digits: str, said: str
) -> None:
    row = span("llm", "LLM", 0, attributes__input__value="Why?", attributes__output__value="So.")
    row["attributes.llm.token_count.prompt"] = int(digits)
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps(row))
    (found,) = read_predictions(Source(path, "s"))
    assert isinstance(found, Reject)
    assert said in found.reason
