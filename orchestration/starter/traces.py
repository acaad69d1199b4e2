"""The harbour example as tools write it that log traces; see `tools`."""

from __future__ import annotations

import json
from typing import Any

from orchestration.starter.tools import DAY, TEXTS, Starter, as_json, by_system, cases, lines


def langfuse() -> Starter:
    """Traces of Langfuse, whose version names the system."""
    traces = []
    for each in cases():
        identity = f"{each.system}-{each.question['question_id']}"
        found = [
            {"id": name, "content": text}
            for name, text in zip(each.retrieved, each.contexts, strict=True)
        ]
        retriever = {"id": f"{identity}-r", "traceId": identity, "type": "RETRIEVER"}
        metadata = {
            "question_id": each.question["question_id"],
            "expected_answer": each.question["expected_answer"],
        }
        traces.append(
            {
                "id": identity,
                "timestamp": f"{DAY}:00.000Z",
                "name": each.system,
                "input": each.question["question"],
                "output": {"answer": each.text},
                "metadata": metadata,
                "observations": [{**retriever, "startTime": f"{DAY}:00.100Z", "output": found}],
            }
        )
    keys = "predictions: traces.jsonl                  # exported traces\n"
    return Starter({"traces.jsonl": lines(traces)}, keys + TEXTS)


def openinference() -> Starter:
    """Spans of Phoenix or OpenTelemetry, one file a system."""
    files = {}
    for system, answered in by_system():
        spans: list[dict[str, Any]] = []
        for each in answered:
            trace = f"{system}-{each.number}"
            times = {"start_time": f"{DAY}:00Z", "end_time": f"{DAY}:01Z"}
            status = "OK" if each.text is not None else "ERROR"
            shared = {"context.trace_id": trace, **times}
            found = [
                {"document.id": name, "document.content": text}
                for name, text in zip(each.retrieved, each.contexts, strict=True)
            ]
            metadata = {name: each.question[name] for name in ("question_id", "expected_answer")}
            root = {"context.span_id": f"{trace}-1", "parent_id": None, "name": "query"}
            child = {"context.span_id": f"{trace}-2", "parent_id": f"{trace}-1", "name": "retrieve"}
            spans += (
                {
                    **shared,
                    **root,
                    "span_kind": "CHAIN",
                    "status_code": status,
                    "attributes.input.value": each.question["question"],
                    "attributes.output.value": each.text,
                    "attributes.metadata": metadata,
                },
                {
                    **shared,
                    **child,
                    "span_kind": "RETRIEVER",
                    "status_code": "OK",
                    "attributes.retrieval.documents": found,
                },
            )
        files[f"{system}.jsonl"] = lines(spans)
    keys = 'predictions: "{system}.jsonl"              # spans, one a line\n'
    return Starter(files, keys + TEXTS)


def phoenix_experiment() -> Starter:
    """Experiments of Phoenix, one file a system."""
    files = {}
    for system, answered in by_system():
        runs = [
            {
                "example_id": each.question["question_id"],
                "repetition_number": 1,
                "input": {"question": each.question["question"]},
                "reference_output": {"answer": each.question["expected_answer"]},
                "output": each.text and {"answer": each.text, "contexts": each.contexts},
                "error": None if each.text is not None else "TimeoutError()",
                "annotations": [],
            }
            for each in answered
        ]
        files[f"{system}.json"] = as_json(runs)
    keys = 'predictions: "{system}.json"               # one experiment each\n'
    return Starter(files, keys + TEXTS)


def mlflow() -> Starter:
    """Traces of MLflow, one file a system."""
    files = {}
    for system, answered in by_system():
        traces = []
        for each in answered:
            expected = {
                "assessment_name": "expected_response",
                "expectation": {"value": each.question["expected_answer"]},
            }
            found = [
                {"page_content": text, "metadata": {"doc_uri": name}}
                for name, text in zip(each.retrieved, each.contexts, strict=True)
            ]
            asked = {"question": each.question["question"]}
            root = {
                "span_id": "a",
                "parent_span_id": None,
                "name": "answer",
                "attributes": _attributes("CHAIN", asked, each.text),
            }
            retriever = {
                "span_id": "b",
                "parent_span_id": "a",
                "name": "retrieve",
                "attributes": _attributes("RETRIEVER", None, found),
            }
            info = {
                "trace_id": f"tr-{system}-{each.number}",
                "state": "OK" if each.text is not None else "ERROR",
                "tags": {"question_id": each.question["question_id"]},
                "assessments": [expected],
            }
            traces.append({"info": info, "data": {"spans": [root, retriever]}})
        files[f"{system}.jsonl"] = lines(traces)
    keys = 'predictions: "{system}.jsonl"              # traces, one a line\n'
    return Starter(files, keys + TEXTS)


def _attributes(kind: str, inputs: object, outputs: object) -> dict[str, str]:
    """Return the attributes of a span of MLflow, each of them JSON."""
    given = {"spanType": kind, "spanInputs": inputs, "spanOutputs": outputs}
    return {
        f"mlflow.{name}": json.dumps(value, ensure_ascii=False)
        for name, value in given.items()
        if value is not None
    }
