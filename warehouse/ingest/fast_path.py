"""The fast path: canonical JSON Lines that DuckDB reads without validation in Python.

DuckDB accepts more than JSON allows (NaN, trailing commas) and converts values silently (numbers
to text, 1.5 to 2). A file is therefore decoded first, by types that follow from the records. If
anything is unusual, the scan raises `NotFastPath`, and row-by-row validation, which defines what is
correct, reads the file. Names that occur twice in an object are left to DuckDB, which refuses them
where it reads the members of the object into columns.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from pydantic import Field

from records.decoded_types import OTHER
from records.decoder import Decoder, NotDecoded
from records.prediction import Prediction, Retrieved, may_be_id
from records.question import Question
from records.record import SliceName
from warehouse.errors import InputError
from warehouse.formats.paths import invalid_name_reason
from warehouse.formats.readers.field_names import (
    GIVEN_BY,
    PREDICTION_ALIASES,
    QUESTION_ALIASES,
)
from warehouse.formats.readers.files import kind, pieces
from warehouse.formats.readers.strict_json import NotJsonError, decode
from warehouse.ingest.ranking_sql import retrieved_type
from warehouse.ingest.rows_sql import PREDICTION_FIELDS, QUESTION_FIELDS, JsonLines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from records.decoder import Members


class NotFastPath(Exception):  # noqa: N818 - not a failure
    """The fast path cannot read a file; the message says why."""


_LETTER: Final = Literal[tuple(string.ascii_letters)]

_QUESTIONS: Final[Mapping[str, Any]] = {
    "expected_answer": str | list[str],
    "correct_choice": Annotated[int, Field(ge=0, le=2**31 - 1)] | _LETTER,
    "tags": dict[SliceName, SliceName | float | bool | None],
}
"""Annotations of fields whose values SQL converts as the validators of questions do."""


@dataclass(frozen=True, slots=True)
class _Scanned:
    """What is known of a file after it has been decoded.

    Attributes:
        values: By field that was watched, what its values are.
        max_line_bytes: An upper bound on the length of a line.
    """

    values: Mapping[str, set[Any]]
    max_line_bytes: int


def scan_questions(path: Path) -> JsonLines:
    """Scan a file of questions and return how DuckDB reads it.

    Raises:
        NotFastPath: The file needs row-by-row validation.
    """
    decoder = Decoder(Question, _QUESTIONS, instead=_instead(QUESTION_ALIASES))
    found = _scan(path, decoder, {"expected_answer": type, "correct_choice": type})
    fields = _given(QUESTION_FIELDS, decoder.row)
    if {"gold_relevance", "gold_doc_ids"} <= fields.keys():
        raise NotFastPath("gold_doc_ids and gold_relevance are both given")
    answers = found.values["expected_answer"] - {type(None)}
    if answers == {str}:
        fields["expected_answer"] = "VARCHAR"
    elif str in answers:
        fields["expected_answer"] = "JSON"
    choices = found.values["correct_choice"] - {type(None)}
    if choices == {str}:
        fields["correct_choice"] = "VARCHAR"
    elif str in choices:
        raise NotFastPath("correct_choice is sometimes a letter")
    return JsonLines(
        path=path,
        fields=fields,
        extra_fields=_extra_fields(decoder.row),
        max_line_bytes=found.max_line_bytes,
        origin={"file": "$file"},
        parameters={"file": str(path)},
    )


def scan_predictions(path: Path, system: str | None) -> JsonLines:
    """Scan a file of predictions and return how DuckDB reads it.

    Raises:
        NotFastPath: The file needs row-by-row validation.
    """
    decoder = Decoder(
        Prediction, items={"retrieved": Retrieved}, instead=_instead(PREDICTION_ALIASES)
    )
    found = _scan(path, decoder, {"system": lambda name: name})
    fields = _given(PREDICTION_FIELDS, decoder.row)
    if {"choice_logprobs", "choice_probs"} <= fields.keys():
        raise NotFastPath("choice_logprobs and choice_probs are both given")
    if "repeat" in fields:
        raise NotFastPath("a question may have several answers")
    if "retrieved" in fields:
        documents = decoder.items["retrieved"]
        for name in documents.others:
            if may_be_id(name):
                raise NotFastPath(f"{name} may be the id of a document")
        fields["retrieved"] = retrieved_type(documents.known, _extra_fields(documents))
    _require_systems(found.values["system"], system)
    own = "coalesce(system, $system)" if "system" in fields else "$system"
    return JsonLines(
        path=path,
        fields=fields,
        extra_fields=_extra_fields(decoder.row),
        max_line_bytes=found.max_line_bytes,
        origin={} if system is None else {"system": own},
        parameters={} if system is None else {"system": system},
    )


def _scan(path: Path, decoder: Decoder, watched: Mapping[str, Callable[[Any], Any]]) -> _Scanned:
    """Decode all rows of a file.

    Args:
        path: The file.
        decoder: Learns which members the rows have.
        watched: What to return of the values of fields.
    """
    if kind(path) not in {".jsonl", ".ndjson"}:
        raise NotFastPath("not JSON Lines")
    found: dict[str, set[Any]] = {name: set() for name in watched}
    longest = 0
    count = 0
    try:
        for lines in pieces(path):
            longest = max(longest, len(lines))
            for row in decoder.rows(lines):
                count += 1
                for name, watch in watched.items():
                    found[name].add(watch(getattr(row, name, None)))
                for text, depth in decoder.nested_values(row) if decoder.nested else ():
                    if not _is_simple(text):
                        # In as many lists as in the row, since the depth is limited.
                        decode("[" * depth + text.decode() + "]" * depth)
    except (InputError, NotDecoded, NotJsonError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise NotFastPath(str(error)) from error
    if not count:
        raise NotFastPath("the file is empty")
    return _Scanned(found, longest)


_MEMBERS: Final = msgspec.json.Decoder(dict[str, OTHER])  # type: ignore[valid-type]


def _is_simple(text: bytes) -> bool:
    """Return whether JSON is one object without others, in which no name occurs twice.

    This is so if there are no more colons than names, also in texts. To parse it in Python, which
    finds more names, takes several times as long.
    """
    if text.count(b"{") != 1 or b"[" in text or not text.startswith(b"{"):
        return False
    try:
        return len(_MEMBERS.decode(text)) == text.count(b":")
    except msgspec.ValidationError:  # a number of more than 64 bits
        return False


def _instead(aliases: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return by alias the fields that may have its value."""
    return {
        name: (field, GIVEN_BY[field]) if field in GIVEN_BY else (field,)
        for name, field in aliases.items()
    }


def _given(fields: Mapping[str, str], row: Members) -> dict[str, str]:
    return {name: type_ for name, type_ in fields.items() if name in row.known}


def _extra_fields(members: Members) -> tuple[str, ...]:
    """Return the unknown members, sorted.

    Raises:
        NotFastPath: DuckDB, whose names are case-insensitive, would confuse them.
    """
    names = [*members.record.annotations(), *members.others]
    if len({name.lower() for name in names}) < len(names):
        raise NotFastPath("field names differ only in case")
    if "" in members.others:
        raise NotFastPath("a field has an empty name")
    return tuple(sorted(members.others))


def _require_systems(names: Collection[str | None], system: str | None) -> None:
    for name in names:
        if name is None and system is not None:
            continue
        if name is None or (system is not None and name != system) or invalid_name_reason(name):
            raise NotFastPath("system is missing, contradicts the path or is not a valid name")
