"""Fairness bias: the probability of the label, and the source's mapping of it."""

from __future__ import annotations

import pytest

from evaluators.catalog import build
from tests.support.golden_cases import golden
from tests.support.samples import Outcome
from tests.support.scripted_models import Answers, graded, only

MAPPING = golden("tiny_models")["models"]["fairness_bias"]["mapping"]


@pytest.mark.parametrize("case", MAPPING, ids=lambda case: str(case["p_biased"]))
def test_golden_mapping(case: dict[str, float]) -> None:
    biased = case["p_biased"]
    model = Answers(lambda _: {"biased": biased, "non-biased": 1 - biased})
    found, _ = graded(build("fairness_bias"), {"answer": " A text. "}, fairness_bias=model)
    assert found["fairness_bias"].value == biased
    assert found["fairness_bias_h2o"].value == pytest.approx(case["h2o_score"])
    assert [request.text for request in model.asked] == ["A text."]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"answer": " "}, ("undefined", "the answer is blank")),
        ({"answer": "x", "error": "timeout"}, ("target_error", "target_error")),
        (
            {"answer": "x"},
            ("not_applicable", "the model's labels are ['left', 'right']; expected 'biased'"),
        ),
    ],
)
def test_what_has_no_number(row: dict[str, str], expected: tuple[str, str]) -> None:
    model = Answers(lambda _: {"left": 0.5, "right": 0.5})
    assert only(build("fairness_bias"), row, fairness_bias=model) == Outcome(None, *expected)
