"""What an input format is: readers that turn files into records, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeVar

from warehouse.formats.records.record import Record

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.formats.records.document import Document
    from warehouse.formats.records.prediction import Prediction
    from warehouse.formats.records.question import Question

SHOWN: Final = 500
"""The characters of a rejected row that are kept."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file to be read.

    Attributes:
        path: The file, as the user named it.
        system: The system that its path names, for predictions; null when it names none.
        answered_in: The files of predictions that answer its questions, where the format reads
            `questions_from` both.
    """

    path: Path
    system: str | None = None
    answered_in: tuple[Path, ...] = ()


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Read(Generic[R]):
    """A record that was read.

    Attributes:
        record: The record.
        line: Where it begins: the line from 1 (in Parquet files the row).
        text: The beginning of the row as it stands in the file.
        asked: The question's text as a file of predictions repeats it.
    """

    record: R
    line: int | None
    text: str = ""
    question_text: str | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """A row that cannot be used.

    Attributes:
        line: Where it begins: the line from 1 (in Parquet files the row).
        reason: What is wrong and what was expected.
        text: The beginning of the row as it stands in the file.
    """

    line: int | None
    reason: str
    text: str = ""


Reader = Callable[[Source], Iterator[Read[R] | Reject]]
"""Reads a file row by row.

A file that cannot be read at all raises InputError with the file and, where it is known, the line.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An input format.

    Attributes:
        name: The name that configurations use.
        summary: One sentence about it.
        predictions: Reads files of predictions.
        questions: Reads questions.
        documents: Reads documents; null when the format has none.
        questions_from: Which files questions and documents are read from: their own, those of the
            predictions (where several may hold the same question, if all say the same of it), or
            questions from their own with a look at those of the predictions.
        version: Raised when the same files give other records than before.
        unknown_questions: What a prediction for an unknown question is: a fault of the file, only
            worth a note, or one for the only question with the text that the file repeats (a
            fault if there is none).
        missing_predictions: What becomes of a question that a system left out: a failed answer,
            or an answer that retrieved nothing.
        is_canonical: Whether the fields of its files are those of the records themselves.
    """

    name: str
    summary: str
    predictions: Reader[Prediction]
    questions: Reader[Question]
    documents: Reader[Document] | None = None
    questions_from: Literal["files", "predictions", "both"] = "files"
    version: int = 1
    unknown_questions: Literal["reject", "note", "match by text"] = "reject"
    missing_predictions: Literal["failed", "nothing retrieved"] = "failed"
    is_canonical: bool = False
