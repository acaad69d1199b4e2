"""Puts rows that were read into the tables of inputs, within a transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import duckdb
import polars as pl

from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.rows_sql import document_rows, prediction_rows, question_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warehouse.formats.format import Format
    from warehouse.ingest.result import Outcome
    from warehouse.ingest.rows_sql import Lines
    from warehouse.storage.transaction import Transaction

NO_PREDICTION: Final = "no prediction"
"""The error of a question that a system left out."""

NAMED: Final = 10
"""The questions that a note names."""


def put_questions(transaction: Transaction, benchmark: str, files: Sequence[Lines]) -> int:
    """Puts questions in the place of those of a benchmark; the number of them.

    Raises:
        Declined: A question stands twice, or DuckDB cannot read the files.
    """
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
        raise NotFastPath("a question stands twice, or a row has no id")
    return rows


def finish_questions(
    transaction: Transaction,
    benchmark: str,
    texts: Lines | None,
    outcome: Outcome,
    told: Outcome,
    digest: str,
) -> None:
    """Puts documents and rejects in the place of the old ones, and marks the questions as done."""
    transaction.delete("documents", {"benchmark": benchmark})
    if texts is not None:
        _insert(transaction, "documents", document_rows(texts), {"benchmark": benchmark})
    _put_rejects(transaction, benchmark, "questions", outcome)
    _put_rejects(transaction, benchmark, "documents", told)
    transaction.mark(benchmark, "questions", digest)


def put_predictions(transaction: Transaction, benchmark: str, files: Sequence[Lines]) -> None:
    """Puts predictions in the place of those of a benchmark.

    Raises:
        Declined: DuckDB cannot read the files.
    """
    transaction.delete("predictions", {"benchmark": benchmark})
    for lines in files:
        values = {"benchmark": benchmark, **lines.parameters}
        _insert(transaction, "predictions", prediction_rows(lines), values)


def require_known(transaction: Transaction, benchmark: str) -> None:
    """Checks that every prediction is for a known question, and the only one.

    Mostly a system answers every question once: then the numbers of both and two sums of their
    hashes are equal, which is told in a tenth of the time that a join takes.

    Raises:
        Declined: It is not so.
    """
    sums = "count(*), bit_xor(hash(question_id)), sum(hash(question_id))"
    answered, asked = (
        transaction.fetch(
            f"SELECT DISTINCT {sums} FROM {table} WHERE benchmark = $benchmark {grouped}",  # noqa: S608
            {"benchmark": benchmark},
        ).rows()
        for table, grouped in (("predictions", "GROUP BY system"), ("questions", ""))
    )
    if answered == asked:
        return
    found = transaction.fetch(
        """
        SELECT count(*) - count(DISTINCT p.question_id), count(*) - count(q.question_id)
        FROM predictions p LEFT JOIN questions q
            ON q.benchmark = $benchmark AND q.question_id = p.question_id
        WHERE p.benchmark = $benchmark
        GROUP BY p.system
        """,
        {"benchmark": benchmark},
    )
    if any(row != (0, 0) for row in found.iter_rows()):
        raise NotFastPath("a prediction stands twice, or its question is not known")


def finish_predictions(
    transaction: Transaction, benchmark: str, chosen: Format, outcome: Outcome, digest: str
) -> tuple[int, list[str]]:
    """Fills in what systems left out, keeps the rejects, and marks the predictions as done.

    Returns:
        The rows of the benchmark, and a note on every system that left questions out.
    """
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


def notes_on(outcome: Outcome) -> list[str]:
    """Notes on what is odd about predictions and is no fault."""
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


def _insert(transaction: Transaction, table: str, select: str, values: Mapping[str, object]) -> int:
    try:
        return transaction.execute(f"INSERT INTO {table} BY NAME {select}", values)
    except (duckdb.InvalidInputException, duckdb.DataError, duckdb.IntegrityError) as error:
        raise NotFastPath(str(error)) from error
