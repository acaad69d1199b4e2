"""Reads input files into the tables questions, documents, predictions and rejects."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import duckdb
import polars as pl

from warehouse.careful import Outcome, write_documents, write_predictions, write_questions
from warehouse.errors import InputError, Problem, WarehouseError
from warehouse.fingerprint import fingerprint
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Source
from warehouse.formats.paths import unusable
from warehouse.normal import document_rows, prediction_rows, question_rows
from warehouse.spool import Scratch
from warehouse.swift import (
    PREDICTION_RULES,
    QUESTION_RULES,
    Declined,
    prediction_lines,
    question_lines,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from warehouse.formats.format import Format
    from warehouse.normal import Lines
    from warehouse.store import Warehouse
    from warehouse.transaction import Transaction

VERSION: Final = 1
"""Raised when the same files give other rows than before."""

NO_PREDICTION: Final = "no prediction"
"""The error of a question that a system left out."""

NAMED: Final = 10
"""The questions that a note names."""


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
    questions: Sequence[Path],
    documents: Sequence[Path] = (),
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
        max_reject_ratio: The share of a file's rows that may be unusable, from 0 to 1.
        force: Whether to read files that have not changed.

    Returns:
        What came of it. `unchanged` when files and settings are those of the last time.

    Raises:
        InputError: The files cannot be used; names every problem. The warehouse is as before.
        UnknownFormat: There is no such format.
    """
    chosen = format_named(format)
    if chosen.questions is None:
        raise WarehouseError(f"the format {format!r} has no files of questions of its own")
    if documents and chosen.documents is None:
        raise WarehouseError(f"the format {format!r} has no documents")
    if not questions:
        raise WarehouseError(f"benchmark {benchmark!r} has no files of questions")
    settings = _settings(chosen, max_reject_ratio, str(len(questions)))
    digest = fingerprint([(path, None) for path in (*questions, *documents)], settings)
    if not force and warehouse.marks(benchmark).get("questions") == digest:
        return _unchanged(warehouse, benchmark, "questions", digest)
    with _folder(warehouse) as folder:
        texts, told = None, Outcome()
        if documents and chosen.documents is not None:
            texts, told = write_documents(
                [Source(path) for path in documents],
                chosen.documents,
                folder / "documents.jsonl",
                max_reject_ratio,
            )
        try:
            swift = _swift_questions(warehouse, chosen, questions)
            outcome = Outcome()
            with warehouse.transaction() as transaction:
                rows = _put_questions(transaction, benchmark, swift)
                _require_rules(transaction, "questions", benchmark, QUESTION_RULES)
                _finish_questions(transaction, benchmark, texts, outcome, told, digest)
        except Declined:
            lines, outcome = write_questions(
                [Source(path) for path in questions],
                chosen.questions,
                folder / "questions.jsonl",
                max_reject_ratio,
            )
            with warehouse.transaction() as transaction:
                rows = _put_questions(transaction, benchmark, [lines])
                _finish_questions(transaction, benchmark, texts, outcome, told, digest)
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
    _require_usable(files)
    settings = (*_settings(chosen, max_reject_ratio), marks["questions"])
    digest = fingerprint(files, settings)
    if not force and marks.get("predictions") == digest:
        return _unchanged(warehouse, benchmark, "predictions", digest)
    try:
        swift = _swift_predictions(warehouse, chosen, files)
        outcome = Outcome(systems={system: None for _, system in files if system is not None})
        with warehouse.transaction() as transaction:
            _put_predictions(transaction, benchmark, swift)
            _require_rules(transaction, "predictions", benchmark, PREDICTION_RULES)
            _require_known(transaction, benchmark)
            rows, notes = _finish_predictions(transaction, benchmark, chosen, outcome, digest)
    except Declined:
        with _folder(warehouse) as folder:
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
                None if chosen.unknown_questions == "note" else _Nearest(known["question_id"]),
            )
            with warehouse.transaction() as transaction:
                _put_predictions(transaction, benchmark, [lines])
                rows, notes = _finish_predictions(transaction, benchmark, chosen, outcome, digest)
    problems = tuple(each.problem for each in outcome.rejected)
    return Ingested(rows=rows, problems=problems, notes=(*notes, *_notes(outcome)), digest=digest)


def _settings(chosen: Format, ratio: float, *more: str) -> tuple[str, ...]:
    return (chosen.name, str(chosen.version), str(VERSION), repr(ratio), *more)


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


@contextmanager
def _folder(warehouse: Warehouse) -> Iterator[Path]:
    own = Scratch(warehouse.path).own
    own.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="ingest-", dir=own) as name:
        yield type(own)(name)
    for each in (own, own.parent):
        # Another thread or process may be using it.
        try:
            each.rmdir()
        except OSError:
            break


@contextmanager
def _surveying(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"autoinstall_known_extensions": False}) as connection:
        connection.execute("SET memory_limit = $limit", {"limit": warehouse.memory_limit})
        if warehouse.threads is not None:
            connection.execute("SET threads = $threads", {"threads": warehouse.threads})
        connection.execute("SET preserve_insertion_order = false")
        yield connection


def _swift_questions(warehouse: Warehouse, chosen: Format, files: Sequence[Path]) -> list[Lines]:
    if not chosen.is_canonical:
        raise Declined(chosen.name)
    with _surveying(warehouse) as connection:
        return [question_lines(connection, path) for path in files]


def _swift_predictions(
    warehouse: Warehouse, chosen: Format, files: Sequence[tuple[Path, str | None]]
) -> list[Lines]:
    if not chosen.is_canonical:
        raise Declined(chosen.name)
    with _surveying(warehouse) as connection:
        return [prediction_lines(connection, path, system) for path, system in files]


def _insert(transaction: Transaction, table: str, select: str, values: Mapping[str, object]) -> int:
    try:
        return transaction.execute(f"INSERT INTO {table} BY NAME {select}", values)
    except (duckdb.InvalidInputException, duckdb.DataError, duckdb.IntegrityError) as error:
        raise Declined(str(error)) from error


def _put_questions(transaction: Transaction, benchmark: str, files: Sequence[Lines]) -> int:
    transaction.delete("questions", {"benchmark": benchmark})
    rows = 0
    for lines in files:
        values = {"benchmark": benchmark, **lines.parameters}
        rows += _insert(transaction, "questions", question_rows(lines), values)
    distinct = transaction.fetch(
        "SELECT count(DISTINCT question_id) FROM questions WHERE benchmark = $benchmark",
        {"benchmark": benchmark},
    )
    if distinct.item() < rows:
        raise Declined("a question stands twice, or a row has no id")
    return rows


def _finish_questions(
    transaction: Transaction,
    benchmark: str,
    texts: Lines | None,
    outcome: Outcome,
    told: Outcome,
    digest: str,
) -> None:
    transaction.delete("documents", {"benchmark": benchmark})
    if texts is not None:
        _insert(transaction, "documents", document_rows(texts), {"benchmark": benchmark})
    _put_rejects(transaction, benchmark, "questions", outcome)
    _put_rejects(transaction, benchmark, "documents", told)
    transaction.mark(benchmark, "questions", digest)


def _put_predictions(transaction: Transaction, benchmark: str, files: Sequence[Lines]) -> None:
    transaction.delete("predictions", {"benchmark": benchmark})
    for lines in files:
        values = {"benchmark": benchmark, **lines.parameters}
        _insert(transaction, "predictions", prediction_rows(lines), values)


def _require_rules(
    transaction: Transaction, table: str, benchmark: str, rules: Sequence[str]
) -> None:
    broken = transaction.fetch(
        f"SELECT count(*) FROM {table} WHERE benchmark = $benchmark "  # noqa: S608
        f"AND NOT ({' AND '.join(f'coalesce({rule}, true)' for rule in rules)})",
        {"benchmark": benchmark},
    )
    if broken.item():
        raise Declined("a value is out of its bounds")


def _require_known(transaction: Transaction, benchmark: str) -> None:
    found = transaction.fetch(
        """
        SELECT count(*) - count(DISTINCT (p.system, p.question_id)), count(*) - count(q.question_id)
        FROM predictions p LEFT JOIN questions q
            ON q.benchmark = $benchmark AND q.question_id = p.question_id
        WHERE p.benchmark = $benchmark
        """,
        {"benchmark": benchmark},
    )
    if found.row(0) != (0, 0):
        raise Declined("a prediction stands twice, or its question is not known")


def _finish_predictions(
    transaction: Transaction, benchmark: str, chosen: Format, outcome: Outcome, digest: str
) -> tuple[int, list[str]]:
    notes = []
    where = {"benchmark": benchmark}
    for row in transaction.fetch(
        "SELECT DISTINCT system FROM predictions WHERE benchmark = $benchmark ORDER BY 1", where
    ).iter_rows():
        outcome.systems.setdefault(*row)
    rows, questions = transaction.fetch(
        "SELECT (SELECT count(*) FROM predictions WHERE benchmark = $benchmark), "
        "(SELECT count(*) FROM questions WHERE benchmark = $benchmark)",
        where,
    ).row(0)
    if rows < questions * len(outcome.systems):
        notes = _fill(transaction, benchmark, chosen, outcome)
    _put_rejects(transaction, benchmark, "predictions", outcome)
    transaction.mark(benchmark, "predictions", digest)
    return questions * len(outcome.systems), notes


def _fill(transaction: Transaction, benchmark: str, chosen: Format, outcome: Outcome) -> list[str]:
    transaction.execute(
        """
        CREATE OR REPLACE TEMP TABLE left_out AS
        SELECT s.system, q.question_id
        FROM questions q, (SELECT unnest($systems::VARCHAR[]) AS system) s
        WHERE q.benchmark = $benchmark AND NOT EXISTS (
            SELECT 1 FROM predictions p WHERE p.benchmark = $benchmark
            AND p.system = s.system AND p.question_id = q.question_id
        )
        """,
        {"benchmark": benchmark, "systems": list(outcome.systems)},
    )
    failed = chosen.missing_predictions == "failed"
    gap = f"'{NO_PREDICTION}' AS error" if failed else "[]::VARCHAR[] AS retrieved_doc_ids"
    transaction.execute(
        f"INSERT INTO predictions BY NAME "  # noqa: S608
        f"SELECT $benchmark AS benchmark, system, question_id, {gap} FROM left_out",
        {"benchmark": benchmark},
    )
    notes = [
        f"system {system!r} left out {_questions(count, first)}"
        for system, count, first in transaction.fetch(
            "SELECT system, count(*), min(question_id, $shown) FROM left_out "
            "GROUP BY system ORDER BY system",
            {"shown": NAMED},
        ).iter_rows()
    ]
    transaction.execute("DROP TABLE left_out")
    return notes


def _questions(count: int, first: Sequence[str]) -> str:
    """Such as `3 questions: 'q1', 'q2', 'q3'`."""
    named = ", ".join(repr(name) for name in first[:NAMED])
    more = f" and {count - NAMED} more" if count > NAMED else ""
    return f"{count} question{'s' if count > 1 else ''}: {named}{more}"


def _notes(outcome: Outcome) -> list[str]:
    notes = [
        f"system {system!r} answers questions that are not known, which are passed over: "
        + _questions(len(names), names)
        for system, names in outcome.unknown.items()
    ]
    notes += [
        f"the file of system {system!r} asks otherwise than the benchmark in "
        + _questions(len(names), names)
        for system, names in outcome.asked.items()
    ]
    return notes


def _put_rejects(transaction: Transaction, benchmark: str, kind: str, outcome: Outcome) -> None:
    transaction.delete("rejects", {"benchmark": benchmark, "kind": kind})
    if not outcome.rejected:
        return
    now = datetime.now(UTC).replace(tzinfo=None)
    rows = [
        {
            "benchmark": benchmark,
            "kind": kind,
            "system": each.system,
            "file": str(each.problem.file),
            "line": each.problem.line,
            "reason": each.problem.message,
            "text": each.text,
            "rejected_at": now,
        }
        for each in outcome.rejected
    ]
    schema = {"system": pl.String, "line": pl.Int64}
    transaction.append("rejects", pl.DataFrame(rows, schema_overrides=schema))


def _require_usable(files: Sequence[tuple[Path, str | None]]) -> None:
    problems = [
        Problem(path, None, said)
        for path, system in files
        if system is not None and (said := unusable(system)) is not None
    ]
    if problems:
        raise InputError(problems)


class _Nearest:
    """Finds the known question that is called most like an unknown one."""

    FURTHEST: Final = 0.85

    def __init__(self, names: pl.Series) -> None:
        self._names = names

    def __call__(self, name: str) -> str | None:
        with duckdb.connect() as connection:
            connection.register("known", pl.DataFrame({"name": self._names}).to_arrow())
            row = connection.execute(
                "SELECT name, jaro_winkler_similarity(name, $name) AS likeness FROM known "
                "ORDER BY likeness DESC, name LIMIT 1",
                {"name": name},
            ).fetchone()
        return row[0] if row is not None and row[1] >= self.FURTHEST else None
