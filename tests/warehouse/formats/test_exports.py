"""What exports of several tools have in common."""

from __future__ import annotations

import math
from typing import Any

import pytest

from warehouse.formats.readers.exports import reported_of


@pytest.mark.parametrize(
    ("scores", "reported"),
    [
        ([("a", 1), ("a", 0)], {"a": 0.5}),
        ([("a", True), ("a", True), ("b", False)], {"a": True, "b": False}),
        ([("a", 1.5e308), ("a", 1.25e308)], {"a": 1.375e308}),
        ([("a", math.nan), ("b", math.inf), ("c", 10**400), ("d", "2024_01")], None),
        ([("a", "0.5"), ("b", "1e-1"), ("c", "True"), ("d", "yes"), ("e", "nan")],
         {"a": 0.5, "b": 0.1, "c": True}),
    ],
)  # fmt: skip
def test_scores_of_one_name_are_averaged(scores: list[tuple[str, Any]], reported: Any) -> None:
    assert reported_of(scores) == reported
