"""Ingesting one benchmark's questions or predictions alone, and answers of systems."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from systems.answering import prediction_of
from warehouse.ingest.ingest import PREDICTIONS, QUESTIONS, ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.ledger.answers import SystemAnswers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from warehouse.ingest.result import Ingested
    from warehouse.store import Warehouse

NO_ERRORS: Mapping[tuple[str, int], str] = {}
TEXTS = {"reply": pl.String, "error": pl.String}


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


def store_answers(
    warehouse: Warehouse,
    system: str,
    replies: Mapping[tuple[str, int], Mapping[str, Any] | None],
    errors: Mapping[tuple[str, int], str] = NO_ERRORS,
) -> SystemAnswers:
    """Store replies of a system, by question and repeat, in the ledger's table.

    A call without a reply has its error.
    """
    calls = {key: f"{system}/{key[0]}/{key[1]}" for key in replies}
    rows = [
        {
            "digest": calls[key],
            "model": f"system:{system}",
            "messages": "[]",
            "replicate": key[1],
            "reply": None if reply is None else json.dumps(reply),
            "status": "judge_error" if reply is None else "scored",
            "error": errors.get(key),
            "judged_at": datetime(2026, 11, 2),  # noqa: DTZ001 - as the ledger has it
        }
        for key, reply in replies.items()
    ]
    warehouse.replace("judgments", pl.DataFrame(rows, schema_overrides=TEXTS))
    return SystemAnswers(system, calls, prediction_of)
