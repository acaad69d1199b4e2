"""An embedding model whose similarities a test writes down."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluators.flows.requests import Embed
from evaluators.outcome import Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Directions:
    """Gives every text a vector of length 1 in the plane.

    Args:
        cosines: By text, the cosine with the first axis; None is the zero vector, a reason is
            given in place of a vector. Other texts lie on the axis itself.
    """

    identity = "directions"

    def __init__(self, cosines: Mapping[str, float | Unscored | None]) -> None:
        self._cosines = cosines
        self.batches: list[list[str]] = []

    def unavailable_reason(self) -> None:
        """Nothing stands in its way."""

    def answer(self, requests: Sequence[Any]) -> list[Any]:
        """The vector of each text, or the reason why there is none."""
        assert all(isinstance(request, Embed) for request in requests)
        self.batches.append([request.text for request in requests])
        return [self._vector(request.text) for request in requests]

    def _vector(self, text: str) -> Any:
        cosine = self._cosines.get(text, 1.0)
        if isinstance(cosine, Unscored):
            return cosine
        if cosine is None:
            return np.zeros(2, np.float32)
        return np.array([cosine, math.sqrt(1 - cosine**2)], np.float32)
