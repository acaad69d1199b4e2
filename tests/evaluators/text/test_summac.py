"""SummaC's aggregations and the geometry of completeness, against worked cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.outcome import Undefined
from evaluators.text import summac
from evaluators.text.coverage import completeness, reach, reach_ratio
from tests.support.golden_cases import golden

GOLDEN = golden("summac")
TOLERANCE = GOLDEN["tolerance"]
MADE_UP = [
    *(math.sin(i + 1) for i in range(23)),
    0.1,
    *(0.3, -0.2, 0.1, -0.4, 0.5, 0.6),
    *(0.05, -0.05),
]
"""The weights that the golden file describes."""


def test_the_bins_are_the_published_ones() -> None:
    assert list(summac.EDGES) == GOLDEN["bins"]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["id"])
def test_golden_aggregations(case: dict[str, Any]) -> None:
    entailment = np.array(case["input"]["entailment"])
    contradiction = np.array(case["input"]["contradiction"])
    expected = case["expected"]
    found = (
        summac.zero_shot(entailment),
        summac.zero_shot_published(entailment, contradiction),
        summac.convolution(entailment, MADE_UP),
    )
    names = ("zs_entailment_only", "zs_official", "conv_made_up_weights")
    assert found == pytest.approx([expected[name] for name in names], abs=TOLERANCE)


@pytest.mark.parametrize(("sign", "share"), [(-1.0, 0.0), (1.0, 1.0)])
def test_weights_of_any_size_give_a_share(sign: float, share: float) -> None:
    weights = [*[1e3] * 24, *[-sign * 1e3] * 3, *[sign * 1e3] * 3, 0.0, 0.0]
    assert summac.convolution(np.array([[0.5]]), weights) == share


@pytest.mark.parametrize("case", GOLDEN["completeness_cases"], ids=lambda case: case["note"])
def test_golden_geometry(case: dict[str, Any]) -> None:
    source = np.array(case["input"]["reference_points"], dtype=float)
    summary = np.array(case["input"]["summary_points"], dtype=float)
    expected = case["expected"]
    assert reach(source) == pytest.approx(expected["reference_length"])
    if expected["completeness"] is None:
        with pytest.raises(Undefined):
            reach_ratio(source, summary)
    else:
        assert reach_ratio(source, summary) == pytest.approx(expected["completeness"])


@given(st.integers(2, 12), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_a_turned_space_changes_nothing(sentences: int, others: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    source, summary = draw.normal(size=(sentences, 8)), draw.normal(size=(others, 8))
    turn, _ = np.linalg.qr(draw.normal(size=(8, 8)))
    value = completeness(list(source), list(summary))
    assert 0 <= value <= 1
    assert completeness(list(source @ turn), list(summary @ turn)) == pytest.approx(value, abs=1e-6)
    assert completeness(list(source), list(source)) == pytest.approx(1)


@pytest.mark.parametrize(("sentences", "others"), [(1, 2), (2, 1), (0, 0)])
def test_one_sentence_reaches_nowhere(sentences: int, others: int) -> None:
    with pytest.raises(Undefined, match="two sentences"):
        completeness([np.ones(3)] * sentences, [np.ones(3)] * others)
