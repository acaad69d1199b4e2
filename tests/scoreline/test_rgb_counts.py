"""The counts of RGB evaluations, by the query of the page on migration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import scoreline
from tests.support.services import takes_minutes

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"

REJECTIONS = [
    "I cannot answer this question because the documents don't contain relevant information.",
    "Based on the provided documents, I cannot determine the answer.",
    "The documents do not mention this topic, so I cannot provide an answer.",
    "The answer is probably 42 but I'm not sure.",
    "Based on the information, the answer is London.",
]
COUNTERFACTUAL = [
    "The documents state London, but that is incorrect. The actual capital is Paris.",
    "According to the documents, the capital is London.",
    "The documents are wrong - the capital is Tokyo.",
]
NOISE = [(0.2, "It is Paris."), (0.2, "Rome."), (0.4, "Paris"), (0.4, "I guess Paris.")]


def rows() -> list[tuple[dict[str, Any], str]]:
    """Questions with their answers: the examples of the source, and four at two noise levels."""
    paris = {"question": "What is the capital of France?", "expected_answer": "Paris"}
    asked = [({"scenario": "negative_rejection"}, each) for each in REJECTIONS]
    planted = {"scenario": "counterfactual_robustness", "counterfactual_answer": "London"}
    asked += [({**planted, **paris}, each) for each in COUNTERFACTUAL]
    asked += [
        ({"scenario": "noise_robustness", "noise_ratio": ratio, **paris}, answer)
        for ratio, answer in NOISE
    ]
    return [({"question_id": f"q{at}", **row}, answer) for at, (row, answer) in enumerate(asked)]


@pytest.fixture(scope="module")
def counts() -> list[tuple[Any, ...]]:
    query = re.search(
        r'scoreline sql "(select s\.system, s\.evaluator as task.*)"',
        PAGE.read_text(encoding="utf-8"),
    )
    assert query is not None
    given = rows()
    answers = [{"question_id": row["question_id"], "answer": answer} for row, answer in given]
    answers[-1] = {"question_id": answers[-1]["question_id"], "error": "timed out"}
    results = scoreline.evaluate([row for row, _ in given], {"a": answers}, ["rgb"])
    return results.sql(query[1]).rows()


@takes_minutes
def test_counts_are_those_of_the_source(counts: list[tuple[Any, ...]]) -> None:
    """The columns: system, task, noise; samples, correct, incorrect, rejected, errors."""
    assert counts == [
        ("a", "counterfactual_robustness", None, 3, 1, 2, None, 2, 1),
        ("a", "negative_rejection", None, 5, None, 1, 4, None, None),
        ("a", "noise_robustness", 0.2, 2, 1, 1, None, None, None),
        # The failed answer is an incorrect one.
        ("a", "noise_robustness", 0.4, 2, 1, 1, None, None, None),
    ]
