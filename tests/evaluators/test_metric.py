"""Metrics: validation, worst values, and rounding at bounds."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evaluators.metric import Metric


def _metric(**facts: Any) -> Metric:
    return Metric(**({"name": "share", "summary": "A share."} | facts))


@pytest.mark.parametrize(
    "name", ["Share", "share at 5", "share__5", "_share", "share_", "5_share", "", "schön", "a\n"]
)
def test_a_name_is_in_snake_case(name: str) -> None:
    with pytest.raises(ValueError, match="snake_case") as error:
        _metric(name=name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("name", ["f1", "recall_at_10", "map", "ndcg_at_5"])
def test_usual_names_are_taken(name: str) -> None:
    assert _metric(name=name).name == name


@pytest.mark.parametrize("summary", ["", "  ", "\n"])
def test_a_summary_is_needed(summary: str) -> None:
    with pytest.raises(ValueError, match="'share': a summary is missing"):
        _metric(summary=summary)


@pytest.mark.parametrize("bounds", [(1.0, 0.0), (0.5, 0.5), (0.0, math.nan), (math.nan, 1.0)])
def test_bounds_are_in_order(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match=r"'share': bounds .* not in order"):
        _metric(bounds=bounds)


@pytest.mark.parametrize(
    ("best", "bounds", "worst"),
    [
        ("high", (0.0, 1.0), 0.0),
        ("low", (0.0, 1.0), 1.0),
        ("high", (-1.0, 1.0), -1.0),
        ("low", (0.0, 100.0), 100.0),
        ("low", (1.0, math.inf), None),
        ("high", (0.0, math.inf), 0.0),
        ("high", (-math.inf, 0.0), None),
    ],
)
def test_the_worst_value(best: str, bounds: tuple[float, float], worst: float | None) -> None:
    assert _metric(best=best, bounds=bounds).worst == worst


@pytest.mark.parametrize(
    ("bounds", "value", "settled"),
    [
        ((0.0, 100.0), 100.00000000000004, 100.0),
        ((0.0, 100.0), 100.001, None),
        ((0.0, 1.0), -3e-17, 0.0),
        ((0.0, 1.0), 0.5, 0.5),
        ((0.0, 0.1), 0.10000000000000002, 0.1),
        ((0.0, 1e12), 1e12 + 0.001, 1e12),
        ((1.0, math.inf), 1 - 1e-12, 1.0),
        ((0.0, math.inf), math.inf, None),
        ((-math.inf, math.inf), math.nan, None),
    ],
)
def test_only_rounding_may_lead_beyond_a_bound(
    bounds: tuple[float, float], value: float, settled: float | None
) -> None:
    assert _metric(bounds=bounds).settle(value) == settled
