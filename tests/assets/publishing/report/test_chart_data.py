"""Thinned curves are exact where users read them, and Pareto fronts match their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.publishing.report.data_files import json_for_script
from assets.publishing.report.panels.confidence_curves import thin_curve
from assets.publishing.report.panels.cost_and_time import pareto_front

BIN_WIDTH = 0.01
numbers = st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=300)


def survival(values: list[float]) -> list[tuple[float, float]]:
    """The steps of the share of values above each value, from its definition."""
    at = np.array(values)
    return [(float(x), float((at > x).mean())) for x in np.unique(at)]


def height(points: list[tuple[float, float]], x: float) -> float:
    """The height of a step curve at a value."""
    return [share for threshold, share in [(-9.0, 1.0), *points] if threshold <= x][-1]


@given(numbers)
def test_a_thinned_curve_is_exact_at_the_end_of_every_bin_and_at_its_reference(
    values: list[float],
) -> None:
    whole = survival(values)
    kept = thin_curve(whole, BIN_WIDTH, 0.0)
    assert set(kept) <= set(whole)
    assert height(kept, 0.0) == height(whole, 0.0)
    assert kept[-1] == whole[-1]
    for x, _ in whole:
        end = max(point[0] for point in whole if point[0] // BIN_WIDTH == x // BIN_WIDTH)
        assert height(kept, end) == height(whole, end)


def test_a_curve_that_falls_within_one_bin_ends_low() -> None:
    points = [(0.9991, 0.5), (0.9992, 0.25), (0.9993, 0.0)]
    assert thin_curve(points, BIN_WIDTH, None)[-1] == (0.9993, 0.0)


points = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


@given(points, st.booleans())
def test_a_pareto_front_holds_exactly_the_undominated_points(
    found: list[tuple[int, int]],
    high: bool,
) -> None:
    on_front = pareto_front(found, high_is_best=high)
    assert any(on_front)
    sign = 1 if high else -1
    for (spent, quality), best in zip(found, on_front, strict=True):
        is_dominated = any(
            (s <= spent and sign * q >= sign * quality) and (s < spent or sign * q > sign * quality)
            for s, q in found
        )
        assert best is not is_dominated


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("</script>", "</script>"),
        ("<!--", "<!--"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("<\\/script>", "<\\/script>"),
    ],
)
def test_embedded_json_cannot_end_its_script(text: str, shown: str) -> None:
    import json

    written = json_for_script({"text": text})
    assert "<" not in written
    assert "\u2028" not in written
    assert json.loads(written) == {"text": shown}
