"""Ingesting one benchmark's questions or predictions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from warehouse.ingest.ingest import PREDICTIONS, QUESTIONS, ingest
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.ingest.result import Ingested
    from warehouse.store import Warehouse


def ingest_questions(
    warehouse: Warehouse,
    *,
    benchmark: str,
    format: str,  # noqa: A002 - what users call it
    questions: Sequence[Path] = (),
    documents: Sequence[Path] = (),
    predictions: Sequence[tuple[Path, str | None]] = (),
    max_reject_ratio: float = 0.0,
    force: bool = False,
) -> Ingested:
    """Replaces the questions and documents of one benchmark; see `ingest` and `Files`.

    `predictions` are looked at only where the format has questions in them.
    """
    files = BenchmarkFiles(
        benchmark=benchmark,
        format=format,
        questions=questions,
        documents=documents,
        predictions=predictions,
        max_reject_ratio=max_reject_ratio,
    )
    return ingest(warehouse, [files], kinds=(QUESTIONS,), force=force)[benchmark, QUESTIONS]


def ingest_predictions(
    warehouse: Warehouse,
    *,
    benchmark: str,
    format: str,  # noqa: A002
    files: Sequence[tuple[Path, str | None]],
    max_reject_ratio: float = 0.0,
    force: bool = False,
) -> Ingested:
    """Replaces the predictions of one benchmark, whose questions are there; see `ingest`."""
    given = BenchmarkFiles(
        benchmark=benchmark, format=format, predictions=files, max_reject_ratio=max_reject_ratio
    )
    return ingest(warehouse, [given], kinds=(PREDICTIONS,), force=force)[benchmark, PREDICTIONS]
