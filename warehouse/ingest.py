"""Reads input files into the tables questions, documents, predictions and rejects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warehouse.arrivals import (
    finish_predictions,
    finish_questions,
    notes_on,
    put_predictions,
    put_questions,
    require_known,
    require_rules,
)
from warehouse.careful import write_documents, write_predictions, write_questions
from warehouse.digests import predictions_digest, questions_digest
from warehouse.errors import Problem, WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Source
from warehouse.nearest import Nearest
from warehouse.outcome import Outcome
from warehouse.sources import require_usable, sources
from warehouse.swift import Declined, prediction_lines, question_lines
from warehouse.usual import PREDICTION_RULES, QUESTION_RULES
from warehouse.workplace import folder_beside, surveying

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.formats.format import Format
    from warehouse.normal import Lines
    from warehouse.store import Warehouse


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested:
    """What came of reading files.

    Attributes:
        rows: The rows of `questions`, or of `predictions`, that the benchmark has now.
        problems: The rows that were left out, and why.
        notes: What is worth knowing and is no fault: left out questions and the like.
        digest: The digest of the files and of how they were read.
        unchanged: Whether all was as before, so that nothing was done.
    """

    rows: int
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    digest: str
    unchanged: bool = False

    @property
    def rejected(self) -> int:
        """The number of rows that were left out."""
        return len(self.problems)


def ingest_questions(
    warehouse: Warehouse,
    *,
    benchmark: str,
    format: str,  # noqa: A002 - what users call it
    questions: Sequence[Path] = (),
    documents: Sequence[Path] = (),
    predictions: Sequence[tuple[Path, str | None]] = (),
    max_reject_ratio: float = 0.0,
    force: bool = False,
) -> Ingested:
    """Replaces the questions and documents of a benchmark by those of files.

    Args:
        warehouse: The warehouse.
        benchmark: The benchmark.
        format: The name of the files' format.
        questions: The files of questions.
        documents: The files of documents.
        predictions: The files of predictions, each with the system that its path names; read only
            where the format has questions in them.
        max_reject_ratio: The share of a file's rows that may be unusable, from 0 to 1.
        force: Whether to read files that have not changed.

    Returns:
        What came of it. `unchanged` when files and settings are those of the last time.

    Raises:
        InputError: The files cannot be used; names every problem. The warehouse is as before.
        UnknownFormat: There is no such format.
    """
    chosen = format_named(format)
    given = sources(chosen, benchmark, questions, documents, predictions)
    digest = questions_digest(chosen, questions, documents, max_reject_ratio, predictions)
    if not force and warehouse.marks(benchmark).get("questions") == digest:
        return _unchanged(warehouse, benchmark, "questions", digest)
    with folder_beside(warehouse) as folder:
        texts, told = None, Outcome()
        may_repeat = chosen.questions_from == "predictions"
        if given.documents and chosen.documents is not None:
            texts, told = write_documents(
                given.documents,
                chosen.documents,
                folder / "documents.jsonl",
                max_reject_ratio,
                may_repeat=may_repeat,
            )
        try:
            swift = _swift_questions(warehouse, chosen, questions)
            outcome = Outcome()
            with warehouse.transaction() as transaction:
                transaction.keep_text_plain()
                rows = put_questions(transaction, benchmark, swift)
                require_rules(transaction, "questions", benchmark, QUESTION_RULES)
                finish_questions(transaction, benchmark, texts, outcome, told, digest)
        except Declined:
            lines, outcome = write_questions(
                given.questions,
                chosen.questions,
                folder / "questions.jsonl",
                max_reject_ratio,
                may_repeat=may_repeat,
            )
            with warehouse.transaction() as transaction:
                rows = put_questions(transaction, benchmark, [lines])
                finish_questions(transaction, benchmark, texts, outcome, told, digest)
    problems = [each.problem for each in (*outcome.rejected, *told.rejected)]
    return Ingested(rows=rows, problems=tuple(problems), digest=digest)


def ingest_predictions(
    warehouse: Warehouse,
    *,
    benchmark: str,
    format: str,  # noqa: A002 - what users call it
    files: Sequence[tuple[Path, str | None]],
    max_reject_ratio: float = 0.0,
    force: bool = False,
) -> Ingested:
    """Replaces the predictions of a benchmark by those of files.

    Every system that a path or row names gets a row for every question of the benchmark, which
    must have been ingested before. Systems that occur no more are removed.

    Args:
        warehouse: The warehouse.
        benchmark: The benchmark.
        format: The name of the files' format.
        files: The files, each with the system that its path names.
        max_reject_ratio: The share of a file's rows that may be unusable, from 0 to 1.
        force: Whether to read files that have not changed.

    Returns:
        What came of it; its digest covers the questions, too.

    Raises:
        InputError: The files cannot be used; names every problem. The warehouse is as before.
        UnknownFormat: There is no such format.
    """
    chosen = format_named(format)
    marks = warehouse.marks(benchmark)
    if "questions" not in marks:
        raise WarehouseError(f"benchmark {benchmark!r} has no questions: ingest them first")
    require_usable(files)
    digest = predictions_digest(chosen, files, max_reject_ratio, marks["questions"])
    if not force and marks.get("predictions") == digest:
        return _unchanged(warehouse, benchmark, "predictions", digest)
    try:
        swift = _swift_predictions(warehouse, chosen, files)
        outcome = Outcome(systems={system: None for _, system in files if system is not None})
        with warehouse.transaction() as transaction:
            transaction.keep_text_plain()
            put_predictions(transaction, benchmark, swift)
            require_rules(transaction, "predictions", benchmark, PREDICTION_RULES)
            require_known(transaction, benchmark)
            rows, notes = finish_predictions(transaction, benchmark, chosen, outcome, digest)
    except Declined:
        with folder_beside(warehouse) as folder:
            known = warehouse.fetch(
                "SELECT question_id, question FROM questions WHERE benchmark = $benchmark",
                {"benchmark": benchmark},
            )
            lines, outcome = write_predictions(
                [Source(path, system) for path, system in files],
                chosen.predictions,
                folder / "predictions.jsonl",
                max_reject_ratio,
                dict(known.iter_rows()),
                None if chosen.unknown_questions == "note" else Nearest(known["question_id"]),
                by_text=chosen.unknown_questions == "match by text",
            )
            with warehouse.transaction() as transaction:
                put_predictions(transaction, benchmark, [lines])
                rows, notes = finish_predictions(transaction, benchmark, chosen, outcome, digest)
    problems = tuple(each.problem for each in outcome.rejected)
    return Ingested(rows=rows, problems=problems, notes=(*notes, *notes_on(outcome)), digest=digest)


def _unchanged(warehouse: Warehouse, benchmark: str, table: str, digest: str) -> Ingested:
    where = {"benchmark": benchmark}
    counted = warehouse.fetch(
        f"SELECT count(*) FROM {table} WHERE benchmark = $benchmark",  # noqa: S608
        where,
    )
    kinds = "('predictions')" if table == "predictions" else "('questions', 'documents')"
    rejects = warehouse.fetch(
        f"SELECT file, line, reason FROM rejects WHERE benchmark = $benchmark AND kind IN {kinds} "  # noqa: S608
        "ORDER BY ALL",
        where,
    )
    return Ingested(
        rows=int(counted.item()),
        problems=tuple(Problem(*row) for row in rejects.iter_rows()),
        digest=digest,
        unchanged=True,
    )


def _swift_questions(warehouse: Warehouse, chosen: Format, files: Sequence[Path]) -> list[Lines]:
    if not chosen.is_canonical:
        raise Declined(chosen.name)
    with surveying(warehouse) as connection:
        return [question_lines(connection, path) for path in files]


def _swift_predictions(
    warehouse: Warehouse, chosen: Format, files: Sequence[tuple[Path, str | None]]
) -> list[Lines]:
    if not chosen.is_canonical:
        raise Declined(chosen.name)
    with surveying(warehouse) as connection:
        return [prediction_lines(connection, path, system) for path, system in files]
