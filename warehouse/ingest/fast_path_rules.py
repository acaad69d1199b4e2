"""What canonical JSON Lines hold when nothing about them is unusual: types and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TEXT: Final = frozenset({"VARCHAR"})
WHOLE: Final = frozenset({"UBIGINT", "BIGINT"})
NAME: Final = TEXT | {"UBIGINT"}
NUMBER: Final = WHOLE | {"DOUBLE"}
LIST: Final = frozenset({"ARRAY"})
OBJECT: Final = frozenset({"OBJECT"})


@dataclass(frozen=True, slots=True)
class Field:
    """What a field may hold in the swift lane.

    Attributes:
        types: The types, as DuckDB names those of JSON values; null is always possible.
        parts: Paths below the field, with the types that may stand there.
    """

    types: frozenset[str]
    parts: Mapping[str, frozenset[str]] = field(default_factory=dict)


_TEXT: Final = Field(TEXT)
_NAME: Final = Field(NAME)
_NUMBER: Final = Field(NUMBER)
_NAMES: Final = Field(LIST, {"[*]": NAME})

QUESTIONS: Final[Mapping[str, Field]] = {
    "question_id": _NAME,
    "question": _TEXT,
    "expected_answer": Field(TEXT | LIST, {"[*]": TEXT}),
    "expected_parts": Field(LIST, {"[*]": LIST, "[*][*]": TEXT}),
    "expected_label": _NAME,
    "doc_id": _NAME,
    "gold_doc_ids": _NAMES,
    "gold_relevance": Field(OBJECT, {".*": WHOLE}),
    "gold_sentence_ids": _NAMES,
    "rubric": Field(OBJECT, {".description": TEXT, ".scale": OBJECT, ".scale.*": TEXT}),
    "constraints": Field(LIST),
    "choices": _NAMES,
    "correct_choice": Field(NAME),
    "scenario": _TEXT,
    "noise_ratio": _NUMBER,
    "counterfactual_answer": _TEXT,
    "perturbs": _NAME,
    "perturbation": _TEXT,
    "cluster": _NAME,
    "tags": Field(OBJECT, {".*": NUMBER | TEXT | {"BOOLEAN", "NULL"}}),
}
PREDICTIONS: Final[Mapping[str, Field]] = {
    "question_id": _NAME,
    "system": _TEXT,
    "answer": _TEXT,
    "contexts": Field(LIST, {"[*]": TEXT}),
    "retrieved": Field(LIST),
    "cited_sentence_ids": _NAMES,
    "choice_logprobs": Field(LIST, {"[*]": NUMBER | {"NULL"}}),
    "choice_probs": Field(LIST, {"[*]": NUMBER | {"NULL"}}),
    "label": _NAME,
    "latency_s": _NUMBER,
    "cost_usd": _NUMBER,
    "error": _TEXT,
}

NOT_FINITE: Final = r"[:\[,]\s*-?(?:(?i:nan|inf|infinity)|[0-9][0-9.]*[eE]\+?[0-9]{3,}|[0-9]{300,})"

_SCENARIOS: Final = (
    "'noise_robustness', 'negative_rejection', 'information_integration', "
    "'counterfactual_robustness'"
)
QUESTION_RULES: Final[Mapping[str, Sequence[str]]] = {
    "question_id <> ''": ["question_id"],
    "doc_id <> ''": ["doc_id"],
    "perturbs <> ''": ["perturbs"],
    "\"cluster\" <> ''": ["cluster"],
    "NOT list_contains(gold_doc_ids, '')": ["gold_doc_ids"],
    "NOT list_contains(gold_sentence_ids, '')": ["gold_sentence_ids"],
    "noise_ratio BETWEEN 0 AND 1": ["noise_ratio"],
    "correct_choice >= 0": ["correct_choice"],
    "correct_choice < len(choices)": ["correct_choice", "choices"],
    f"scenario IN ({_SCENARIOS})": ["scenario"],
    **{
        f"NOT regexp_matches({name}::VARCHAR, '{NOT_FINITE}')": [name]
        for name in ("rubric", "constraints", "extra")
    },
    f"NOT regexp_matches(array_to_string(map_values(tags), ','), '{NOT_FINITE}')": ["tags"],
}
"""What is true of each row of questions, or unknown, with the columns that it is about."""

PREDICTION_RULES: Final[Mapping[str, Sequence[str]]] = {
    "question_id <> ''": ["question_id"],
    "NOT list_contains(retrieved_doc_ids, '')": ["retrieved_doc_ids"],
    "NOT list_contains(retrieved_chunk_ids, '')": ["retrieved_chunk_ids"],
    "NOT list_contains(cited_sentence_ids, '')": ["cited_sentence_ids"],
    "isfinite(list_sum(retrieved_scores))": ["retrieved_scores"],
    "latency_s >= 0 AND isfinite(latency_s)": ["latency_s"],
    "cost_usd >= 0 AND isfinite(cost_usd)": ["cost_usd"],
    "list_max(choice_logprobs) <= 0 AND isfinite(list_sum(choice_logprobs))": ["choice_logprobs"],
    "list_count(retrieved_doc_ids) IN (0, len(retrieved_doc_ids))": ["retrieved_doc_ids"],
    "list_count(contexts) IN (0, len(contexts))": ["contexts"],
    f"NOT regexp_matches(extra::VARCHAR, '{NOT_FINITE}')": ["extra"],
}
"""What is true of each row of predictions, or unknown, with the columns that it is about."""
