"""Regrading: samples whose grades no longer hold although no input has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from warehouse.transaction import Transaction

SAMPLE = ("benchmark", "system", "question_id", "evaluator")


def require_regrading(transaction: Transaction, samples: pl.DataFrame) -> int:
    """Have the next run grade samples again, and all that is made from their grades.

    For labels that were imported where people are the judge: a grade knows the digest of what its
    evaluator read of question and answer, and labels are no part of that. Call it in the
    transaction that keeps the labels. Where a model judges, nothing need be called; it costs
    nothing there either, since the ledger has what the model said.

    Args:
        transaction: The transaction that keeps the labels.
        samples: benchmark, system, question_id and evaluator; further columns (those of `labels`)
            and repeated rows do no harm, nor do samples that were never graded.

    Returns:
        The number of grades that the next run makes again.
    """
    if samples.is_empty():
        return 0
    given = {"samples": samples.select(SAMPLE).unique().to_dicts()}
    labelled = "(SELECT unnest($samples, recursive := true)) AS s"
    # No inputs have this digest.
    graded = transaction.execute(
        f"UPDATE grades AS g SET input_digest = 0 FROM {labelled} "  # noqa: S608
        "WHERE g.benchmark = s.benchmark AND g.system = s.system "
        "AND g.question_id = s.question_id AND g.evaluator = s.evaluator",
        given,
    )
    # Also of what is folded and made of these grades: the digests of their stages stay the same.
    transaction.execute(
        f"DELETE FROM marks USING {labelled} WHERE marks.benchmark = s.benchmark "  # noqa: S608
        "AND marks.stage NOT IN ('questions', 'predictions')",
        given,
    )
    return graded
