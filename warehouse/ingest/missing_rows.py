"""Rows for the answers that a system did not give, so that it cannot gain by leaving them out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from records.prediction import MAX_REPEAT
from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from warehouse.formats.format import Format
    from warehouse.ingest.result import ReadResult
    from warehouse.storage.transaction import Transaction

    _File: TypeAlias = tuple[Path, str]
    """A file, and a system in it."""

NO_PREDICTION: Final = "no prediction"
"""The error of a question that a system did not answer."""

MAX_NAMED: Final = 10
"""The number of questions that a note names."""


class AnswerCounts:
    """Counts how many answers to a question a system should have, in files of other tools.

    Such a tool asks the questions of one task as often as each other, but those of another task, in
    another file, more or less often. Files of a system that share a question are of one task.
    """

    def __init__(self, *, may_list_twice: bool = False) -> None:
        """Set whether a file may list a question twice, so that it has more answers than others."""
        self._may_list_twice = may_list_twice
        self._files: dict[tuple[str, str], _File] = {}
        self._largest: dict[_File, int] = {}
        self._joined: dict[_File, _File] = {}
        self._most: dict[str, int] = {}

    def add(self, path: Path, system: str, question: str, repeat: int) -> None:
        """Count an answer."""
        file = (path, system)
        first = self._files.setdefault((system, question), file)
        if first != file:
            self._join(first, file)
        self._largest[file] = max(self._largest.get(file, 0), repeat + 1)
        if self._may_list_twice:
            self._most[question] = max(self._most.get(question, 0), repeat + 1)

    def by_answer(self) -> dict[tuple[str, str], int]:
        """Return the answers that each system should have to each question; empty if all is one."""
        if max(self._largest.values(), default=1) == 1:
            return {}
        largest: dict[_File, int] = {}
        for file, count in self._largest.items():
            task = self._task(file)
            largest[task] = max(largest.get(task, 0), count)
        return {
            (system, question): min(
                largest[self._task(file)], self._most.get(question, MAX_REPEAT + 1)
            )
            for (system, question), file in self._files.items()
        }

    def _join(self, one: _File, other: _File) -> None:
        first, second = self._task(one), self._task(other)
        if first != second:
            self._joined[second] = first

    def _task(self, file: _File) -> _File:
        """Return the file that stands for all of the task."""
        while file in self._joined:
            file = self._joined[file]
        return file


def require_first_answers(transaction: Transaction, benchmark: str) -> None:
    """Check that answers are numbered from 0: others would count as missing, which are failures.

    Raises:
        InputError: A system has no answer with this number.
    """
    found = transaction.fetch(
        "SELECT system, min(repeat) FROM predictions WHERE benchmark = $benchmark "
        "GROUP BY system HAVING min(repeat) > 0 ORDER BY system",
        {"benchmark": benchmark},
    )
    problems = [
        Problem(
            f"predictions of {system!r}",
            None,
            f"'repeat' is never 0 (it is {first} or more), but numbers answers from 0",
        )
        for system, first in found.iter_rows()
    ]
    if problems:
        raise InputError(problems)


_MISSING: Final = """
WITH lost AS (
    SELECT system, question_id, count(*) AS n_lost FROM missing GROUP BY system, question_id
),

counted AS (
    SELECT system, question_id, any_value(n_lost) AS n_lost, count(*) AS n
    FROM lost JOIN predictions USING (system, question_id)
    WHERE benchmark = $benchmark
    GROUP BY system, question_id
)

SELECT
    system,
    n_lost = n AS is_whole,
    count(*) AS n_questions,
    list(question_id ORDER BY question_id)[:$shown] AS questions,
    list(n_lost ORDER BY question_id)[:$shown] AS lost,
    list(n ORDER BY question_id)[:$shown] AS answers
FROM counted
GROUP BY system, is_whole
ORDER BY system, is_whole DESC
"""
"""The questions without all answers by system: those without any, and those with some."""


def fill_missing(
    transaction: Transaction,
    benchmark: str,
    input_format: Format,
    result: ReadResult,
    not_asked: Sequence[str],
) -> tuple[list[str], int]:
    """Insert a row for each missing answer.

    A system answers each question as often as any other. With `answer_counts` these say how often;
    a question that is missing counts as often as for another system, but not more often than the
    system answers any.

    Returns:
        A note on each system with missing answers, and the number of rows that were added.
    """
    counts = result.answer_counts
    transaction.execute(
        "CREATE OR REPLACE TEMP TABLE missing AS "
        "SELECT system, question_id, repeat FROM predictions LIMIT 0"
    )
    added = transaction.execute(
        """
        INSERT INTO missing
        WITH given AS (FROM predictions WHERE benchmark = $benchmark),

        own AS (
            SELECT system, 1 + coalesce(max(repeat), 0) AS n
            FROM (SELECT unnest($systems::VARCHAR[]) AS system)
            LEFT JOIN given USING (system)
            GROUP BY system
        ),

        counted AS (
            SELECT
                unnest($counted_systems::VARCHAR[]) AS system,
                unnest($counted_questions::VARCHAR[]) AS question_id,
                unnest($counts::INTEGER[]) AS n
        ),

        by_question AS (
            SELECT question_id, max(n) AS n FROM counted GROUP BY question_id
        ),

        expected AS (
            SELECT
                o.system,
                q.question_id,
                CASE
                    WHEN o.system IN (SELECT system FROM counted)
                        THEN coalesce(c.n, least(coalesce(b.n, 1), o.n))
                    ELSE o.n
                END AS n
            FROM questions AS q
            CROSS JOIN own AS o
            LEFT JOIN by_question AS b USING (question_id)
            LEFT JOIN counted AS c ON c.system = o.system AND c.question_id = q.question_id
            WHERE q.benchmark = $benchmark
        ),

        numbered AS (
            SELECT system, question_id, unnest(range(0, n))::INTEGER AS repeat FROM expected
        )

        FROM numbered ANTI JOIN given USING (system, question_id, repeat)
        """,
        {
            "benchmark": benchmark,
            "systems": list(result.systems),
            "counted_systems": [system for system, _ in counts],
            "counted_questions": [question for _, question in counts],
            "counts": list(counts.values()),
        },
    )
    failed = input_format.missing_predictions == "failed"
    value, column = (f"'{NO_PREDICTION}'", "error") if failed else ("[]", "retrieved_doc_ids")
    transaction.execute(
        f"INSERT INTO predictions BY NAME "  # noqa: S608
        "SELECT $benchmark AS benchmark, system, question_id, repeat, "
        f"CASE WHEN NOT list_contains($not_asked, system) THEN {value} END AS {column}, "
        "CASE WHEN list_contains($not_asked, system) THEN 1 END AS not_asked FROM missing",
        {"benchmark": benchmark, "not_asked": list(not_asked)},
    )
    notes = [
        _describe_missing(row, is_asked=row["system"] not in not_asked)
        for row in transaction.fetch(
            _MISSING, {"benchmark": benchmark, "shown": MAX_NAMED}
        ).iter_rows(named=True)
    ]
    transaction.execute("DROP TABLE missing")
    return notes, added


def _describe_missing(row: Mapping[str, Any], *, is_asked: bool) -> str:
    """Return a note on the questions without any answer of a system, or on single answers."""
    count, first = row["n_questions"], row["questions"]
    if row["is_whole"]:
        what = "did not answer" if is_asked else "was not asked"
        return f"system {row['system']!r} {what} {list_questions(count, first)}"
    named = ", ".join(
        f"{lost} of {n} answers to {name!r}"
        for name, lost, n in zip(first, row["lost"], row["answers"], strict=True)
    )
    more = count - len(first)
    others = f" and answers to {more} more question{'s' if more > 1 else ''}" if more else ""
    is_one = not more and row["lost"] == [1]
    verb = ("is" if is_one else "are") if is_asked else ("was" if is_one else "were")
    return (
        f"system {row['system']!r}: {named}{others} {verb} {'missing' if is_asked else 'not asked'}"
    )


def list_questions(count: int, first: Sequence[str]) -> str:
    """Return a text such as `3 questions: 'q1', 'q2', 'q3'`."""
    named = ", ".join(repr(name) for name in first[:MAX_NAMED])
    more = f" and {count - MAX_NAMED} more" if count > MAX_NAMED else ""
    return f"{count} question{'s' if count > 1 else ''}: {named}{more}"
