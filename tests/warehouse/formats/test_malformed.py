"""Whatever a file holds, reading it gives records and rejects, or says what is wrong with it."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse.errors import InputError
from warehouse.formats.catalog import format_named, formats
from warehouse.formats.format import Read, Reject, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

_RETRIEVED = {"doc_id": "d", "chunk_id": "c", "rank": 1, "score": 0.5, "text": "t"}
_SUITE = {
    "tests": [
        {
            "key": "t",
            "documents": ["d"],
            "test_cases": [
                {
                    "key": "k",
                    "prompt": "?",
                    "categories": ["perturbed_by:typo", "other"],
                    "constraints": [["a"]],
                    "relationships": [{"type": "perturbation_source", "target": "k0"}],
                }
            ],
        }
    ]
}
_LAB = {
    "models": [{"key": "m", "name": "n", "llm_model_name": "l"}],
    "dataset": {
        "inputs": [
            {
                "test_case_key": "k",
                "input": "?",
                "actual_output": "a",
                "actual_duration": 1.5,
                "cost": 0.1,
                "context": ["c"],
                "model_key": "m",
                "corpus": [],
            }
        ]
    },
}
_LOG = {
    "doc_id": 0,
    "doc": {"question": "?"},
    "target": "1",
    "arguments": {"a": {"x": "p", "y": "c"}, "b": ["p", "d"]},
    "resps": [[["-1.0", "True"]], [[-2, False]]],
    "filtered_resps": [["-1.0", "True"], [-2, False]],
    "filter": "none",
    "acc": 1.0,
}
_CASE = {
    "input": "?",
    "actual_output": "a",
    "expected_output": "b",
    "retrieval_context": ["c", {"source": "d", "context": "e"}],
    "context": ["f"],
    "name": "n",
    "token_cost": 0.5,
    "additional_metadata": {"lang": "en"},
}
_RESULT = {
    "promptIdx": 0,
    "provider": {"id": "p", "label": "l"},
    "prompt": {"raw": "r", "label": "l"},
    "vars": {"question": "?", "context": ["c"]},
    "response": {"output": "a", "cost": 0.1, "cached": False, "error": None},
    "testCase": {"assert": [{"type": "equals", "value": "b"}], "metadata": {"lang": "en"}},
    "latencyMs": 10,
    "failureReason": 0,
}
_SPANS = [
    {
        "context.trace_id": "t",
        "context": {"span_id": "a"},
        "start_time": "2025-01-31T12:00:00Z",
        "end_time": 1738324801,
        "status": {"status_code": "OK"},
        "attributes": {"input": {"value": [{"role": "user", "content": "?"}]}, "metadata": "{}"},
        "attributes.output.value": {"choices": [{"message": {"content": "a"}}]},
    },
    {
        "context.trace_id": "t",
        "context.span_id": "b",
        "parent_id": "a",
        "span_kind": "RETRIEVER",
        "attributes.retrieval.documents": [{"document.id": "d", "document": {"content": "c"}}],
        "attributes.llm.cost.total": 0.5,
        "attributes.metadata.lang": "en",
        "eval.x.score": 0.5,
        "annotations": [{"name": "y", "result": {"score": True, "label": "l"}}],
    },
    {
        "resourceSpans": [
            {
                "resource": {"attributes": [{"key": "service.name", "value": {"intValue": "1"}}]},
                "scopeSpans": [
                    {
                        "spans": [
                            {
                                "traceId": "t",
                                "spanId": "c",
                                "parentSpanId": "b",
                                "startTimeUnixNano": "1738324800000000000",
                                "attributes": [{"key": "a", "value": {"arrayValue": {}}}],
                            }
                        ]
                    }
                ],
            }
        ]
    },
]
_RUN = {
    "example_id": "e",
    "repetition_number": 1,
    "input": {"question": "?"},
    "reference_output": {"answer": ["b"]},
    "output": {"answer": "a", "contexts": ["c", {"id": "d", "document": {"content": "e"}}]},
    "metadata": {"lang": "en"},
    "error": None,
    "latency_ms": 1.5,
    "start_time": "2025-01-31T12:00:00Z",
    "prompt_token_count": 3,
    "annotations": [{"name": "x", "score": 1, "label": "l", "explanation": "why"}],
    "annotation_y_score": 0.5,
}
_INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {
        "created": "2025-01-31T12:00:00+00:00",
        "task": "t",
        "dataset": {},
        "model": "m",
        "config": {"epochs": 1},
    },
    "samples": [
        {
            "id": 1,
            "epoch": 1,
            "input": [{"role": "user", "content": "?"}],
            "target": "A",
            "choices": ["a", "b"],
            "metadata": {"lang": "en"},
            "output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
            "scores": {"s": {"value": 1.0}},
            "model_usage": {"m": {"total_tokens": 3, "total_cost": 0.5}},
            "working_time": 1.5,
        }
    ],
}
_TRACES = [
    {
        "id": "t",
        "version": "1",
        "input": {"messages": [{"role": "user", "content": "?"}]},
        "output": {"choices": [{"message": {"role": "assistant", "content": "a"}}]},
        "metadata": {"question_id": "q", "expected_answer": "b"},
        "latency": 1.5,
        "totalCost": "0.5",
        "observations": [
            {
                "id": "o",
                "type": "RETRIEVER",
                "startTime": "2025-01-31T12:00:00Z",
                "parentObservationId": "p",
                "level": "ERROR",
                "output": {"documents": [{"id": "d", "document": {"text": "c"}, "score": 1}]},
            }
        ],
        "scores": [
            {"name": "s", "value": 1},
            {"name": "t", "value": 1, "dataType": "BOOLEAN", "observationId": "o"},
            {"name": "u", "value": 1, "dataType": "CATEGORICAL", "stringValue": "v"},
        ],
    },
    {
        "id": "o",
        "trace_id": "u",
        "type": "CHAIN",
        "start_time": "2025-01-31T12:00:00Z",
        "end_time": "2025-01-31T12:00:01Z",
        "input": "?",
        "output": "a",
        "total_cost": 0.5,
    },
]
_TRACE: dict[str, Any] = {
    "info": {
        "trace_id": "t",
        "state": "OK",
        "request_time": "2026-01-31T09:30:00Z",
        "execution_duration_ms": 10,
        "trace_metadata": {"mlflow.trace.tokenUsage": '{"input_tokens": 1}', "system": "s"},
        "tags": {"question_id": "q"},
        "assessments": [
            {"assessment_name": "expected_facts", "expectation": {"value": ["a"]}},
            {"assessment_name": "right", "feedback": {"value": True}, "source": {}},
        ],
    },
    "data": {
        "spans": [
            {
                "span_id": "a",
                "parent_span_id": None,
                "status": {"code": "STATUS_CODE_OK"},
                "attributes": {
                    "mlflow.spanInputs": {"messages": [{"role": "user", "content": "?"}]},
                    "mlflow.spanOutputs": {"answer": "a"},
                },
            },
            {
                "span_id": "b",
                "parent_span_id": "a",
                "attributes": {
                    "mlflow.spanType": "RETRIEVER",
                    "mlflow.spanOutputs": [{"page_content": "c", "metadata": {"doc_uri": "d"}}],
                },
            },
        ]
    },
}

FILES: dict[str, tuple[Any, Any]] = {
    "canonical": (
        {
            "question_id": "q",
            "expected_answer": ["a"],
            "gold_relevance": {"d": 1},
            "rubric": {"description": "r", "scale": {"1": "bad"}},
            "choices": ["a", "b"],
            "correct_choice": "A",
            "tags": {"t": 1},
        },
        {
            "question_id": "q",
            "retrieved": [_RETRIEVED],
            "choice_logprobs": [-1.0, None],
            "latency_s": 1,
        },
    ),
    "deepeval": (None, [_CASE]),
    "document-grounded-qa": (
        {
            "question_id": "q",
            "question_type": "A",
            "answer": "a",
            "evidence_sentences": ["S1"],
            "tags": {"t": 1},
            "doc_id": "d",
        },
        {
            "q": {
                "question": "?",
                "answer": "a",
                "evidence_sentences": ["S1"],
                "retrieved_docs": ["d", _RETRIEVED],
            }
        },
    ),
    "eval-studio": (_SUITE, _LAB),
    "inspect": (None, _INSPECT),
    "langfuse": (None, _TRACES),
    "lm-eval": (None, _LOG),
    "mlflow": (None, _TRACE),
    "openinference": (None, _SPANS),
    "phoenix-experiment": (None, [_RUN]),
    "promptfoo": (None, {"results": {"results": [_RESULT]}}),
    "ragas": (
        None,
        {
            "user_input": "?",
            "response": "a",
            "retrieved_contexts": "['c']",
            "retrieved_context_ids": ["d"],
            "reference": "r",
            "rubrics": {"score1_description": "bad"},
            "tags": {"t": 1},
        },
    ),
    "rgb": (
        {"id": 1, "query": "?", "answer": [["a"], "b"], "fakeanswer": ["f"], "positive": ["p"]},
        {"id": 1, "query": "?", "noise_rate": 0.2, "docs": ["d"], "response": "a", "model": "m"},
    ),
    "trace": (
        None,
        {
            "id": "r",
            "question": "?",
            "documents_sentences": [[["0a", "s"]]],
            "response": "a",
            "all_relevant_sentence_keys": ["0a"],
            "all_utilized_sentence_keys": ["0a"],
            "documents": ["d"],
        },
    ),
}
"""A sound file of questions and one of predictions in each format; null: it has none."""

_scalar = st.sampled_from(
    [None, True, 0, -1, 7, 10**400, 0.5, -1e308, "", " ", "a", "[", "['a'", "A", "9" * 5000, "\0"]
)
_JSON = st.recursive(
    _scalar,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("a"), inner, max_size=1),
    max_leaves=4,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all that a value holds, itself included."""
    yield path
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))


def put(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """A copy with something else at a place."""
    if not path:
        return other
    changed = copy.deepcopy(value)
    at = changed
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = other
    return changed


def test_every_format_of_json_is_here() -> None:
    assert FILES.keys() == formats().keys() - {"trec", "beir", "huggingface"}


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_something_else_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject
) -> None:
    chosen = format_named(name)
    asked, answered = FILES[name]
    # Where there are no files of questions, these are read from the same.
    sound_questions = (chosen.questions, answered if asked is None else asked)
    reader, sound = data.draw(st.sampled_from([sound_questions, (chosen.predictions, answered)]))
    path = data.draw(st.sampled_from(list(places(sound))))
    file = tmp_path_factory.mktemp("files") / "file.json"
    file.write_text(json.dumps(put(sound, path, data.draw(_JSON))), encoding="utf-8")
    try:
        found = list(reader(Source(file, "s")))
    except InputError as error:
        assert error.problems  # noqa: PT017 - or none is raised
        return
    assert all(isinstance(each, Read | Reject) for each in found)
