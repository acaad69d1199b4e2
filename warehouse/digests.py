"""Digests of input files and of how they are read: equal ones give equal rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from warehouse.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.formats.format import Format

VERSION: Final = 1
"""Raised when the same files give other rows than before."""


def questions_digest(
    chosen: Format,
    questions: Sequence[Path],
    documents: Sequence[Path],
    max_reject_ratio: float,
    predictions: Sequence[tuple[Path, str | None]] = (),
) -> str:
    """The digest of files of questions and documents and of how they are read.

    Files of predictions count where the format reads questions from them.
    """
    files: list[tuple[Path, str | None]] = [(path, None) for path in (*questions, *documents)]
    if chosen.questions_from != "files":
        files += predictions
    return fingerprint(files, _settings(chosen, max_reject_ratio, str(len(questions))))


def predictions_digest(
    chosen: Format,
    files: Sequence[tuple[Path, str | None]],
    max_reject_ratio: float,
    questions: str,
) -> str:
    """The digest of files of predictions, of how they are read, and of their questions' digest."""
    return fingerprint(files, _settings(chosen, max_reject_ratio, questions))


def _settings(chosen: Format, ratio: float, *more: str) -> tuple[str, ...]:
    return (chosen.name, str(chosen.version), str(VERSION), repr(ratio), *more)
