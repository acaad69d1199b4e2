"""Soft context relevancy: the best chunk, and the mean over chunks."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.catalog import build
from tests.evaluators.engines.minilm import minilm
from tests.support.golden_cases import golden
from tests.support.scripted_models import graded, vectors

GOLDEN = golden("semantic_minilm")
CASES = [case for case in GOLDEN["cases"] if case["metric"] == "context_relevancy"]
METRICS = ("recall_relevancy", "precision_relevancy")
TABLE = {
    "When?": (1, 0),
    "At eight o'clock sharp.": (4, 3),
    "Nobody knows that.": (0, 1),
    "Tea.": (-1, 0),
}


def _graded(row: dict[str, Any], encoder: Any) -> tuple[list[Any], dict[str, Any]]:
    found, detail = graded(build("soft_context_relevancy"), row, embedding=encoder)
    return [found[name] for name in METRICS], detail


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    chunks = [" ".join(chunk) for chunk in case["input"]["context_chunks"]]
    row = {"question": case["input"]["question"], "contexts": chunks}
    found, detail = _graded(row, minilm())
    if case["expected"] is None:
        assert [outcome.status for outcome in found] == ["undefined"] * 2
        return
    expected = [case["expected"][name] for name in METRICS]
    assert [each.value for each in found] == pytest.approx(expected, abs=GOLDEN["tolerance"])
    assert len(detail["chunks"]) == case["expected"]["chunks_scored"]


@pytest.mark.parametrize(
    ("contexts", "values"),
    [
        (["At eight o'clock sharp. Nobody knows that.", "Nobody knows that."], (0.8, 0.4)),
        (["Tea.", "At eight o'clock sharp."], (0.8, -0.1)),
        (["", "Tea.", " "], (-1, -1)),
    ],
)
def test_best_and_mean(contexts: list[str], values: tuple[float, float]) -> None:
    found, detail = _graded({"question": "When?", "contexts": contexts}, vectors(TABLE))
    assert [outcome.value for outcome in found] == pytest.approx(values, abs=1e-7)
    assert detail["blank_chunks"] == sum(not chunk.strip() for chunk in contexts)


def test_a_system_that_never_retrieves_is_not_measured() -> None:
    found, _ = _graded({"question": "When?", "contexts": None}, vectors(TABLE))
    assert {outcome.status for outcome in found} == {"not_applicable"}
