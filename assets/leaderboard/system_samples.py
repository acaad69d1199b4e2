"""The scored samples from which system metrics are computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from evaluators import scoring
from evaluators.outcome import Status
from evaluators.score_grid import aggregation_rows

if TYPE_CHECKING:
    from evaluators.evaluator import Evaluator

UNPACKED_ROWS = 200_000
"""The samples whose evidence is read at once."""


def unpack_scores(evaluator: Evaluator, grades: pl.DataFrame) -> pl.DataFrame:
    """Return the scores of an evaluator with its evidence, sorted by slice, system and question."""
    # Names take 16 bytes in every row, their numbers one to four.
    names = {name: pl.Enum(grades[name].unique().sort()) for name in ("slice", "system")}
    names["status"] = pl.Enum(Status)
    # In pieces: as text, the evidence takes several times the memory of its columns.
    pieces = [
        scoring.unpack_evidence(evaluator, aggregation_rows(evaluator, piece)).cast(
            pl.Schema(names)
        )
        for piece in (grades.iter_slices(UNPACKED_ROWS) if grades.height else [grades])
    ]
    del grades
    # The last digits of a metric depend on the order of its samples.
    return pl.concat(pieces).sort("slice", "system", "question", maintain_order=True)
