"""Digests of input files and of the settings with which they are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import xxhash

from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from warehouse.formats.format import Format


VERSION: Final = 1
"""Increase it when the same files give other rows than before."""


def questions_digest(
    chosen: Format,
    questions: Sequence[Path],
    documents: Sequence[Path],
    max_reject_ratio: float,
    predictions: Sequence[tuple[Path, str | None]] = (),
) -> str:
    """Return the digest of the files of questions and documents and of their settings.

    It includes files of predictions if the format reads questions from them.
    """
    files: list[tuple[Path, str | None]] = [(path, None) for path in (*questions, *documents)]
    if chosen.questions_from != "files":
        files += predictions
    return digest_files(files, _settings(chosen, max_reject_ratio, str(len(questions))))


def predictions_digest(
    chosen: Format,
    files: Sequence[tuple[Path, str | None]],
    max_reject_ratio: float,
    questions: str,
) -> str:
    """Return the digest of files of predictions, of their settings and of the questions' digest."""
    return digest_files(files, _settings(chosen, max_reject_ratio, questions))


def _settings(chosen: Format, ratio: float, *more: str) -> tuple[str, ...]:
    return (chosen.name, str(chosen.version), str(VERSION), repr(ratio), *more)


_CHUNK_BYTES: Final = 1 << 20


def digest_files(files: Iterable[tuple[Path, str | None]], settings: Sequence[str] = ()) -> str:
    """Return the digest of files and of the settings with which they are read.

    It covers the order, contents, suffixes and systems of the files, but not their names and
    folders, so that a moved project is not read again. It is 32 hexadecimal digits (XXH3, 128
    bits).

    Raises:
        InputError: A file cannot be read.
    """
    digest = xxhash.xxh3_128()
    # One buffer for all chunks: allocating one for each takes twice as long.
    chunk = memoryview(bytearray(_CHUNK_BYTES))
    for setting in settings:
        _add(digest, setting.encode())
    for path, system in files:
        content = xxhash.xxh3_128()
        try:
            with path.open("rb", buffering=0) as file:
                while filled := file.readinto(chunk):
                    content.update(chunk[:filled])
        except OSError as error:
            raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
        _add(digest, "".join(path.suffixes[-2:]).lower().encode())
        _add(digest, b"\0" if system is None else b"\1" + system.encode())
        _add(digest, content.digest())
    return digest.hexdigest()


def _add(digest: xxhash.xxh3_128, part: bytes) -> None:
    # The length prefix keeps different lists of parts distinct.
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)
