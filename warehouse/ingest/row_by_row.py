"""Row-by-row validation: checks records one by one and writes them as plain JSON Lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from records.error_messages import RecordError
from records.record import Record
from warehouse.errors import InputError, Problem, closest_match, did_you_mean
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers.limits import (
    MAX_REJECTED,
    MAX_REPORTED,
    reading_ends,
    require_bounded,
)
from warehouse.formats.tag_fields import TagFields
from warehouse.ingest.missing_rows import AnswerCounts
from warehouse.ingest.question_texts import QuestionTexts, same_text
from warehouse.ingest.result import ReadResult, Rejected
from warehouse.ingest.rows_sql import DOCUMENT_FIELDS, PREDICTION_FIELDS, QUESTION_FIELDS, JsonLines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from records.document import Document
    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.format import Format, Reader


R = TypeVar("R", bound=Record)

PARSE_EXTRA = {"extra": "json(extra)"}
"""`extra` is written as text, so that DuckDB keeps its members as they are."""


@dataclass(frozen=True, slots=True)
class _Validated:
    """The rows to write for a record, or the reason why it is rejected."""

    rows: tuple[Mapping[str, Any], ...] = ()
    reason: str | None = None


def write_questions(
    sources: Sequence[Source],
    reader: Reader[Question],
    target: Path,
    ratio: float,
    *,
    may_repeat: bool = False,
    tags: Sequence[str] = (),
) -> tuple[JsonLines, ReadResult]:
    """Read questions and write the valid ones to the file `target`.

    Up to `ratio` of a file's rows may be rejected. Identical questions may occur several times if
    `may_repeat` says so. Unknown fields with a name in `tags` become tags.

    Raises:
        InputError: A file cannot be read, is empty, or has too many rejected rows; or no row has
            one of the tags.
    """
    duplicates = DuplicateCheck(may_repeat=may_repeat)
    tag_fields = TagFields(tags)
    texts = QuestionTexts()

    def validate(source: Source, read: Read[Question]) -> _Validated:
        try:
            record = texts.identify(read, tag_fields.tag(read.record))
        except RecordError as error:
            return _Validated(reason=str(error))
        name, row = record.question_id, _plain(record)
        is_new, reason = duplicates.check(f"question {name!r}", location_of(source, read.line), row)
        if not is_new:
            return _Validated(reason=reason and reason + same_text(read))
        row |= {"file": str(source.path), "line": read.line}
        return _Validated(rows=(row,))

    result = ReadResult()
    fields = {**QUESTION_FIELDS, "file": "VARCHAR", "line": "BIGINT", "extra": "VARCHAR"}
    longest = _write(sources, reader, validate, target, ratio, result)
    tag_fields.require_all(sources)
    lines = JsonLines(path=target, fields=fields, origin=PARSE_EXTRA, max_line_bytes=longest)
    return lines, result


def write_documents(
    sources: Sequence[Source],
    reader: Reader[Document],
    target: Path,
    ratio: float,
    *,
    may_repeat: bool = False,
) -> tuple[JsonLines, ReadResult]:
    """Read documents and write their sentences; see `write_questions`."""
    duplicates = DuplicateCheck(may_repeat=may_repeat)

    def validate(source: Source, read: Read[Document]) -> _Validated:
        name, location = read.record.doc_id, location_of(source, read.line)
        is_new, reason = duplicates.check(f"document {name!r}", location, _plain(read.record))
        if not is_new:
            return _Validated(reason=reason)
        try:
            sentences = read.record.numbered()
        except RecordError as error:
            return _Validated(reason=str(error))
        return _Validated(
            rows=tuple(
                {"doc_id": name, "sentence_id": sentence_id, "position": position, "text": text}
                for position, (sentence_id, text) in enumerate(sentences, start=1)
            )
        )

    result = ReadResult()
    longest = _write(sources, reader, validate, target, ratio, result)
    return JsonLines(path=target, fields=DOCUMENT_FIELDS, max_line_bytes=longest), result


def write_predictions(
    sources: Sequence[Source],
    chosen: Format,
    target: Path,
    ratio: float,
    questions: Mapping[str, str | None],
) -> tuple[JsonLines, ReadResult]:
    """Read predictions and write the valid ones; see `write_questions`.

    `questions` holds the texts of the benchmark's questions by id.
    """
    texts = QuestionTexts(questions)
    by_text = chosen.unknown_questions == "match by text"
    result = ReadResult()
    first: dict[tuple[str, str, int], str] = {}
    counts = AnswerCounts(may_list_twice=chosen.may_list_twice)
    suggestions = 0

    def unknown_reason(name: str) -> str:
        nonlocal suggestions
        suggestions += 1
        # Only the problems that the error message shows: a search among a million ids takes time.
        close = closest_match(name, questions) if suggestions <= InputError.shown else None
        hint = did_you_mean(name, close) if close is not None else ""
        return f"there is no question {name!r}{hint}"

    def validate(source: Source, read: Read[Prediction]) -> _Validated:
        name, system = read.record.question_id, read.record.system or source.system or ""
        result.systems.setdefault(system)
        if not read.is_named or (by_text and name not in questions):
            found = texts.find(read.question_text)
            if found is None and not read.is_named:
                return _Validated(reason=texts.describe(read.question_text))
            name = found or name
        if name not in questions:
            if chosen.unknown_questions == "note":
                result.unknown_questions.setdefault(system, []).append(name)
                return _Validated()
            return _Validated(reason=unknown_reason(name))
        location = location_of(source, read.line)
        key = (system, name, read.record.repeat)
        if key in first:
            number = f" with repeat {read.record.repeat}" if read.record.repeat else ""
            reason = f"a second prediction of {system!r} for question {name!r}{number}, the first "
            advice = same_text(read) or f"; {chosen.several_answers}"
            return _Validated(reason=reason + first[key] + advice)
        first[key] = location
        if not chosen.is_canonical:
            # The files of other tools say how many answers there are to each question.
            counts.add(source.path, *key)
        if read.question_text is not None and questions[name] not in {None, read.question_text}:
            result.changed_texts.setdefault(system, []).append(name)
        row = {**_plain(read.record), "question_id": name, "system": system}
        return _Validated(rows=(row,))

    fields = {**PREDICTION_FIELDS, "extra": "VARCHAR"}
    longest = _write(sources, chosen.predictions, validate, target, ratio, result)
    result.answer_counts = counts.by_answer()
    lines = JsonLines(path=target, fields=fields, origin=PARSE_EXTRA, max_line_bytes=longest)
    return lines, result


def _plain(record: Record) -> dict[str, Any]:
    row: dict[str, Any] = record.model_dump(exclude_none=True, exclude={"extra", "tags"})
    tags, extra = getattr(record, "tags", None), getattr(record, "extra", None)
    if tags is not None:
        row["tags"] = tags
    if extra is not None:
        row["extra"] = json.dumps(extra, ensure_ascii=False)
    return row


def _write(
    sources: Sequence[Source],
    reader: Reader[R],
    validate: Callable[[Source, Read[R]], _Validated],
    target: Path,
    ratio: float,
    result: ReadResult,
) -> int:
    problems: list[Problem] = []
    is_failed = False
    longest, total = 0, 0
    with target.open("wb") as file:
        for source in sources:
            if source.system is not None:
                result.systems.setdefault(source.system)
            count = 0
            begin = file.tell()
            rejected: list[Rejected] = []
            try:
                for each in _validated(source, reader, validate):
                    count += 1
                    if isinstance(each, Rejected):
                        rejected.append(each)
                        if len(rejected) == (MAX_REJECTED if ratio else MAX_REPORTED):
                            reason = reading_ends(len(rejected))
                            problems.append(Problem(source.path, None, reason))
                            is_failed = True
                            break
                        continue
                    for row in each.rows:
                        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode()
                        longest = max(longest, len(line))
                        file.write(line + b"\n")
                    require_bounded(source.path, file.tell() - begin)
            except InputError as error:
                problems += [each.problem for each in rejected]
                problems += error.problems
                is_failed = True
                continue
            total += count
            if count == 0 and not source.notes:
                problems.append(Problem(source.path, None, "the file is empty"))
                is_failed = True
            problems += [each.problem for each in rejected]
            result.rejected += rejected
            is_failed = is_failed or len(rejected) > ratio * count
    if is_failed:
        raise InputError(problems)
    _require_rows(sources, total)
    result.aliases |= {source.path: source.aliases for source in sources if source.aliases}
    result.file_notes |= {source.path: source.notes for source in sources if source.notes}
    return max(longest + 2, 1 << 20)


def _require_rows(sources: Sequence[Source], count: int) -> None:
    """Check that any of the files has a row, where readers pass over some with a note."""
    if sources and not count:
        raise InputError([Problem(each.path, None, "; ".join(each.notes)) for each in sources])


def _validated(
    source: Source, reader: Reader[R], validate: Callable[[Source, Read[R]], _Validated]
) -> Iterator[_Validated | Rejected]:
    for each in reader(source):
        if isinstance(each, Reject):
            problem = Problem(source.path, each.line, each.reason)
            yield Rejected(problem, source.system, each.text)
            continue
        validated = validate(source, each)
        if validated.reason is None:
            yield validated
        else:
            problem = Problem(source.path, each.line, validated.reason)
            yield Rejected(problem, source.system, each.text)


def location_of(source: Source, line: int | None) -> str:
    """Return the location of a record, such as `in questions.jsonl:7`."""
    return f"in {source.path}" if line is None else f"in {source.path}:{line}"


class DuplicateCheck:
    """Finds records that occur twice; identical ones are accepted if records may repeat.

    It keeps a hash of each field, so that millions of records fit into memory.
    """

    def __init__(self, *, may_repeat: bool) -> None:
        self._may_repeat = may_repeat
        self._first: dict[str, str] = {}
        self._hashes: dict[str, dict[str, int]] = {}

    def check(self, record: str, location: str, row: Mapping[str, Any]) -> tuple[bool, str | None]:
        """Check a record, such as `question 'q1'`, against the earlier ones.

        Returns:
            Whether it is new, and the reason why it is rejected (null: it is new or identical).
        """
        is_new = record not in self._first
        first = self._first.setdefault(record, location)
        if not self._may_repeat:
            return is_new, None if is_new else f"{record} occurs twice, first {first}"
        hashes = {name: hash(json.dumps(value, sort_keys=True)) for name, value in row.items()}
        before = self._hashes.setdefault(record, hashes)
        differing = sorted(name for name in hashes | before if hashes.get(name) != before.get(name))
        if not differing:
            return is_new, None
        return False, f"{record} differs from the one {first} in {', '.join(differing)}"
