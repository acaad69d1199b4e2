"""Inspection: what only evaluators understand about questions is read before they are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.errors import BadConstraints
from evaluators.text.constraints import read_constraints
from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from warehouse.storage.transaction import Transaction


def inspect(transaction: Transaction, benchmark: str) -> None:
    """Read the constraints of a benchmark's questions.

    Raises:
        InputError: Some cannot be read; names each with its question, and with its file and line
            where these are known.
    """
    written = transaction.fetch(
        "SELECT question_id, constraints::VARCHAR AS text, file, line FROM questions "
        "WHERE benchmark = $benchmark AND constraints IS NOT NULL ORDER BY line, question_id",
        {"benchmark": benchmark},
    )
    problems = []
    for question, text, file, line in written.iter_rows():
        try:
            read_constraints(text)
        except BadConstraints as error:
            problems.append(Problem(file or benchmark, line, f"question {question!r}: {error}"))
    if problems:
        raise InputError(problems)
