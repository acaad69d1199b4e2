"""A finding: one thing that was looked at when a project was examined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        state: Whether it is in order, worth a look, or in the way of a run.
        subject: What was looked at.
        message: What was found and, unless it is in order, what to do.
    """

    state: Literal["ok", "warn", "fail"]
    subject: str
    message: str
