"""The numbers of all questions and systems, as one block of bytes for each evaluator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assets.publishing.report.page_data import Facts
    from warehouse.publish.snapshot import OpenSnapshot

UNKNOWN = 255
"""The code of a cell that has no grade at all."""


@dataclass(frozen=True)
class Grid:
    """The numbers of one evaluator.

    Attributes:
        metrics: The metrics, in the order of the first axis.
        values: Shape (metrics, questions, systems), float32; NaN where there is no number.
        codes: The same shape, uint8: an index of `overviews.STATUSES`, `overviews.FAILED` for the
            worst value of a failed answer, or `UNKNOWN`.
    """

    metrics: Sequence[str]
    values: NDArray[np.float32]
    codes: NDArray[np.uint8]

    def content(self) -> bytes:
        """All values, then all codes, in the byte order of every browser."""
        return self.values.astype("<f4").tobytes() + self.codes.tobytes()


def read_grid(
    copy: OpenSnapshot, facts: Facts, evaluator: str, signature: str, metrics: Sequence[str]
) -> Grid:
    """The numbers of one evaluator for the questions that are shown one by one."""
    ids = facts.questions["question_id"]
    query = report_queries.score_matrix(facts.benchmark, evaluator, signature, ids.to_list())
    places = pl.DataFrame({"question_id": ids}).with_row_index("q")
    columns = pl.DataFrame({"system": facts.systems}).with_row_index("s")
    grades = copy.fetch(query.sql, query.parameters).join(places, on="question_id")
    grades = grades.join(columns, on="system")
    shape = (places.height, columns.height, len(metrics))
    values = np.full(shape, np.nan, dtype=np.float32)
    codes = np.full(shape, UNKNOWN, dtype=np.uint8)
    at = grades["q"].to_numpy(), grades["s"].to_numpy()
    numbers = grades["values"].explode().to_numpy().reshape(-1, len(metrics))
    values[at] = numbers.astype(np.float32)
    coded = grades["codes"].is_not_null().to_numpy()
    codes[at] = 0
    if coded.any():
        told = grades.filter(coded)["codes"].explode().to_numpy().reshape(-1, len(metrics))
        codes[at[0][coded], at[1][coded]] = told
    axes = (2, 0, 1)
    return Grid(metrics, values.transpose(axes), codes.transpose(axes))
