"""Write the files of Langfuse's tests with the classes of its SDK: a server is not needed.

Usage: python langfuse_files.py FOLDER, once with langfuse 5.0.4 and once with langfuse 3.15.0.
"""

# ruff: noqa: A002, C420
from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

CROWS = "What is a group of crows called?"
TIME = "2026-01-31T12:00:00.000Z"


def side(value: Any) -> str:
    """Return an input or output as the second version of the interface has it."""
    return json.dumps(value)


def observations() -> str:
    """A page of `/api/public/v2/observations`: inputs and outputs are raw JSON strings."""
    from langfuse.api.core.pydantic_utilities import parse_obj_as
    from langfuse.api.observations.types import ObservationsV2Response

    def one(name: str, input: str, output: str, kind: str = "SPAN", **more: Any) -> dict[str, Any]:
        return {
            "id": f"o-{name}",
            "traceId": more.pop("trace", f"t-{name}"),
            "startTime": TIME,
            "endTime": "2026-01-31T12:00:01.500Z",
            "projectId": "p",
            "type": kind,
            "name": "rag",
            "level": "DEFAULT",
            "version": "north",
            "environment": "default",
            "metadata": {"question_id": name},
            "input": input,
            "output": output,
            "traceName": "rag",
            **more,
        }

    data = [
        one("object", side({"kwargs": {"question": CROWS}}), side({"answer": "A murder."})),
        one("text", side(CROWS), side("A murder.")),
        one("plain", CROWS, "A murder."),
        one("number", side("How many are 6 x 7?"), side("42")),
        one("bare-number", "How many are 3 / 2?", "1.50"),
        one("list", side("Which list has one a?"), side('["a"]')),
        one("quoted", side('Say "yes".'), side('"quoted"')),
        one("messages", side([{"role": "user", "content": '{"a": 1}'}]), side("{}")),
        one(
            "docs",
            side("crows"),
            side([{"page_content": '["x"]', "id": "d1"}]),
            "RETRIEVER",
            trace="t-text",
            parentObservationId="o-text",
        ),
    ]
    page = parse_obj_as(ObservationsV2Response, {"data": data, "meta": {"cursor": None}})
    return page.json()


def details() -> str:
    """A trace with all details, and with scores of each type."""
    from langfuse.api.resources.commons.types import TraceWithFullDetails

    def score(name: str, kind: str, value: float, **more: Any) -> dict[str, Any]:
        given = {"id": f"s-{name}-{value}", "traceId": "t1", "name": name, "source": "API"}
        times = {each: TIME for each in ("timestamp", "createdAt", "updatedAt")}
        return {**given, **times, "dataType": kind, "value": value, "environment": "x", **more}

    def observation(name: str, kind: str, input: Any, output: Any, **more: Any) -> dict[str, Any]:
        return {
            "id": name,
            "traceId": "t1",
            "type": kind,
            "name": name,
            "startTime": TIME,
            "endTime": "2026-01-31T12:00:01.500Z",
            "modelParameters": {},
            "input": input,
            "metadata": {},
            "output": output,
            "usage": {"input": 4, "output": 4, "total": 8, "unit": "TOKENS"},
            "level": "DEFAULT",
            "usageDetails": {},
            "costDetails": {},
            "environment": "default",
            **more,
        }

    trace = {
        "id": "t1",
        "timestamp": TIME,
        "name": "rag",
        "input": '["Is this a list?"]',
        "output": '"quoted"',
        "version": "north",
        "metadata": {"question_id": "q1", "expected_answer": '["yes"]'},
        "tags": [],
        "public": False,
        "environment": "default",
        "htmlPath": "/project/p/traces/t1",
        "latency": 1.5,
        "totalCost": 0.002,
        "observations": [
            observation("root", "SPAN", "a", "b"),
            observation("find", "RETRIEVER", "a", '["a text"]', parentObservationId="root"),
        ],
        "scores": [
            score("correct", "BOOLEAN", 1, stringValue="True"),
            score("faithful", "NUMERIC", 0.75),
            score("faithful", "NUMERIC", 0.25),
            score("tone", "CATEGORICAL", 2, stringValue="friendly"),
            score("faithful", "NUMERIC", 0.125, observationId="root"),
            score("recall", "NUMERIC", 0.5, observationId="find"),
            score("recall", "NUMERIC", 1, observationId="root"),
        ],
    }
    return TraceWithFullDetails.parse_obj(trace).json()


def main(folder: Path) -> None:
    """Write the file of the SDK that is installed."""
    if version("langfuse").startswith("3."):
        (folder / "trace_with_scores.json").write_text(json.dumps(json.loads(details()), indent=1))
    else:
        page = json.dumps(json.loads(observations()), indent=1)
        (folder / "raw_observations.json").write_text(page)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
