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
    "lm-eval": (None, _LOG),
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
    assert FILES.keys() == formats().keys() - {"trec"}


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
