"""What one benchmark's files become: prepared without the warehouse, put into it at once.

Questions and predictions are each prepared in one of two lanes. Swiftly, DuckDB will read the files
itself, and whatever turns out to be unusual declines them; carefully, they are read row by row
and written to a scratch file that is known to be right.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from warehouse.formats.format import Source
from warehouse.ingest.fast_path import prediction_lines, question_lines
from warehouse.ingest.load import (
    finish_predictions,
    finish_questions,
    notes_on,
    put_predictions,
    put_questions,
    require_known,
)
from warehouse.ingest.result import Outcome
from warehouse.ingest.row_by_row import Nearest, write_documents, write_predictions, write_questions
from warehouse.ingest.sources import sources
from warehouse.storage.connection_pool import connect

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import duckdb

    from warehouse.errors import Problem
    from warehouse.formats.format import Format
    from warehouse.ingest.rows_sql import Lines
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The files of one benchmark, and how they are to be read.

    Attributes:
        benchmark: The benchmark.
        format: The name of the files' format.
        questions: The files of questions.
        documents: The files of documents.
        predictions: The files of predictions, each with the system that its path names.
        max_reject_ratio: The share of a file's rows that may be unusable, from 0 to 1.
    """

    benchmark: str
    format: str
    questions: Sequence[Path] = ()
    documents: Sequence[Path] = ()
    predictions: Sequence[tuple[Path, str | None]] = ()
    max_reject_ratio: float = 0.0


@dataclass(slots=True, kw_only=True)
class QuestionReading:
    """A benchmark's questions and documents on their way into the warehouse."""

    files: Files
    chosen: Format
    digest: str
    swift: bool
    lines: list[Lines] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    texts: Lines | None = None
    told: Outcome = field(default_factory=Outcome)

    def prepare(self, warehouse: Warehouse, folder: Path) -> None:
        """Read what has to be read before the warehouse is written to.

        Raises:
            InputError: The files cannot be used; names every problem.
            Declined: They are not for the swift lane.
        """
        files = self.files
        given = sources(
            self.chosen, files.benchmark, files.questions, files.documents, files.predictions
        )
        repeated = self.chosen.questions_from == "predictions"
        if self.texts is None and given.documents and self.chosen.documents is not None:
            self.texts, self.told = write_documents(
                given.documents,
                self.chosen.documents,
                folder / "documents.jsonl",
                files.max_reject_ratio,
                may_repeat=repeated,
            )
        if self.swift:
            with surveying(warehouse) as connection:
                self.lines = [question_lines(connection, path) for path in files.questions]
            return
        lines, self.outcome = write_questions(
            given.questions,
            self.chosen.questions,
            folder / "questions.jsonl",
            files.max_reject_ratio,
            may_repeat=repeated,
        )
        self.lines = [lines]

    def known(self, warehouse: Warehouse) -> pl.DataFrame:
        """The ids and texts of the questions that were prepared."""
        with surveying(warehouse) as connection:
            return pl.concat(
                connection.execute(
                    "SELECT question_id, "  # noqa: S608
                    f"{'question' if 'question' in lines.fields else 'NULL::VARCHAR AS question'} "
                    f"FROM {lines.table}"
                ).pl()
                for lines in self.lines
            )

    def put(self, transaction: Transaction) -> int:
        """Replace the benchmark's questions and documents; the number of its questions.

        Raises:
            Declined: Something turned out to be unusual after all.
        """
        benchmark = self.files.benchmark
        rows = put_questions(transaction, benchmark, self.lines)
        finish_questions(transaction, benchmark, self.texts, self.outcome, self.told, self.digest)
        return rows

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The rows that were left out, and why."""
        return tuple(each.problem for each in (*self.outcome.rejected, *self.told.rejected))


@dataclass(slots=True, kw_only=True)
class PredictionReading:
    """A benchmark's predictions on their way into the warehouse."""

    files: Files
    chosen: Format
    digest: str
    swift: bool
    lines: list[Lines] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)

    def prepare(
        self, warehouse: Warehouse, folder: Path, questions: QuestionReading | None
    ) -> None:
        """Read what has to be read before the warehouse is written to.

        Args:
            warehouse: The warehouse.
            folder: Receives what is written in between.
            questions: The benchmark's questions if they are changing, too.

        Raises:
            InputError: The files cannot be used; names every problem.
            Declined: They are not for the swift lane.
        """
        files = self.files
        if self.swift:
            with surveying(warehouse) as connection:
                self.lines = [prediction_lines(connection, *file) for file in files.predictions]
            named = {system: None for _, system in files.predictions if system is not None}
            self.outcome = Outcome(systems=named)
            return
        if questions is not None:
            known = questions.known(warehouse)
        else:
            known = warehouse.fetch(
                "SELECT question_id, question FROM questions WHERE benchmark = $benchmark",
                {"benchmark": files.benchmark},
            )
        unknown = self.chosen.unknown_questions
        lines, self.outcome = write_predictions(
            [Source(path, system) for path, system in files.predictions],
            self.chosen.predictions,
            folder / "predictions.jsonl",
            files.max_reject_ratio,
            dict(known.iter_rows()),
            None if unknown == "note" else Nearest(known["question_id"]),
            by_text=unknown == "match by text",
        )
        self.lines = [lines]

    def put(self, transaction: Transaction) -> tuple[int, tuple[str, ...]]:
        """Replace the benchmark's predictions; the number of them, and what is worth noting.

        Raises:
            Declined: Something turned out to be unusual after all.
        """
        benchmark = self.files.benchmark
        put_predictions(transaction, benchmark, self.lines)
        if self.swift:
            require_known(transaction, benchmark)
        rows, notes = finish_predictions(
            transaction, benchmark, self.chosen, self.outcome, self.digest
        )
        return rows, (*notes, *notes_on(self.outcome))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The rows that were left out, and why."""
        return tuple(each.problem for each in self.outcome.rejected)


@contextmanager
def surveying(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB in memory, set like that of the warehouse and closed at the end of the `with`."""
    with connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET memory_limit = $limit", {"limit": warehouse.memory_limit})
        if warehouse.threads is not None:
            connection.execute("SET threads = $threads", {"threads": warehouse.threads})
        connection.execute("SET preserve_insertion_order = false")
        yield connection
