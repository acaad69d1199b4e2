"""Reads small files whole, before anything else starts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from warehouse.formats.catalog import format_named
from warehouse.formats.format import Source
from warehouse.ingest.plan import QuestionLoad
from warehouse.ingest.row_by_row import write_predictions
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.ingest.plan import BenchmarkFiles
    from warehouse.store import Warehouse

MAX_BYTES: Final = 200_000
"""The size of all files together up to which they are read twice, which takes some 50 ms."""


def require_valid(warehouse: Warehouse, inputs: Sequence[BenchmarkFiles]) -> None:
    """Read files row by row, as `ingest` does where the fast path refuses them, if they are small.

    Raises:
        InputError: The files of a benchmark are not valid; lists every problem.
    """
    paths = {path for files in inputs for path in _paths(files)}
    if sum(path.stat().st_size for path in paths) > MAX_BYTES:
        return
    with scratch_folder(warehouse.path.parent) as folder:
        for files in inputs:
            _require_valid(warehouse, files, folder)


def _paths(files: BenchmarkFiles) -> list[Path]:
    return [*files.questions, *files.documents, *(path for path, _ in files.predictions)]


def _require_valid(warehouse: Warehouse, files: BenchmarkFiles, folder: Path) -> None:
    chosen = format_named(files.format)
    questions = QuestionLoad(files=files, format=chosen, digest="", folder=folder, is_fast=False)
    questions.prepare(warehouse)
    known: dict[str, str | None] = {}
    for lines in questions.questions:
        with lines.path.open(encoding="utf-8") as written:
            rows = map(json.loads, written)
            known |= {row["question_id"]: row.get("question") for row in rows}
    write_predictions(
        [Source(path, system) for path, system in files.predictions],
        chosen.predictions,
        folder / "predictions.jsonl",
        files.max_reject_ratio,
        known,
        unknown=chosen.unknown_questions,
    )
