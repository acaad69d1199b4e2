"""A finding: what a detector saw, where, and no more of it than needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a text should not hold.

    Attributes:
        kind: What it is, such as `email`.
        start: Where it begins, in characters.
        end: Where it ends; the character at this position is no part of it.
        value: The thing itself; never stored.
        example: Whether it is known to be made up (a test card, an example domain).
        note: More about its kind: the network of a card, the severity of a secret.
    """

    kind: str
    start: int
    end: int
    value: str
    example: bool = False
    note: str | None = None

    def masked(self, shown: int) -> dict[str, Any]:
        """The finding as evidence: kind, place and the first characters, not the thing itself."""
        told: dict[str, Any] = {
            "kind": self.kind,
            "start": self.start,
            "end": self.end,
            "begins": self.value[:shown] + "…",
        }
        if self.note:
            told["note"] = self.note
        return told | ({"example": True} if self.example else {})


class Detector(Protocol):
    """Finds things of one kind in a text that was prepared by `plain`."""

    def __call__(self, text: str) -> Iterable[Finding]:
        """Give the findings with their places in `text`."""
        ...
