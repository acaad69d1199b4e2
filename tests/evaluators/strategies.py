"""Random frames of samples, of every type that a sample column has."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import polars as pl
from hypothesis import strategies as st

from evaluators import catalog
from evaluators.kinds.composite import CompositeEvaluator
from evaluators.outcome import Status
from evaluators.sample import SAMPLE_COLUMNS
from tests.support.samples import samples

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

MOST_ROWS = 6
TEXTS = [
    "",
    " ",
    "yes",
    "No.",
    "**YES**",
    "The cat sat on the mat.",
    "the CAT sat, on the log!",
    "Paris is the capital of France. Paris is large.",
    "東京は大きい",
    "L'été à Paris",
    "e\u0301te\u0301",
    "— … !!!",
    '"quoted" \\ and\nbroken\tup\x00',
    "\U0001f600 \u202e \u2028",
    "İstanbul STRASSE Straße",
]
NAMES = ["a", "b", "c", "S1", "S2", "S10", "s1", "S01", "東", "e\u0301", "é", "", " a"]

_text = st.one_of(st.sampled_from(TEXTS), st.text(max_size=8))
_name = st.sampled_from(NAMES)
_number = st.floats(0, 1)
_JSON = {
    "rubric": [
        json.dumps({"description": "Right?", "scale": {"1": "no", "5": "yes"}}),
        json.dumps({"scale": {}}),
    ],
    "constraints": [
        json.dumps(["yes", "REGEXP .*"]),
        json.dumps([["a", "b"]]),
        json.dumps([]),
    ],
    "reported": [
        json.dumps({"reported": True, "score": 0.5}),
        json.dumps({"reported": 0.25}),
        json.dumps({"reported": -7, "\u6771": False}),
        json.dumps({"score": 1}),
        json.dumps({}),
    ],
    "extra": [
        json.dumps({"note": "東"}),
        json.dumps({"bounded_choices": ["B", "C"]}),
        json.dumps({"bounded_choices": 3, "choice_logprobs_by_order": [[-1], [0.5, "x"], None]}),
        json.dumps({"choice_logprobs_by_order": [[-0.1, None, -3], [-2.0, -0.2, 0.0005]]}),
        json.dumps({"choice_logprobs_by_order": [[-0.1] * 4]}),
    ],
}
_COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "correct_choice": st.integers(0, 3),
    "noise_ratio": _number,
    "latency_s": st.floats(0, 1e6),
    "cost_usd": st.floats(0, 1e3),
    "choice_logprobs": st.lists(st.none() | st.floats(-50, 0) | st.just(-math.inf), max_size=4),
    "scenario": st.sampled_from(
        [
            "noise_robustness",
            "negative_rejection",
            "information_integration",
            "counterfactual_robustness",
        ]
    ),
    "label": st.sampled_from(["yes", "no", "Yes.", "", "maybe", "東"]) | _text,
    "expected_label": st.sampled_from(["yes", "no", "Yes.", "", "東"]) | _text,
    **{name: st.sampled_from(values) for name, values in _JSON.items()},
}
_ELEMENTS: dict[Any, st.SearchStrategy[Any]] = {
    pl.String: st.one_of(st.none(), _name, _name, _text),
    pl.List(pl.String): st.lists(_name | _text, max_size=3),
    pl.Struct({"doc_id": pl.String, "grade": pl.Int32}): st.fixed_dictionaries(
        {"doc_id": st.none() | _name, "grade": st.integers(-2, 3)}
    ),
    pl.Struct({"system": pl.String, "answer": pl.String}): st.fixed_dictionaries(
        {"system": _name, "answer": st.none() | _text}
    ),
    pl.Struct({"sentence_id": pl.String, "text": pl.String}): st.fixed_dictionaries(
        {"sentence_id": _name, "text": st.none() | _text}
    ),
}


def column(name: str) -> st.SearchStrategy[Any]:
    """Values of a sample column: mostly there, sometimes null, often repeated."""
    kind = SAMPLE_COLUMNS[name]
    if name in _COLUMNS:
        values = _COLUMNS[name]
    elif isinstance(kind, pl.List):
        values = st.lists(_ELEMENTS[kind.inner], max_size=6)
    else:
        assert kind == pl.String, f"say what values of {name!r} look like"
        values = _text
    return st.one_of(values, values, values, st.none())


def _part(name: str) -> st.SearchStrategy[dict[str, Any]]:
    """The two columns of a part of a composite: a number, or the status that says why not."""
    evaluator, _, wanted = name.partition(".")
    metrics = catalog.build(evaluator).sample_metrics
    (low, high) = next(metric.bounds for metric in metrics if metric.name == wanted)
    number = st.floats(max(low, -1e6), min(high, 1e6))
    why = st.sampled_from([status.value for status in Status if status is not Status.SCORED])
    return st.one_of(
        number.map(lambda value: {name: value, f"status:{name}": None}),
        why.map(lambda status: {name: None, f"status:{name}": status}),
    )


@st.composite
def frames(draw: st.DrawFn, evaluator: Evaluator) -> pl.DataFrame:
    """A frame of what an evaluator reads; some answers failed, some rows repeat others."""
    given = sorted(evaluator.columns & set(SAMPLE_COLUMNS))
    parts = evaluator.parts if isinstance(evaluator, CompositeEvaluator) else ()
    row = st.fixed_dictionaries(
        {name: column(name) for name in given}
        | {
            "system": st.sampled_from(["s", "t"]),
            "error": st.sampled_from([None, None, None, "timeout", ""]),
        }
    )
    rows = []
    for content in draw(st.lists(row, max_size=MOST_ROWS)):
        scores = [draw(_part(part)) for part in parts]
        rows.append({name: value for some in (content, *scores) for name, value in some.items()})
    repeated = draw(st.booleans())
    if rows and repeated:
        rows.append(rows[0] | {"question_id": "again"})
    types = {name: kind for part in parts for name, kind in _types(part)}
    return samples(rows, given, **types)


def _types(part: str) -> list[tuple[str, type[pl.DataType]]]:
    return [(part, pl.Float64), (f"status:{part}", pl.String)]
