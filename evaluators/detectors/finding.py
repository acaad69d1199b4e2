"""Findings of detectors: kind and position, masked in the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a text should not contain.

    Attributes:
        kind: The kind, such as `email`.
        start: The first position, in characters.
        end: The position after the last character.
        value: The text itself; never stored.
        example: Whether it is known example data (a test card, an example domain).
        note: Further information: the network of a card, the severity of a secret.
    """

    kind: str
    start: int
    end: int
    value: str
    example: bool = False
    note: str | None = None

    def masked(self, shown: int) -> dict[str, Any]:
        """Return the finding as evidence: the kind, the position and the first characters only."""
        evidence: dict[str, Any] = {
            "kind": self.kind,
            "start": self.start,
            "end": self.end,
            "begins": self.value[:shown] + "…",
        }
        if self.note:
            evidence["note"] = self.note
        return evidence | ({"example": True} if self.example else {})


class Detector(Protocol):
    """Finds data of one kind in a text that was normalised by `plain`."""

    def __call__(self, text: str) -> Iterable[Finding]:
        """Yield the findings with their positions in `text`."""
        ...
