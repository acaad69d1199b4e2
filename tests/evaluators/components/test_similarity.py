"""Cosines: within their bounds, whatever rounding did to the vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluators.components.similarity import cosines, nearest_neighbours


@given(st.integers(1, 700), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_the_nearest_by_blocks_is_the_nearest(texts: int, others: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    one, other = (draw.normal(size=(n, 4)).astype(np.float32) for n in (texts, others))
    values, places = nearest_neighbours(list(one), list(other))
    whole = cosines(list(one), list(other))
    np.testing.assert_allclose(values, whole.max(axis=1), atol=1e-12)
    np.testing.assert_allclose(whole[np.arange(texts), places], values, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_equal_vectors_have_one_and_opposite_ones_minus_one(seed: int) -> None:
    vector = np.random.default_rng(seed).normal(size=384).astype(np.float32)
    unit = vector / np.linalg.norm(vector)
    found = cosines([unit, -unit], [unit])[:, 0]
    assert found == pytest.approx([1, -1], abs=1e-12)


def test_a_blank_text_has_no_similarity() -> None:
    assert cosines([np.zeros(3)], [np.ones(3)]).tolist() == [[0.0]]
