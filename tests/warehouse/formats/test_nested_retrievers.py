"""A retriever within another counts once, whatever is between them, in every tracing format."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from warehouse.formats.catalog import format_named
from warehouse.formats.format import Read, Source
from warehouse.formats.readers.exports import outermost

if TYPE_CHECKING:
    from pathlib import Path


def langfuse(name: str, parent: str | None, kind: str, document: str | None) -> dict[str, Any]:
    found = None if document is None else [{"id": document, "content": document}]
    return {
        "id": name,
        "trace_id": "t",
        "type": kind,
        "parent_observation_id": parent,
        "start_time": "2026-01-01T00:00:00Z",
        "input": "Why?",
        "output": found or "Because.",
    }


def mlflow(name: str, parent: str | None, kind: str, document: str | None) -> dict[str, Any]:
    found = None if document is None else [{"id": document, "page_content": document}]
    values = {"spanType": kind, "spanInputs": "Why?", "spanOutputs": found or "Because."}
    return {
        "span_id": name,
        "parent_span_id": parent,
        "attributes": {f"mlflow.{each}": json.dumps(value) for each, value in values.items()},
    }


def openinference(name: str, parent: str | None, kind: str, document: str | None) -> dict[str, Any]:
    attributes: dict[str, Any] = {"input.value": "Why?", "output.value": "Because."}
    attributes["openinference.span.kind"] = kind
    if document is not None:
        attributes["retrieval.documents"] = [{"document.id": document}]
    span = {"context.trace_id": "t", "context.span_id": name, "parent_id": parent}
    return {**span, **{f"attributes.{each}": value for each, value in attributes.items()}}


@pytest.mark.parametrize("span", [langfuse, mlflow, openinference])
def test_a_chain_between_two_retrievers(tmp_path: Path, span: Any) -> None:
    spans = [
        span("root", None, "CHAIN", None),
        span("outer", "root", "RETRIEVER", "d1"),
        span("middle", "outer", "CHAIN", None),
        span("inner", "middle", "RETRIEVER", "d9"),
        span("later", "root", "RETRIEVER", "d2"),
    ]
    path = tmp_path / "s.jsonl"
    if span is mlflow:
        trace = {"info": {"trace_id": "t", "state": "OK"}, "data": {"spans": spans}}
        path.write_text(json.dumps(trace))
    else:
        path.write_text("\n".join(map(json.dumps, spans)))
    (given,) = format_named(span.__name__).predictions(Source(path, "s"))
    assert isinstance(given, Read)
    assert [each.doc_id for each in given.record.retrieved] == ["d1", "d2"]


@pytest.mark.parametrize(
    ("parents", "outer"),
    [
        ({"R1": None, "c1": "R1", "c2": "c1", "R2": "c2", "R3": "c1"}, ["R1"]),
        ({"R1": "c1", "c1": "c2", "c2": "c1", "R2": "elsewhere"}, ["R1", "R2"]),
        ({"R1": "R1", "R2": "c1", "c1": "R2"}, ["R1", "R2"]),
        ({"R1": "c1", "R2": "c1", "c1": "c2", "c2": "R3", "R3": None}, ["R3"]),
    ],
)
def test_ancestors_may_be_missing_or_form_a_circle(
    parents: dict[str, str | None], outer: list[str]
) -> None:
    found = outermost(
        list(parents), lambda each: (each, parents[each]), lambda each: each.startswith("R")
    )
    assert found == outer
