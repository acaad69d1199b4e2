"""The parameters under which the properties of the catalogue are looked at."""

from __future__ import annotations

from typing import Any

from evaluators import catalog
from evaluators.kinds.flow import FlowEvaluator

_VARIANTS: dict[str, list[dict[str, Any]]] = {
    "document_retrieval": [{"cutoffs": [3, 1, 20], "ndcg_cutoffs": [1, 5, 10]}],
    "classification": [
        {"normalize": True},
        {"labels": ["yes", "no"], "positive_label": "yes"},
        {"normalize": True, "labels": ["No!", "YES", "maybe"]},
        {"positive_label": "yes"},
    ],
    "answer_relevancy": [{"mode": "independent"}],
    "answer_semantic_similarity": [{"by": "similarity"}],
    "byop": [{"mode": "raw", "prompt_template": "{CONTEXT} {EXPECTED_OUTPUT}"}],
    "context_precision": [{"utilization": "always", "top_n": 2}],
    "reported": [
        {"pass_fail": True},
        {"name": "score", "bounds": [-10, 10], "best": "low"},
        {"bounds": [0, None]},
    ],
    "summarization_judge": [{"compare_with": "source"}],
}


def variants(name: str) -> list[dict[str, Any]]:
    """The defaults of an evaluator, and what else is worth a look.

    Where engines are asked, that is also every switch turned the other way.
    """
    evaluator = catalog.build(name)
    listed = [{}, *_VARIANTS.get(name, [])]
    if not isinstance(evaluator, FlowEvaluator):
        return listed
    given = evaluator.parameters.items()
    switched = {parameter: not value for parameter, value in given if isinstance(value, bool)}
    return [*listed, switched] if switched else listed
