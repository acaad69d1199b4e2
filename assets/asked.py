"""What systems were asked: how many questions and clusters a system, or two systems, rest on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assets.matrices import distinct

if TYPE_CHECKING:
    from assets.matrices import Keys, Questions


@dataclass(frozen=True)
class Asked:
    """The questions that one system was asked on a slice.

    Attributes:
        keys: Their keys, sorted.
        questions: What binds them together.
    """

    keys: Keys
    questions: Questions

    @cached_property
    def counts(self) -> tuple[int, int]:
        """How many questions these are, and how many clusters."""
        return len(self.keys), len(distinct(self.questions.bonds(self.keys)))

    def shared(self, other: Asked) -> tuple[int, int]:
        """How many questions both systems were asked, and how many clusters these are."""
        if self.keys is other.keys or np.array_equal(self.keys, other.keys):
            return self.counts
        both = np.intersect1d(self.keys, other.keys, assume_unique=True)
        return Asked(both, self.questions).counts
