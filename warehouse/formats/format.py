"""The description of an input format: readers that yield records one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeAlias, TypeVar

from records.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from records.document import Document
    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.columns import Target
    from warehouse.formats.query import InputFile, Query

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
        beside: The other files of questions of the benchmark; for predictions, all of them.
        columns: The fields by column, as configured.
        tags: The columns of questions that become tags.
        aliases: Collects the fields by alias that the reader has used.
        notes: Collects what the reader has to say about the file without an error.
        query: The query whose rows are read instead of the file; the path is then its origin.
    """

    path: Path
    system: str | None = None
    answered_in: tuple[Path, ...] = ()
    beside: tuple[Path, ...] = ()
    columns: Mapping[str, Target] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    aliases: dict[str, str] = field(default_factory=dict, compare=False)
    notes: list[str] = field(default_factory=list, compare=False)
    query: Query | None = None

    @classmethod
    def of(cls, file: InputFile, system: str | None = None) -> Source:
        """Return the source of a file or query."""
        if isinstance(file, Path):
            return cls(file, system)
        return cls(Path(str(file)), system, query=file)


SEVERAL_ANSWERS: Final = "several answers are numbered from 0 by the field 'repeat'"
SEVERAL_TRACES: Final = (
    "if they are different questions, give each trace a 'question_id' of its own in its metadata; "
    "if the question was asked several times, number the traces from 0 by 'repeat' in the metadata"
)
"""What to do about a second answer of a system to a question."""

R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Read(Generic[R]):
    """A valid record.

    Attributes:
        record: The record.
        line: Where it begins: the line from 1 (in Parquet files the row).
        text: The beginning of the row in the file.
        question_text: The text of the question in the file.
        is_named: Whether the file has an id for the question; otherwise its text identifies it, and
            the id of the record has no meaning.
    """

    record: R
    line: int | None
    text: str = ""
    question_text: str | None = None
    is_named: bool = True


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


FilesOf: TypeAlias = Callable[[Path, str | None], Sequence[Path]]
"""Returns the files of a folder that belong to a split; without a split, those of the only one.

It raises InputError if the folder has no such files.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """Where a format has its files, if the configuration names folders instead of files.

    Attributes:
        questions: Returns the files of questions.
        documents: Returns the files of documents.
        predictions: Returns the files of predictions; null if the configuration names files.
        documents_with_questions: Whether documents are in the folder of the questions, without a
            key of their own.
        reads_together: Whether all files of questions are one source: the first is read with the
            others `beside` it.
    """

    questions: FilesOf
    documents: FilesOf
    predictions: FilesOf | None = None
    documents_with_questions: bool = False
    reads_together: bool = False


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
        several_answers: What a user can do about a second answer of a system to a question.
        may_list_twice: Whether files may list a question twice, so that it has more answers than
            others.
        is_canonical: Whether the files have the field names of the records.
        has_columns: Whether columns can be named after fields by configuration.
        is_streamed: Whether the readers yield the first records before they have read the file.
        folders: How to find the files in folders; null if the configuration names files.
        expansion: What the questions made of those in the files depend on; null if they are those.
        parameters: Parameters of evaluators that differ from their defaults with such files.
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
    several_answers: str = SEVERAL_ANSWERS
    may_list_twice: bool = False
    is_canonical: bool = False
    has_columns: bool = False
    is_streamed: bool = True
    folders: Folders | None = None
    expansion: str | None = None
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
