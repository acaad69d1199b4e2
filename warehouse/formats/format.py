"""The description of an input format: readers that yield records one by one."""

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
        path: The path as the user wrote it.
        system: The system named by the path, for predictions; null if there is none.
        answered_in: The files of predictions for its questions, if the format reads
            `questions_from` both.
    """

    path: Path
    system: str | None = None
    answered_in: tuple[Path, ...] = ()


R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Read(Generic[R]):
    """A valid record.

    Attributes:
        record: The record.
        line: Where it begins: the line from 1 (in Parquet files the row).
        text: The beginning of the row in the file.
        question_text: The text of the question in a file of predictions.
    """

    record: R
    line: int | None
    text: str = ""
    question_text: str | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """A rejected row: what is wrong and what was expected; `line` and `text` are as in `Read`."""

    line: int | None
    reason: str
    text: str = ""


Reader = Callable[[Source], Iterator[Read[R] | Reject]]
"""Reads a file row by row.

It raises InputError, with the line if known, if the whole file cannot be read.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """An input format.

    Attributes:
        name: The name that configurations use.
        summary: A description in one sentence.
        predictions: Reads files of predictions.
        questions: Reads questions.
        documents: Reads documents; null when the format has none.
        questions_from: The files of questions and documents: their own files, the files of
            predictions (which may repeat identical questions), or both (questions from their own
            files, together with the files of predictions).
        version: Increase it when the same files give other records than before.
        unknown_questions: How to treat a prediction for an unknown question: reject it, note it, or
            match it by the text of the question, and reject it if that fails.
        missing_predictions: How to treat a missing prediction: as a failed answer, or as an answer
            that retrieved nothing.
        is_canonical: Whether the files have the field names of the records.
        is_streamed: Whether the readers yield the first records before they have read the file.
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
    is_streamed: bool = True
