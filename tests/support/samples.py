"""Builders of sample frames, and a plain view of what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import polars as pl

from evaluators.sample import KEYS, SAMPLE_COLUMNS
from evaluators.score_grid import aggregation_rows
from evaluators.scoring import score

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.evaluator import Evaluator


class Outcome(NamedTuple):
    """What became of one metric of one sample."""

    value: float | None
    status: str = "scored"
    reason: str | None = None


def samples(
    rows: Sequence[Mapping[str, Any]],
    columns: Iterable[str] = SAMPLE_COLUMNS,
    **extra: pl.DataType | type[pl.DataType],
) -> pl.DataFrame:
    """Make a frame of samples.

    Args:
        rows: One mapping a sample; what is left out is null, except for the keys: benchmark `b`,
            system `s`, questions `q1`, `q2`, ... in the order of the rows.
        columns: The sample columns of the frame; keys and `error` are always there.
        extra: Further columns with their types (the parts of a composite, `input_digest`).
    """
    kept = [name for name in SAMPLE_COLUMNS if name in {*columns, *KEYS, "error"}]
    schema = {name: SAMPLE_COLUMNS[name] for name in kept} | extra
    known = [
        {"benchmark": "b", "system": "s", "question_id": f"q{number}", **row}
        for number, row in enumerate(rows, start=1)
    ]
    unknown = {name for row in known for name in row} - set(schema)
    assert not unknown, f"no such sample columns: {sorted(unknown)}"
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in known], schema=schema)


def outcomes(evaluator: Evaluator, frame: pl.DataFrame) -> list[dict[str, Outcome]]:
    """Score a frame and give, for each sample in its order, the outcome of each metric."""
    grades = score(evaluator, frame)
    count = len(grades.metrics)
    found = []
    for row in grades.frame.iter_rows(named=True):
        statuses = row["statuses"] or ["scored"] * count
        reasons = row["reasons"] or [None] * count
        found.append(
            {
                name: Outcome(*outcome)
                for name, *outcome in zip(
                    grades.metrics, row["values"], statuses, reasons, strict=True
                )
            }
        )
    return found


def values(evaluator: Evaluator, row: Mapping[str, Any]) -> dict[str, float | None]:
    """The values of one sample, by metric."""
    (found,) = outcomes(evaluator, samples([row]))
    return {name: outcome.value for name, outcome in found.items()}


def rows_to_fold(evaluator: Evaluator, frame: pl.DataFrame) -> pl.DataFrame:
    """Score a frame of one system and shape the grades as `scoring.aggregate` takes them."""
    return aggregation_rows(evaluator, score(evaluator, frame).frame)
