"""Reads small files whole, before anything else starts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from warehouse.ingest.plan import QuestionLoad, has_queries
from warehouse.ingest.row_by_row import write_predictions
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.formats.query import InputFile
    from warehouse.ingest.plan import BenchmarkFiles
    from warehouse.store import Warehouse

MAX_BYTES: Final = 200_000
"""The size of all files together up to which they are read twice, which takes some 50 ms."""


def require_valid(warehouse: Warehouse, inputs: Sequence[BenchmarkFiles]) -> None:
    """Read files row by row, as `ingest` does where the fast path refuses them, if they are small.

    Raises:
        InputError: The files of a benchmark are not valid; lists every problem.
    """
    found = {file for files in inputs for file in _files(files)}
    # A query would be run once more.
    if has_queries(found):
        return
    if sum(file.stat().st_size for file in found if isinstance(file, Path)) > MAX_BYTES:
        return
    with scratch_folder(warehouse.path.parent) as folder:
        for files in inputs:
            _require_valid(warehouse, files, folder)


def _files(files: BenchmarkFiles) -> list[InputFile]:
    return [*files.questions, *files.documents, *(file for file, _ in files.predictions)]


def _require_valid(warehouse: Warehouse, files: BenchmarkFiles, folder: Path) -> None:
    chosen = files.input_format
    questions = QuestionLoad(files=files, format=chosen, digest="", folder=folder, is_fast=False)
    questions.prepare(warehouse)
    known: dict[str, str | None] = {}
    for lines in questions.questions:
        with lines.path.open(encoding="utf-8") as written:
            rows = map(json.loads, written)
            known |= {row["question_id"]: row.get("question") for row in rows}
    write_predictions(
        files.prediction_sources,
        chosen,
        folder / "predictions.jsonl",
        files.max_reject_ratio,
        known,
    )
