"""The plot of a leaderboard: an SVG with a line for each system."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree as ET

import pytest

from assets.charts.interval_plot import MAX_LABEL, interval_plot

SVG = "{http://www.w3.org/2000/svg}"


def board(
    *systems: str, low: float | None = 0.25, mean: float | None = 0.5
) -> list[dict[str, Any]]:
    """The leaderboard of systems by one metric."""
    return [
        {
            "system": system,
            "evaluator": "citation",
            "metric": "f1",
            "mean": None if mean is None else mean + at / 10,
            "ci_low": low,
            "ci_high": None if low is None else 1.0,
            "best_value": 1.0,
            "worst_value": 0.0,
            "rank": len(systems) - at,
            "is_primary": 1,
            "is_headline": 1,
            "position": 0,
        }
        for at, system in enumerate(systems)
    ]


def texts(svg: str | None) -> list[str]:
    """The texts of a plot, in their order."""
    assert svg is not None
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def paths(svg: str | None) -> list[str]:
    """The background, the intervals and the means of a plot."""
    assert svg is not None
    return [each.get("d") or "" for each in ET.fromstring(svg).iter(f"{SVG}path")]  # noqa: S314


def test_systems_are_in_their_order_on_the_whole_scale() -> None:
    plot = interval_plot(board("a", "b"), 10)
    assert texts(plot) == ["b", "a", "0", "1"]
    # The scale from 0 to 1 has the pixels 160 to 390.
    _, intervals, means = paths(plot)
    assert intervals == "M218 10H390M218 30H390"
    assert means == "M298 10h0M275 30h0"


def test_only_the_best_systems_are_drawn() -> None:
    assert texts(interval_plot(board("a", "b", "c"), 2)) == ["c", "b", "0", "1"]


@pytest.mark.parametrize("mean", [0.0, 0.5])
def test_a_mean_without_an_interval_is_a_point(mean: float) -> None:
    _, intervals, means = paths(interval_plot(board("a", low=None, mean=mean), 10))
    assert intervals == ""
    assert means == {0.0: "M160 10h0", 0.5: "M275 10h0"}[mean]


def test_without_a_mean_nothing_is_drawn() -> None:
    assert interval_plot(board("a", mean=None), 10) is None


def test_names_are_cut_and_no_markup() -> None:
    names = ["<img src=x>&", "q\u0001\uffff\u2028", "x" * 100]
    shown = texts(interval_plot(board(*names), 10))
    assert {"<img src=x>&", "q\u2401\ufffd\ufffd", "x" * (MAX_LABEL - 1) + "…"} <= set(shown)
