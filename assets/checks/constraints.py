"""The check of constraints, which belongs to the transaction that stores questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaluators.errors import BadConstraints
from evaluators.text.constraints import read_constraints
from warehouse.errors import InputError, Problem

if TYPE_CHECKING:
    from warehouse.storage.transaction import Transaction


def validate_constraints(transaction: Transaction, benchmark: str) -> None:
    """Check that the constraints of a benchmark's questions can be read.

    Raises:
        InputError: Some cannot. The error lists each with its question, file and line.
    """
    constraints = transaction.fetch(
        "SELECT question_id, constraints::VARCHAR AS text, file, line FROM questions "
        "WHERE benchmark = $benchmark AND constraints IS NOT NULL ORDER BY line, question_id",
        {"benchmark": benchmark},
    )
    problems = []
    for question, text, file, line in constraints.iter_rows():
        try:
            read_constraints(text)
        except BadConstraints as error:
            problems.append(Problem(file or benchmark, line, f"question {question!r}: {error}"))
    if problems:
        raise InputError(problems)
