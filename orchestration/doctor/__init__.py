"""Diagnoses of a project, for `scoreline doctor` and the notes of `scoreline run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of checking one part of a project.

    Attributes:
        state: Whether the part is ready, deserves attention, or prevents a run.
        subject: What was checked.
        message: The result and, unless the state is `ok`, what to do.
    """

    state: Literal["ok", "warn", "fail"]
    subject: str
    message: str
