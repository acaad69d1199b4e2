"""The plot of a leaderboard: an SVG with a line for each system and metric."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import polars as pl

from assets.charts.interval_plot import MAX_LABEL, interval_plot

SVG = "{http://www.w3.org/2000/svg}"


def board(*systems: str, low: float | None = 0.25, mean: float | None = 0.5) -> pl.DataFrame:
    """The leaderboard of systems by one metric."""
    rows = {
        "system": list(systems),
        "evaluator": "citation",
        "metric": "f1",
        "slice": "all",
        "mean": [None if mean is None else mean + at / 10 for at in range(len(systems))],
        "ci_low": low,
        "ci_high": None if low is None else 1.0,
        "rank": list(range(len(systems), 0, -1)),
        "tied_with_best": 0,
        "is_primary": 1,
        "is_headline": 1,
        "position": 0,
    }
    floats = {"mean": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}
    return pl.DataFrame(rows, schema_overrides=floats)


def texts(svg: str) -> list[str]:
    """The texts of a plot, in their order."""
    return [each.text or "" for each in ET.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


def test_systems_are_in_their_order_with_their_means() -> None:
    plot = interval_plot(board("a", "b"))
    assert plot is not None
    assert texts(plot) == ["citation.f1", "b", "0.6", "a", "0.5"]
    ends = [path.get("d") for path in ET.fromstring(plot).iter(f"{SVG}path")][1::2]  # noqa: S314
    # A quarter of the scale, which begins at zero, to its end.
    assert ends[0] is not None
    assert ends[0].startswith("M274.0 40H502.0")


def test_without_an_interval_or_a_mean() -> None:
    assert interval_plot(board("a", mean=None)) is None
    assert interval_plot(board("a", low=None)) is not None
    assert interval_plot(board("a", low=None, mean=0.0)) is not None


def test_names_are_cut_and_no_markup() -> None:
    names = ["<img src=x>&", "q\u0001\uffff\u2028", "x" * 100]
    plot = interval_plot(board(*names))
    assert plot is not None
    shown = texts(plot)
    assert {"<img src=x>&", "q\u2401\ufffd\ufffd", "x" * (MAX_LABEL - 1) + "…"} <= set(shown)
