"""Digests of input files and of the settings with which they are read."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

import xxhash

from warehouse.errors import InputError, Problem
from warehouse.formats.columns import Columns
from warehouse.formats.missing_answers import MissingAnswers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from warehouse.formats.format import Format
    from warehouse.formats.query import InputFile


NONE: Final = Columns()
FAILED: Final = MissingAnswers()

VERSION: Final = 2
"""Increase it when the same files give other rows than before."""


def questions_digest(
    chosen: Format,
    questions: Sequence[InputFile],
    documents: Sequence[InputFile],
    max_reject_ratio: float,
    predictions: Sequence[tuple[InputFile, str | None]] = (),
    columns: Columns = NONE,
) -> str:
    """Return the digest of the files of questions and documents and of their settings.

    It includes files of predictions if the format reads questions from them.
    """
    files: list[tuple[InputFile, str | None]] = [(path, None) for path in (*questions, *documents)]
    if chosen.questions_from != "files":
        files += predictions
    names = columns.question_settings(from_predictions=chosen.questions_from == "predictions")
    names += () if chosen.expansion is None else ("expansion", chosen.expansion)
    return digest_files(files, _settings(chosen, max_reject_ratio, str(len(questions)), *names))


def predictions_digest(
    chosen: Format,
    files: Sequence[tuple[InputFile, str | None]],
    max_reject_ratio: float,
    questions: str,
    columns: Columns = NONE,
    missing: MissingAnswers = FAILED,
    answers: Iterable[tuple[str, bytes]] = (),
) -> str:
    """Return the digest of predictions, of their settings and of the questions' digest.

    The predictions are those of files, and the `answers` of systems with their digests.
    """
    names = columns.prediction_settings() + missing.settings()
    return digest_files(files, _settings(chosen, max_reject_ratio, questions, *names), answers)


def _settings(chosen: Format, ratio: float, *more: str) -> tuple[str, ...]:
    return (chosen.name, str(chosen.version), str(VERSION), repr(ratio), *more)


_CHUNK_BYTES: Final = 1 << 20


def digest_files(
    files: Iterable[tuple[InputFile, str | None]],
    settings: Sequence[str] = (),
    answers: Iterable[tuple[str, bytes]] = (),
) -> str:
    """Return the digest of files, of the settings with which they are read, and of answers.

    It covers the order, contents, suffixes and systems of the files, but not their names and
    folders, so that a moved project is not read again. Of a query it covers the rows, in any order.
    Of answers it covers the system and a digest. It is 32 hexadecimal digits (XXH3, 128 bits).

    Raises:
        InputError: A file or query cannot be read.
    """
    digest = xxhash.xxh3_128()
    # One buffer for all chunks: allocating one for each takes twice as long.
    chunk = memoryview(bytearray(_CHUNK_BYTES))
    for setting in settings:
        _add(digest, setting.encode())
    for path, system in files:
        if not isinstance(path, Path):
            from warehouse.formats.readers.sql import query_digest

            _add(digest, b"sql" + query_digest(path))
            continue
        content = xxhash.xxh3_128()
        try:
            with path.open("rb", buffering=0) as file:
                while filled := file.readinto(chunk):
                    content.update(chunk[:filled])
        except OSError as error:
            raise InputError([Problem(path, None, f"cannot be read: {error.strerror}")]) from error
        _add_content(digest, path, system, content.digest())
    for system, answered in answers:
        # As of the files in which earlier versions kept them, so that these need not be read again.
        _add_content(digest, PurePath(f"{system}.jsonl"), system, answered)
    return digest.hexdigest()


def _add_content(
    digest: xxhash.xxh3_128, path: PurePath, system: str | None, content: bytes
) -> None:
    _add(digest, "".join(path.suffixes[-2:]).lower().encode())
    _add(digest, b"\0" if system is None else b"\1" + system.encode())
    _add(digest, content)


def _add(digest: xxhash.xxh3_128, part: bytes) -> None:
    # The length prefix keeps different lists of parts distinct.
    digest.update(len(part).to_bytes(8, "little"))
    digest.update(part)
