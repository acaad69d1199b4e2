"""The load plan of one benchmark: reads files before the transaction, writes rows within it.

Questions and predictions each take one of two routes. On the fast path DuckDB reads the files and
`NotFastPath` refuses unusual ones. Row-by-row validation writes the valid rows to a scratch file.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl

from warehouse.errors import WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.columns import Columns
from warehouse.formats.expansion import expand_format
from warehouse.formats.format import Source
from warehouse.formats.missing_answers import MissingAnswers
from warehouse.formats.paths import require_valid_systems
from warehouse.ingest.fast_path import NotFastPath, scan_predictions, scan_questions
from warehouse.ingest.load import (
    finish_predictions,
    finish_questions,
    insert_predictions,
    insert_questions,
    prediction_notes,
    require_known_questions,
)
from warehouse.ingest.result import Ingested, ReadResult
from warehouse.ingest.row_by_row import write_documents, write_predictions, write_questions
from warehouse.ingest.rows_sql import select_predictions, select_questions
from warehouse.ledger.answers import insert_answers
from warehouse.storage.connection import connect_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from warehouse.formats.expansion import Expansion
    from warehouse.formats.format import Format
    from warehouse.formats.query import InputFile
    from warehouse.ingest.rows_sql import JsonLines
    from warehouse.ledger.answers import SystemAnswers
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFiles:
    """The input files of one benchmark, the name of their format, and answers of systems.

    The paths of `predictions` come with the systems that they name. `max_reject_ratio` is the share
    of a file's rows that may be rejected, from 0 to 1. `columns` says which of their columns become
    which fields and tags, and `missing` what missing answers mean. The predictions in `renamed`
    files have the names of fields already. `answers` are those of systems that are asked.
    `expansion` makes several questions of each in the files.
    """

    benchmark: str
    format: str
    questions: Sequence[InputFile] = ()
    documents: Sequence[InputFile] = ()
    predictions: Sequence[tuple[InputFile, str | None]] = ()
    max_reject_ratio: float = 0.0
    columns: Columns = field(default_factory=Columns)
    missing: MissingAnswers = field(default_factory=MissingAnswers)
    renamed: frozenset[InputFile] = frozenset()
    answers: Sequence[SystemAnswers] = ()
    expansion: Expansion | None = None

    @property
    def input_format(self) -> Format:
        """The format, with the expansion.

        Raises:
            UnknownFormat: It does not exist.
        """
        return expand_format(format_named(self.format), self.expansion)

    @property
    def prediction_sources(self) -> tuple[Source, ...]:
        """The files of predictions; InputError if `columns` names a system that no path names."""
        self.columns.require_systems(self.predictions)
        is_both = self.input_format.questions_from == "predictions"
        beside = [path for path, _ in self.prediction_paths] if is_both else self.question_paths
        return tuple(
            replace(
                Source.of(file, system),
                columns={} if file in self.renamed else self.columns.predictions_of(system),
                beside=tuple(beside),
            )
            for file, system in self.predictions
        )

    @property
    def question_paths(self) -> list[Path]:
        """The files among the questions, without queries."""
        return [file for file in self.questions if isinstance(file, Path)]

    @property
    def prediction_paths(self) -> list[tuple[Path, str | None]]:
        """The files among the predictions, without queries."""
        return [(file, system) for file, system in self.predictions if isinstance(file, Path)]


@dataclass(slots=True, kw_only=True)
class Load(ABC):
    """Loads the questions or the predictions of a benchmark.

    Attributes:
        files: The files.
        format: Their format.
        digest: The digest of the files.
        folder: A folder for scratch files.
        is_fast: Whether DuckDB reads the files; false once the fast path has refused one of them.
    """

    files: BenchmarkFiles
    format: Format
    digest: str
    folder: Path
    is_fast: bool

    def prepare(self, warehouse: Warehouse) -> None:
        """Read the files as far as possible before the transaction.

        Raises:
            InputError: The files are not valid; lists every problem.
        """
        if not self.is_fast:
            self.read_rows(warehouse)
            return
        try:
            self.scan()
        except NotFastPath:
            self.read_rows(warehouse)

    def verify(self, warehouse: Warehouse) -> None:
        """Let DuckDB compute the rows; if it refuses one, read row by row.

        Raises:
            InputError: The files are not valid; lists every problem.
        """
        try:
            with connect_memory(warehouse.settings) as connection:
                for select, parameters in self.selects():
                    # The hash of a row needs all of its values.
                    hashes = f"SELECT bit_xor(hash(r)) FROM ({select}) AS r"  # noqa: S608
                    connection.execute(hashes, parameters).fetchall()
        except duckdb.Error:
            self.read_rows(warehouse)

    @abstractmethod
    def scan(self) -> None:
        """Find out how DuckDB reads the files.

        Raises:
            NotFastPath: They need row-by-row validation.
        """

    @abstractmethod
    def read_rows(self, warehouse: Warehouse) -> None:
        """Read the files row by row, and write the valid rows to scratch files.

        Raises:
            InputError: The files are not valid; lists every problem.
        """

    @abstractmethod
    def selects(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the query for the rows of each file, with its parameters."""

    @property
    @abstractmethod
    def replaces(self) -> tuple[str, ...]:
        """The tables from which the benchmark's rows are deleted before it writes."""

    @abstractmethod
    def write(self, transaction: Transaction) -> Ingested:
        """Write the rows of the benchmark.

        Raises:
            NotFastPath: The files need row-by-row validation.
        """


@dataclass(slots=True, kw_only=True)
class QuestionLoad(Load):
    """Loads the questions and documents of a benchmark."""

    questions: list[JsonLines] = field(default_factory=list)
    question_result: ReadResult = field(default_factory=ReadResult)
    documents: JsonLines | None = None
    document_result: ReadResult = field(default_factory=ReadResult)

    def prepare(self, warehouse: Warehouse) -> None:
        """Read the documents, and the questions as any load."""
        _, sources = _select_sources(self.format, self.files)
        if sources and self.format.documents is not None:
            self.documents, self.document_result = write_documents(
                sources,
                self.format.documents,
                self.folder / "documents.jsonl",
                self.files.max_reject_ratio,
                may_repeat=self.format.questions_from == "predictions",
            )
        Load.prepare(self, warehouse)

    def scan(self) -> None:
        """Find out how DuckDB reads the files of questions."""
        self.questions = [scan_questions(path) for path in self.files.question_paths]

    def read_rows(self, warehouse: Warehouse) -> None:  # noqa: ARG002 - as every load
        """Read the questions row by row."""
        self.is_fast = False
        sources, _ = _select_sources(self.format, self.files)
        lines, self.question_result = write_questions(
            sources,
            self.format.questions,
            self.folder / "questions.jsonl",
            self.files.max_reject_ratio,
            may_repeat=self.format.questions_from == "predictions",
            tags=self.files.columns.tags,
        )
        self.questions = [lines]

    def selects(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the query for the questions of each file."""
        for lines in self.questions:
            values = {"benchmark": self.files.benchmark, **lines.parameters}
            yield select_questions(lines), values

    def question_texts(self, warehouse: Warehouse) -> pl.DataFrame:
        """Return the ids and texts of the prepared questions."""
        with connect_memory(warehouse.settings) as connection:
            return pl.concat(
                connection.execute(
                    "SELECT question_id, "  # noqa: S608
                    f"{'question' if 'question' in lines.fields else 'NULL::VARCHAR AS question'} "
                    f"FROM {lines.relation}"
                ).pl()
                for lines in self.questions
            )

    @property
    def replaces(self) -> tuple[str, ...]:
        """All questions and documents."""
        return "questions", "documents"

    def write(self, transaction: Transaction) -> Ingested:
        """Write the benchmark's questions and documents."""
        benchmark = self.files.benchmark
        rows = insert_questions(transaction, benchmark, self.selects())
        results = (self.question_result, self.document_result)
        notes = finish_questions(transaction, benchmark, self.documents, *results)
        rejected = [reject for result in results for reject in result.rejected]
        return Ingested(
            rows=rows,
            problems=tuple(each.problem for each in rejected),
            notes=tuple(notes),
            digest=self.digest,
        )


@dataclass(slots=True, kw_only=True)
class PredictionLoad(Load):
    """Loads the predictions of a benchmark; `questions` loads its questions if they change, too."""

    questions: QuestionLoad | None
    lines: list[JsonLines] = field(default_factory=list)
    result: ReadResult = field(default_factory=ReadResult)

    def scan(self) -> None:
        """Find out how DuckDB reads the files of predictions."""
        self.lines = [scan_predictions(*file) for file in self.files.prediction_paths]
        systems = {system: None for _, system in self.files.prediction_paths if system is not None}
        self.result = ReadResult(systems=systems)

    def read_rows(self, warehouse: Warehouse) -> None:
        """Read the predictions row by row; questions that change must have been prepared."""
        self.is_fast = False
        files = self.files
        if self.questions is not None:
            known = self.questions.question_texts(warehouse)
        else:
            known = warehouse.fetch(
                "SELECT question_id, question FROM questions WHERE benchmark = $benchmark",
                {"benchmark": files.benchmark},
            )
        lines, self.result = write_predictions(
            files.prediction_sources,
            self.format,
            self.folder / "predictions.jsonl",
            files.max_reject_ratio,
            dict(known.iter_rows()),
        )
        self.lines = [lines]

    def selects(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        """Yield the query for the predictions of each file."""
        for lines in self.lines:
            values = {"benchmark": self.files.benchmark, **lines.parameters}
            yield select_predictions(lines), values

    @property
    def replaces(self) -> tuple[str, ...]:
        """All predictions."""
        return ("predictions",)

    def write(self, transaction: Transaction) -> Ingested:
        """Write the benchmark's predictions."""
        insert_predictions(transaction, self.selects())
        return self.finish(transaction)

    def finish(self, transaction: Transaction) -> Ingested:
        """Check the benchmark's predictions, add answers of systems, and fill in the missing ones.

        Raises:
            NotFastPath: The files need row-by-row validation.
            InputError: Answers are not valid, or files have answers of the same system.
        """
        files = self.files
        if self.is_fast:
            require_known_questions(transaction, files.benchmark)
        rejected = insert_answers(
            transaction, files.benchmark, files.answers, files.max_reject_ratio
        )
        # Not in place: the transaction may be repeated.
        result = replace(
            self.result,
            rejected=[*self.result.rejected, *rejected],
            systems=self.result.systems | dict.fromkeys(each.system for each in files.answers),
        )
        rows, notes = finish_predictions(
            transaction, files.benchmark, self.format, result, files.missing
        )
        return Ingested(
            rows=rows,
            problems=tuple(each.problem for each in result.rejected),
            notes=(*notes, *prediction_notes(result)),
            digest=self.digest,
        )


def has_queries(files: Iterable[InputFile]) -> bool:
    """Return whether some rows come from a database."""
    return any(not isinstance(each, Path) for each in files)


def _select_sources(
    chosen: Format, files: BenchmarkFiles
) -> tuple[tuple[Source, ...], tuple[Source, ...]]:
    """Return the files from which a format reads questions, and those of documents.

    Raises:
        WarehouseError: Required files are missing, or the format does not have such files.
        InputError: The system named by a path is not a valid name.
    """
    require_valid_systems(files.prediction_paths)
    if chosen.questions_from == "predictions":
        if files.questions or files.documents:
            raise WarehouseError(
                f"the format {chosen.name!r} reads questions and documents from the predictions: "
                "leave out `questions` and `documents`"
            )
        if not files.predictions:
            raise WarehouseError(f"benchmark {files.benchmark!r} has no files of predictions")
        sources = tuple(
            replace(source, tags=files.columns.tags) for source in files.prediction_sources
        )
        return sources, sources if chosen.documents is not None else ()
    if files.documents and chosen.documents is None:
        raise WarehouseError(f"the format {chosen.name!r} has no documents")
    if not files.questions:
        raise WarehouseError(f"benchmark {files.benchmark!r} has no files of questions")
    documents = tuple(
        replace(Source.of(file), columns=files.columns.documents) for file in files.documents
    )
    if chosen.folders is not None and chosen.folders.reads_together:
        first, *beside = files.question_paths
        return (Source(first, beside=tuple(beside), tags=files.columns.tags),), documents
    with_answers = files.predictions if chosen.questions_from == "both" else ()
    answers = tuple(file for file, _ in with_answers if isinstance(file, Path))
    return (
        tuple(
            replace(
                Source.of(file),
                answered_in=answers,
                beside=tuple(path for path in files.question_paths if path != file),
                columns=files.columns.questions,
                tags=files.columns.tags,
            )
            for file in files.questions
        ),
        documents,
    )
