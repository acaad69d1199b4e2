"""The load plan of one benchmark: reads files before the transaction, writes rows within it.

Questions and predictions each take one of two routes. On the fast path DuckDB reads the files and
`NotFastPath` refuses unusual ones. Row-by-row validation writes the valid rows to a scratch file.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from warehouse.formats.format import Source
from warehouse.ingest.fast_path import scan_predictions, scan_questions
from warehouse.ingest.load import (
    finish_predictions,
    finish_questions,
    prediction_notes,
    replace_predictions,
    replace_questions,
    require_known_questions,
)
from warehouse.ingest.result import ReadResult
from warehouse.ingest.row_by_row import write_documents, write_predictions, write_questions
from warehouse.ingest.sources import select_sources
from warehouse.storage.connection_pool import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from warehouse.errors import Problem
    from warehouse.formats.format import Format
    from warehouse.ingest.rows_sql import JsonLines
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFiles:
    """The input files of one benchmark, and the name of their format.

    The paths of `predictions` come with the systems that they name. `max_reject_ratio` is the share
    of a file's rows that may be rejected, from 0 to 1.
    """

    benchmark: str
    format: str
    questions: Sequence[Path] = ()
    documents: Sequence[Path] = ()
    predictions: Sequence[tuple[Path, str | None]] = ()
    max_reject_ratio: float = 0.0


@dataclass(slots=True, kw_only=True)
class QuestionLoad:
    """Loads the questions and documents of a benchmark."""

    files: BenchmarkFiles
    format: Format
    digest: str
    is_fast: bool
    questions: list[JsonLines] = field(default_factory=list)
    question_result: ReadResult = field(default_factory=ReadResult)
    documents: JsonLines | None = None
    document_result: ReadResult = field(default_factory=ReadResult)

    def prepare(self, warehouse: Warehouse, folder: Path) -> None:
        """Read the files as far as possible before the transaction.

        Raises:
            InputError: The files are not valid; lists every problem.
            NotFastPath: They need row-by-row validation.
        """
        files = self.files
        sources = select_sources(
            self.format, files.benchmark, files.questions, files.documents, files.predictions
        )
        may_repeat = self.format.questions_from == "predictions"
        if sources.documents and self.format.documents is not None:
            self.documents, self.document_result = write_documents(
                sources.documents,
                self.format.documents,
                folder / "documents.jsonl",
                files.max_reject_ratio,
                may_repeat=may_repeat,
            )
        if self.is_fast:
            with in_memory_duckdb(warehouse) as connection:
                self.questions = [scan_questions(connection, path) for path in files.questions]
            return
        lines, self.question_result = write_questions(
            sources.questions,
            self.format.questions,
            folder / "questions.jsonl",
            files.max_reject_ratio,
            may_repeat=may_repeat,
        )
        self.questions = [lines]

    def question_texts(self, warehouse: Warehouse) -> pl.DataFrame:
        """Return the ids and texts of the prepared questions."""
        with in_memory_duckdb(warehouse) as connection:
            return pl.concat(
                connection.execute(
                    "SELECT question_id, "  # noqa: S608
                    f"{'question' if 'question' in lines.fields else 'NULL::VARCHAR AS question'} "
                    f"FROM {lines.relation}"
                ).pl()
                for lines in self.questions
            )

    def write(self, transaction: Transaction) -> int:
        """Replace the benchmark's questions and documents; return the number of questions.

        Raises:
            NotFastPath: The files need row-by-row validation.
        """
        benchmark = self.files.benchmark
        rows = replace_questions(transaction, benchmark, self.questions)
        finish_questions(
            transaction,
            benchmark,
            self.documents,
            self.question_result,
            self.document_result,
            self.digest,
        )
        return rows

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the rejected rows."""
        rejected = (*self.question_result.rejected, *self.document_result.rejected)
        return tuple(each.problem for each in rejected)


@dataclass(slots=True, kw_only=True)
class PredictionLoad:
    """Loads the predictions of a benchmark."""

    files: BenchmarkFiles
    format: Format
    digest: str
    is_fast: bool
    lines: list[JsonLines] = field(default_factory=list)
    result: ReadResult = field(default_factory=ReadResult)

    def prepare(self, warehouse: Warehouse, folder: Path, questions: QuestionLoad | None) -> None:
        """Read the files as far as possible before the transaction.

        `questions` is the load of the benchmark's questions if they change, too.

        Raises:
            InputError: The files are not valid; lists every problem.
            NotFastPath: They need row-by-row validation.
        """
        files = self.files
        if self.is_fast:
            with in_memory_duckdb(warehouse) as connection:
                self.lines = [scan_predictions(connection, *file) for file in files.predictions]
            systems = {system: None for _, system in files.predictions if system is not None}
            self.result = ReadResult(systems=systems)
            return
        if questions is not None:
            known = questions.question_texts(warehouse)
        else:
            known = warehouse.fetch(
                "SELECT question_id, question FROM questions WHERE benchmark = $benchmark",
                {"benchmark": files.benchmark},
            )
        lines, self.result = write_predictions(
            [Source(path, system) for path, system in files.predictions],
            self.format.predictions,
            folder / "predictions.jsonl",
            files.max_reject_ratio,
            dict(known.iter_rows()),
            unknown=self.format.unknown_questions,
        )
        self.lines = [lines]

    def write(self, transaction: Transaction) -> tuple[int, tuple[str, ...]]:
        """Replace the benchmark's predictions; return their number and notes.

        Raises:
            NotFastPath: The files need row-by-row validation.
        """
        benchmark = self.files.benchmark
        replace_predictions(transaction, benchmark, self.lines)
        if self.is_fast:
            require_known_questions(transaction, benchmark)
        rows, notes = finish_predictions(
            transaction, benchmark, self.format, self.result, self.digest
        )
        return rows, (*notes, *prediction_notes(self.result))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the rejected rows."""
        return tuple(each.problem for each in self.result.rejected)


@contextmanager
def in_memory_duckdb(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open an in-memory DuckDB with the limits of a warehouse."""
    with connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET memory_limit = $limit", {"limit": warehouse.memory_limit})
        if warehouse.threads is not None:
            connection.execute("SET threads = $threads", {"threads": warehouse.threads})
        connection.execute("SET preserve_insertion_order = false")
        yield connection
