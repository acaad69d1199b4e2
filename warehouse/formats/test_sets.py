"""Reads the files from which test sets are made, and writes theirs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from records.error_messages import RecordError
from records.record import Record
from warehouse.errors import FileDiffers, InputError, Problem
from warehouse.formats.canonical import read_documents, read_questions
from warehouse.formats.columns import NO_COLUMNS
from warehouse.formats.format import Reader, Reject, Source
from warehouse.formats.paths import expand
from warehouse.formats.readers.limits import MAX_REPORTED, reading_ends
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from records.document import Document
    from records.question import Question
    from warehouse.formats.columns import Target

R = TypeVar("R", bound=Record)
NO_READINGS: Final[Mapping[Path, Any]] = MappingProxyType({})

GENERATED = "generated"
"""The field of a row that says how it was made; tables keep it in `extra`."""

SUFFIXES = (".jsonl", ".ndjson")
"""The suffixes of the files that are written."""


class DocumentText(NamedTuple):
    """A document: its sentences by id, in their order."""

    doc_id: str
    sentences: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Reading(Generic[R]):
    """How to read a file: the reader of its format, and which of its columns are which fields."""

    reader: Reader[R]
    columns: Mapping[str, Target]


def load_questions(
    pattern: str | Path, readings: Mapping[Path, Reading[Question]] = NO_READINGS
) -> list[Question]:
    """Return the questions of files, in the order of files and lines.

    Args:
        pattern: The files, with * for several.
        readings: How to read files, by resolved path; others are canonical.

    Raises:
        InputError: No file matches, a row is not valid, or an id occurs twice; lists all of them.
    """
    canonical = Reading(read_questions, NO_COLUMNS)
    found = _load(pattern, readings, canonical, "question_id", "questions")
    return [record for record, _ in found]


def load_documents(
    pattern: str | Path, readings: Mapping[Path, Reading[Document]] = NO_READINGS
) -> list[DocumentText]:
    """Return the documents of files; see `load_questions`."""
    documents: list[DocumentText] = []
    problems: list[Problem] = []
    canonical = Reading(read_documents, NO_COLUMNS)
    for record, location in _load(pattern, readings, canonical, "doc_id", "documents"):
        try:
            sentences = {name: text for name, text in record.numbered() if text.strip()}
            documents.append(DocumentText(record.doc_id, sentences))
        except RecordError as error:
            problems.append(Problem(*location, str(error)))
    if problems:
        raise InputError(problems)
    return documents


def question_row(question: Question) -> dict[str, Any]:
    """Return a question as a row of a canonical file; unknown fields stay at its end."""
    row = question.model_dump(exclude_none=True, exclude={"extra"})
    answers = row.get("expected_answer")
    if answers is not None and len(answers) == 1:
        row["expected_answer"] = answers[0]
    return row | (question.extra or {})


def write_rows(files: Mapping[Path, Iterable[Mapping[str, Any]]], *, force: bool) -> None:
    """Write files of JSON Lines, each atomically; without rows, no file remains.

    A file with the same contents is left as it is.

    Args:
        files: The rows by file. Folders are created.
        force: Whether to overwrite files with other contents.

    Raises:
        FileDiffers: A file has other contents; then no file is written.
    """
    contents = {path: encode_rows(rows) for path, rows in files.items()}
    changed = {
        path: new
        for path, new in contents.items()
        if (path.read_bytes() if path.exists() else b"") != new
    }
    differing = [str(path) for path in changed if path.exists()]
    if differing and not force:
        raise FileDiffers(differing)
    for path, new in changed.items():
        if not new:
            path.unlink(missing_ok=True)
            continue
        with replace_file(path) as temporary:
            temporary.write_bytes(new)


def encode_rows(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as JSON Lines."""
    lines = [json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def _load(
    pattern: str | Path,
    readings: Mapping[Path, Reading[R]],
    canonical: Reading[R],
    key: str,
    what: str,
) -> list[tuple[R, tuple[Path, int | None]]]:
    """Return the records of files, each with its file and line."""
    found: list[tuple[R, tuple[Path, int | None]]] = []
    problems: list[Problem] = []
    first: dict[str, str] = {}
    for path, record, line, reason in _read(pattern, readings, canonical):
        if record is None:
            problems.append(Problem(path, line, reason))
        else:
            name = getattr(record, key)
            location = str(path) if line is None else f"{path}:{line}"
            if name in first:
                message = f"the {key} {name!r} occurs twice, first in {first[name]}"
                problems.append(Problem(path, line, message))
            first.setdefault(name, location)
            found.append((record, (path, line)))
        if len(problems) == MAX_REPORTED:
            problems.append(Problem(path, None, reading_ends(len(problems))))
            break
    if problems:
        raise InputError(problems)
    if not found:
        raise InputError([Problem(str(pattern), None, f"holds no {what}")])
    return found


def _read(
    pattern: str | Path, readings: Mapping[Path, Reading[R]], canonical: Reading[R]
) -> Iterator[tuple[Path, R | None, int | None, str]]:
    files: Sequence[tuple[Path, str | None]] = expand(pattern)
    for path, _ in files:
        reading = readings.get(path.resolve(), canonical)
        for each in reading.reader(Source(path, columns=reading.columns)):
            if isinstance(each, Reject):
                yield path, None, each.line, each.reason
            else:
                yield path, each.record, each.line, ""
