"""Digests of input files and of how they are read: equal ones give equal rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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


_PIECE: Final = 1 << 20


def fingerprint(files: Iterable[tuple[Path, str | None]], settings: Sequence[str] = ()) -> str:
    """The digest of files and of the settings with which they are read.

    The files' order, contents, endings and systems count; their names and folders do not, so
    that a moved project is not read anew.

    Args:
        files: The files with the systems that their paths name.
        settings: What else the result depends on.

    Returns:
        32 hexadecimal digits (XXH3, 128 bits).

    Raises:
        InputError: A file cannot be read.
    """
    digest = xxhash.xxh3_128()
    # One buffer for all: a fresh one for each piece takes twice as long.
    piece = memoryview(bytearray(_PIECE))
    for setting in settings:
        _add(digest, setting.encode())
    for path, system in files:
        content = xxhash.xxh3_128()
        try:
            with path.open("rb", buffering=0) as file:
                while filled := file.readinto(piece):
                    content.update(piece[:filled])
        except OSError as error:
            raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
        _add(digest, "".join(path.suffixes[-2:]).lower().encode())
        _add(digest, b"\0" if system is None else b"\1" + system.encode())
        _add(digest, content.digest())
    return digest.hexdigest()


def _add(digest: xxhash.xxh3_128, part: bytes) -> None:
    # With its length, so that no two lists of parts read the same.
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)
