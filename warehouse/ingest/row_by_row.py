"""The careful lane: records read and checked one by one, then written as plain JSON Lines."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from warehouse.errors import InputError, Problem
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers.error_messages import RecordError
from warehouse.formats.records.record import Record
from warehouse.ingest.result import Outcome, Rejected
from warehouse.ingest.rows_sql import DOCUMENT_FIELDS, PREDICTION_FIELDS, QUESTION_FIELDS, Lines
from warehouse.storage.connection_pool import connect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from warehouse.formats.format import Reader
    from warehouse.formats.records.document import Document
    from warehouse.formats.records.prediction import Prediction
    from warehouse.formats.records.question import Question


R = TypeVar("R", bound=Record)

ORIGIN = {"file": "VARCHAR", "line": "BIGINT", "extra": "VARCHAR"}
READ_BACK = {"extra": "json(extra)"}


@dataclass(frozen=True, slots=True)
class _Checked:
    """What a check says of a record: the lines to write, or why it is refused."""

    rows: tuple[Mapping[str, Any], ...] = ()
    refused: str | None = None


def write_questions(
    sources: Iterable[Source],
    reader: Reader[Question],
    target: Path,
    ratio: float,
    *,
    may_repeat: bool = False,
) -> tuple[Lines, Outcome]:
    """Reads questions and writes those that can be used.

    Args:
        sources: The files.
        reader: Reads one.
        target: The file to write.
        ratio: The share of a file's rows that may be unusable.
        may_repeat: Whether a question may stand several times, if all say the same of it.

    Raises:
        InputError: A file cannot be read, is empty, or too many of its rows are unusable.
    """
    repeats = Repeats(may_repeat=may_repeat)

    def check(source: Source, read: Read[Question]) -> _Checked:
        name, row = read.record.question_id, _plain(read.record)
        is_new, refused = repeats.met(f"question {name!r}", where(source, read.line), row)
        if not is_new:
            return _Checked(refused=refused)
        row |= {"file": str(source.path), "line": read.line}
        return _Checked(rows=(row,))

    outcome = Outcome()
    fields = {**QUESTION_FIELDS, **ORIGIN}
    origin = {**READ_BACK, "file": "file", "line": "line"}
    longest = _write(sources, reader, check, target, ratio, outcome)
    return Lines(path=target, fields=fields, origin=origin, longest=longest), outcome


def write_documents(
    sources: Iterable[Source],
    reader: Reader[Document],
    target: Path,
    ratio: float,
    *,
    may_repeat: bool = False,
) -> tuple[Lines, Outcome]:
    """Reads documents and writes their sentences; see `write_questions`."""
    repeats = Repeats(may_repeat=may_repeat)

    def check(source: Source, read: Read[Document]) -> _Checked:
        name, place = read.record.doc_id, where(source, read.line)
        is_new, refused = repeats.met(f"document {name!r}", place, _plain(read.record))
        if not is_new:
            return _Checked(refused=refused)
        try:
            sentences = read.record.numbered()
        except RecordError as error:
            return _Checked(refused=str(error))
        return _Checked(
            rows=tuple(
                {"doc_id": name, "sentence_id": sentence_id, "position": position, "text": text}
                for position, (sentence_id, text) in enumerate(sentences, start=1)
            )
        )

    outcome = Outcome()
    longest = _write(sources, reader, check, target, ratio, outcome)
    return Lines(path=target, fields=DOCUMENT_FIELDS, longest=longest), outcome


def write_predictions(
    sources: Iterable[Source],
    reader: Reader[Prediction],
    target: Path,
    ratio: float,
    questions: Mapping[str, str | None],
    nearest: Callable[[str], str | None] | None,
    *,
    by_text: bool = False,
) -> tuple[Lines, Outcome]:
    """Reads predictions and writes those that can be used; see `write_questions`.

    Args:
        sources: The files.
        reader: Reads one.
        target: The file to write.
        ratio: The share of a file's rows that may be unusable.
        questions: The benchmark's questions with their texts.
        nearest: Finds the question that is called most like an unknown one; null when
            predictions for unknown questions are only noted.
        by_text: Whether an unknown id may stand for the only question with the text that the file
            repeats.
    """
    texts = _asked_once(questions) if by_text else {}
    outcome = Outcome()
    first: dict[tuple[str, str], str] = {}
    suggested = Counter[str]()

    def check(source: Source, read: Read[Prediction]) -> _Checked:
        name, system = read.record.question_id, read.record.system or source.system or ""
        outcome.systems.setdefault(system)
        if name not in questions and read.asked is not None:
            name = texts.get(read.asked, name)
        if name not in questions:
            if nearest is None:
                outcome.unknown.setdefault(system, []).append(name)
                return _Checked()
            suggested["asked"] += 1
            close = nearest(name) if suggested["asked"] <= InputError.shown else None
            hint = f"; did you mean {close!r}?" if close is not None else ""
            return _Checked(refused=f"there is no question {name!r}{hint}")
        here = where(source, read.line)
        if (twice := first.setdefault((system, name), here)) is not here:
            said = f"a second prediction of {system!r} for question {name!r}, the first {twice}"
            return _Checked(refused=said)
        if read.asked is not None and questions[name] not in {None, read.asked}:
            outcome.asked.setdefault(system, []).append(name)
        row = {**_plain(read.record), "question_id": name, "system": system}
        return _Checked(rows=(row,))

    fields = {**PREDICTION_FIELDS, "extra": "VARCHAR"}
    longest = _write(sources, reader, check, target, ratio, outcome)
    return Lines(path=target, fields=fields, origin=READ_BACK, longest=longest), outcome


def _asked_once(questions: Mapping[str, str | None]) -> dict[str, str]:
    times = Counter(questions.values())
    return {text: name for name, text in questions.items() if text and times[text] == 1}


def _plain(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = record.model_dump(exclude_none=True, exclude={"extra", "tags"})
    tags, extra = getattr(record, "tags", None), getattr(record, "extra", None)
    if tags is not None:
        row["tags"] = tags
    if extra is not None:
        row["extra"] = json.dumps(extra, ensure_ascii=False)
    return row


def _write(
    sources: Iterable[Source],
    reader: Reader[R],
    check: Callable[[Source, Read[R]], _Checked],
    target: Path,
    ratio: float,
    outcome: Outcome,
) -> int:
    problems: list[Problem] = []
    is_over = False
    longest = 0
    with target.open("wb") as file:
        for source in sources:
            if source.system is not None:
                outcome.systems.setdefault(source.system)
            count = 0
            rejected: list[Rejected] = []
            try:
                for each in _checked(source, reader, check):
                    count += 1
                    if isinstance(each, Rejected):
                        rejected.append(each)
                        continue
                    for row in each.rows:
                        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
                        longest = max(longest, len(line))
                        file.write(line + b"\n")
            except InputError as error:
                problems += [each.problem for each in rejected]
                problems += error.problems
                is_over = True
                continue
            if count == 0:
                problems.append(Problem(source.path, None, "the file is empty"))
                is_over = True
            problems += [each.problem for each in rejected]
            outcome.rejected += rejected
            is_over = is_over or len(rejected) > ratio * count
    if is_over:
        raise InputError(problems)
    return max(longest + 2, 1 << 20)


def _checked(
    source: Source, reader: Reader[R], check: Callable[[Source, Read[R]], _Checked]
) -> Iterator[_Checked | Rejected]:
    for each in reader(source):
        if isinstance(each, Reject):
            problem = Problem(source.path, each.line, each.reason)
            yield Rejected(problem, source.system, each.text)
            continue
        checked = check(source, each)
        if checked.refused is None:
            yield checked
        else:
            problem = Problem(source.path, each.line, checked.refused)
            yield Rejected(problem, source.system, each.text)


def where(source: Source, line: int | None) -> str:
    """Where a record stands, such as `in questions.jsonl:7`."""
    return f"in {source.path}" if line is None else f"in {source.path}:{line}"


class Repeats:
    """Remembers where each record stood first and, where it may repeat, what it said there.

    What was said is kept as a digest of each field, so that millions of records fit.
    """

    def __init__(self, *, may_repeat: bool) -> None:
        self._may_repeat = may_repeat
        self._place: dict[str, str] = {}
        self._said: dict[str, dict[str, int]] = {}

    def met(self, what: str, place: str, row: Mapping[str, Any]) -> tuple[bool, str | None]:
        """Whether a record is met for the first time, and if not, what is wrong with that.

        Args:
            what: The record, such as `question 'q1'`.
            place: Where it stands.
            row: Its fields.

        Returns:
            Whether it is new, and why it is refused (null: it is new, or says the same again).
        """
        first = self._place.setdefault(what, place)
        is_new = first is place
        if not self._may_repeat:
            return is_new, None if is_new else f"{what} stands twice, first {first}"
        said = {field: hash(json.dumps(value, sort_keys=True)) for field, value in row.items()}
        before = self._said.setdefault(what, said)
        differing = sorted(f for f in said | before if said.get(f) != before.get(f))
        if not differing:
            return is_new, None
        return False, f"{what} differs from the one {first} in {', '.join(differing)}"


class Nearest:
    """Finds the known name that is most like an unknown one; null when none is like it.

    DuckDB compares: among a million names that takes a fraction of a second.
    """

    LEAST_LIKENESS: Final = 0.85

    def __init__(self, names: pl.Series) -> None:
        self._names = names

    def __call__(self, name: str) -> str | None:
        """The nearest name by Jaro-Winkler similarity."""
        with connect() as connection:
            connection.register("known", pl.DataFrame({"name": self._names}).to_arrow())
            row = connection.execute(
                "SELECT name, jaro_winkler_similarity(name, $name) AS likeness FROM known "
                "ORDER BY likeness DESC, name LIMIT 1",
                {"name": name},
            ).fetchone()
        return row[0] if row is not None and row[1] >= self.LEAST_LIKENESS else None
