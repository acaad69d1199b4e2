"""Loads JSON Lines into the tables of inputs, within a transaction."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb
import polars as pl

from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.missing_rows import (
    MAX_NAMED,
    fill_missing,
    list_questions,
    require_first_answers,
)
from warehouse.ingest.rows_sql import select_documents
from warehouse.schema.quoting import quoted
from warehouse.schema.table import NULL_TEXTS
from warehouse.schema.tables import table_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from warehouse.formats.format import Format
    from warehouse.formats.missing_answers import MissingAnswers
    from warehouse.ingest.result import ReadResult
    from warehouse.ingest.rows_sql import JsonLines
    from warehouse.storage.transaction import Transaction

Selects: TypeAlias = "Iterable[tuple[str, Mapping[str, object]]]"
"""Queries for the rows of files, with their parameters."""

PLAUSIBLE: Final = (
    ("latency_s", "seconds", 120, "milliseconds", 0.001),
    ("cost_usd", "US dollars", 5, "cents", 0.01),
)
"""The units of amounts, the largest median without a note, and the unit that it may be in."""

_NULL_TEXT: Final = {
    "VARCHAR": "list_contains($texts::VARCHAR[], {})",
    "VARCHAR[]": "list_has_any({}, $texts::VARCHAR[])",
}
"""Whether a value has the text of a missing value, by the type of its column."""


def insert_questions(transaction: Transaction, benchmark: str, selects: Selects) -> int:
    """Insert the questions of a benchmark, which has none; return their number.

    Raises:
        NotFastPath: A question occurs twice, or DuckDB cannot read the files.
    """
    rows = 0
    for select, values in selects:
        rows += _insert(transaction, "questions", select, values)
    distinct = transaction.fetch(
        "SELECT count(DISTINCT question_id) FROM questions WHERE benchmark = $benchmark",
        {"benchmark": benchmark},
    )
    if distinct.item() < rows:
        raise NotFastPath("a question occurs twice, or a row has no id")
    return rows


def finish_questions(
    transaction: Transaction,
    benchmark: str,
    documents: JsonLines | None,
    question_result: ReadResult,
    document_result: ReadResult,
) -> list[str]:
    """Insert documents and rejects; return notes on the files and the rows."""
    if documents is not None:
        _insert(transaction, "documents", select_documents(documents), {"benchmark": benchmark})
    _insert_rejects(transaction, benchmark, "questions", question_result)
    _insert_rejects(transaction, benchmark, "documents", document_result)
    notes = alias_notes(question_result.aliases)
    return notes + _text_notes(transaction, "questions", benchmark)


def insert_predictions(transaction: Transaction, selects: Selects) -> None:
    """Insert predictions.

    Raises:
        NotFastPath: DuckDB cannot read the files.
    """
    for select, values in selects:
        _insert(transaction, "predictions", select, values)


def replace_rows(
    transaction: Transaction,
    benchmark: str,
    system: str,
    select: str,
    values: Mapping[str, object],
    *,
    whole: bool,
) -> None:
    """Replace all predictions of a system, or only those of the questions that occur in new rows.

    Raises:
        NotFastPath: DuckDB cannot read the files, or a prediction to be replaced is missing.
    """
    if whole:
        transaction.delete("predictions", {"benchmark": benchmark, "system": system})
        _insert(transaction, "predictions", select, values)
        return
    transaction.execute("CREATE OR REPLACE TEMP TABLE changed AS FROM predictions LIMIT 0")
    inserted = _insert(transaction, "changed", select, values)
    deleted = transaction.execute(
        "DELETE FROM predictions WHERE benchmark = $benchmark AND system = $system "
        "AND question_id IN (SELECT question_id FROM changed)",
        {"benchmark": benchmark, "system": system},
    )
    transaction.execute("INSERT INTO predictions BY NAME SELECT * FROM changed")
    transaction.execute("DROP TABLE changed")
    if deleted != inserted:
        raise NotFastPath(f"{inserted} predictions would replace {deleted}")


def require_known_questions(transaction: Transaction, benchmark: str) -> None:
    """Check that every prediction belongs to a known question and is the only one for it.

    Usually each system answers every question once. Then counts and hash sums of both tables are
    equal, which takes a tenth of the time of a join.

    Raises:
        NotFastPath: A prediction occurs twice, or its question is unknown.
    """
    sums = "count(*), bit_xor(hash(question_id)), sum(hash(question_id))"
    answered, expected = (
        transaction.fetch(
            f"SELECT DISTINCT {sums} FROM {table} WHERE benchmark = $benchmark {group_by}",  # noqa: S608
            {"benchmark": benchmark},
        ).rows()
        for table, group_by in (("predictions", "GROUP BY system"), ("questions", ""))
    )
    if answered == expected:
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
        raise NotFastPath("a prediction occurs twice, or its question is unknown")


def finish_predictions(
    transaction: Transaction,
    benchmark: str,
    input_format: Format,
    result: ReadResult,
    missing: MissingAnswers,
) -> tuple[int, list[str]]:
    """Fill in missing predictions, and insert rejects.

    Returns:
        The rows of the benchmark, and notes on missing predictions and unlikely values.

    Raises:
        UnknownSystem: `missing` names a system that has no predictions.
        InputError: A system has several answers to a question, but never the first one.
    """
    notes: list[str] = []
    counted = transaction.fetch(
        """
        SELECT q.n, p.system, p.n, p.last
        FROM (SELECT count(*) AS n FROM questions WHERE benchmark = $benchmark) q
        LEFT JOIN (
            SELECT system, count(*) AS n, max(repeat) AS last
            FROM predictions WHERE benchmark = $benchmark GROUP BY system
        ) p ON true
        ORDER BY p.system
        """,
        {"benchmark": benchmark},
    ).rows()
    # Without predictions there is one row, without a system.
    questions, by_system = counted[0][0], [row[1:] for row in counted if row[1] is not None]
    for system, *_ in by_system:
        result.systems.setdefault(system)
    rows = sum(answers for _, answers, _ in by_system)
    has_repeats = any(last for *_, last in by_system)
    not_asked = missing.not_asked(result.systems)
    if has_repeats:
        require_first_answers(transaction, benchmark)
    if has_repeats or rows < questions * len(result.systems):
        notes, added = fill_missing(transaction, benchmark, input_format, result, not_asked)
        rows += added
    _insert_rejects(transaction, benchmark, "predictions", result)
    notes += _text_notes(transaction, "predictions", benchmark)
    return rows, notes + _amount_notes(transaction, benchmark)


def prediction_notes(result: ReadResult) -> list[str]:
    """Return notes on ignored predictions, changed question texts, and files."""
    notes = [
        f"system {system!r} answers unknown questions, which are ignored: "
        + list_questions(len(names), names)
        for system, names in result.unknown_questions.items()
    ]
    notes += [
        f"the file of system {system!r} has different question texts for "
        + list_questions(len(names), names)
        for system, names in result.changed_texts.items()
    ]
    return notes + _file_notes(result.file_notes) + alias_notes(result.aliases)


def _text_notes(transaction: Transaction, table: str, benchmark: str) -> list[str]:
    """Return notes on the fields of new rows that hold the text of a missing value."""
    columns = {
        column.name: column.type
        for column in table_named(table).columns
        if column.type in {"VARCHAR", "VARCHAR[]"} and column.name not in {"benchmark", "file"}
    }
    counts = ", ".join(
        f"count(*) FILTER ({_NULL_TEXT[type_].format(quoted(name))}) AS {quoted(name)}"
        for name, type_ in columns.items()
    )
    found = transaction.fetch(
        f"SELECT count(*) AS n, {counts} FROM {table} WHERE benchmark = $benchmark",  # noqa: S608
        {"benchmark": benchmark, "texts": list(NULL_TEXTS)},
    )
    rows = found.row(0, named=True)
    return [
        f"`{name}` holds in {rows[name]} of {rows['n']} {table} a text that tools write for a "
        "missing value, such as 'NaN' or 'None': leave the field empty if nothing was given"
        for name in columns
        if rows[name]
    ]


def _amount_notes(transaction: Transaction, benchmark: str) -> list[str]:
    """Return notes on systems whose latencies or costs are too large to be in the right unit."""
    found = transaction.fetch(
        "SELECT system, median(latency_s), median(cost_usd) FROM predictions "
        "WHERE benchmark = $benchmark GROUP BY system ORDER BY system",
        {"benchmark": benchmark},
    )
    return [
        f"system {system!r} has a median of {median:,.4g} in `{name}`, which is in {unit}: if the "
        f"column is in {smaller}, convert it with `columns: {{predictions: {{COLUMN: {{to: {name}, "
        f"scale: {scale}}}}}}}`"
        for system, *medians in found.iter_rows()
        for median, (name, unit, limit, smaller, scale) in zip(medians, PLAUSIBLE, strict=True)
        if median is not None and median > limit
    ]


def alias_notes(by_file: Mapping[Path, Mapping[str, str]]) -> list[str]:
    """Return notes on the files in which well-known names were read as fields."""
    said = {}
    for path, aliases in by_file.items():
        read = ", ".join(f"{name!r} as {field!r}" for name, field in aliases.items())
        said[path] = [f"read {read} (to change this, set `columns`)"]
    return _file_notes(said)


def _file_notes(by_file: Mapping[Path, Sequence[str]]) -> list[str]:
    """Return each note once, after the files that it is on."""
    files: dict[str, list[str]] = {}
    for path, notes in by_file.items():
        for note in notes:
            files.setdefault(note, []).append(str(path))
    return [
        f"{', '.join(paths[:MAX_NAMED])}"
        f"{f' and {len(paths) - MAX_NAMED} more files' if len(paths) > MAX_NAMED else ''}: {note}"
        for note, paths in files.items()
    ]


def _insert_rejects(
    transaction: Transaction, benchmark: str, kind: str, result: ReadResult
) -> None:
    if not result.rejected:
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
        for each in result.rejected
    ]
    schema = {"system": pl.String, "line": pl.Int64}
    transaction.append("rejects", pl.DataFrame(rows, schema_overrides=schema))


def _insert(transaction: Transaction, table: str, select: str, values: Mapping[str, object]) -> int:
    try:
        return transaction.execute(f"INSERT INTO {table} BY NAME {select}", values)
    except (duckdb.InvalidInputException, duckdb.DataError, duckdb.IntegrityError) as error:
        raise NotFastPath(str(error)) from error
