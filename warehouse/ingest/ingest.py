"""Ingests input files into the warehouse: either all files or, if one is not valid, none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from warehouse.errors import InputError, WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.plan import BenchmarkFiles, PredictionLoad, QuestionLoad
from warehouse.ingest.result import Ingested, unchanged
from warehouse.ingest.sources import require_valid_systems
from warehouse.storage.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

QUESTIONS = "questions"
PREDICTIONS = "predictions"

InputKey: TypeAlias = tuple[str, str]
"""A benchmark, and `questions` or `predictions`."""

Inspection: TypeAlias = "Callable[[Transaction, str], None]"


def ingest(
    warehouse: Warehouse,
    inputs: Sequence[BenchmarkFiles],
    *,
    kinds: Collection[str] = (QUESTIONS, PREDICTIONS),
    inspect: Inspection | None = None,
    force: bool = False,
) -> dict[InputKey, Ingested]:
    """Replace the questions, documents and predictions of benchmarks with those of files.

    Every system that a path or row names gets a row for every question of its benchmark. Systems
    that no longer occur are removed. Unchanged files are not read again.

    All files are read before the first row is written, and one transaction writes all rows. If
    the fast path refuses a file only then, the transaction is rolled back and the next attempt
    reads that file row by row.

    Args:
        warehouse: The warehouse.
        inputs: The files of each benchmark.
        kinds: `questions`, `predictions` or both; predictions alone need existing questions.
        inspect: Checks the new questions of a benchmark before the transaction is committed, and
            raises InputError for values that the caller does not support.
        force: Whether to read unchanged files, too.

    Returns:
        The results by benchmark and kind.

    Raises:
        InputError: The files are not valid; lists every problem. The warehouse is unchanged.
        UnknownFormat: The format does not exist.
    """
    row_by_row: set[InputKey] = set()
    while True:
        with ScratchFolder(warehouse.path).temporary_directory() as folder:
            plans = [_plan(warehouse, files, kinds, row_by_row, force=force) for files in inputs]
            try:
                for number, plan in enumerate(plans):
                    plan.prepare(warehouse, folder / str(number))
                return _write(warehouse, plans, inspect)
            except _FastPathRefused as refused:
                if refused.key in row_by_row:
                    benchmark, kind = refused.key
                    raise WarehouseError(
                        f"the {kind} of {benchmark!r} cannot be stored: {refused}"
                    ) from refused
                row_by_row.add(refused.key)


class _FastPathRefused(Exception):  # noqa: N818 - not a failure
    def __init__(self, key: InputKey, reason: NotFastPath) -> None:
        super().__init__(str(reason))
        self.key = key


@dataclass(slots=True)
class _Plan:
    """The loads of one benchmark; null where its files have not changed."""

    files: BenchmarkFiles
    questions: QuestionLoad | None
    predictions: PredictionLoad | None
    results: dict[InputKey, Ingested]

    def prepare(self, warehouse: Warehouse, folder: Path) -> None:
        folder.mkdir()
        key = (self.files.benchmark, QUESTIONS)
        try:
            if self.questions is not None:
                self.questions.prepare(warehouse, folder)
            key = (self.files.benchmark, PREDICTIONS)
            if self.predictions is not None:
                self.predictions.prepare(warehouse, folder, self.questions)
        except NotFastPath as reason:
            raise _FastPathRefused(key, reason) from reason

    def write(self, transaction: Transaction, inspect: Inspection | None) -> None:
        benchmark = self.files.benchmark
        key = (benchmark, QUESTIONS)
        try:
            if (questions := self.questions) is not None:
                self.results[key] = Ingested(
                    rows=questions.write(transaction),
                    problems=questions.problems,
                    digest=questions.digest,
                )
                if inspect is not None:
                    _inspect(inspect, transaction, questions)
            key = (benchmark, PREDICTIONS)
            if (predictions := self.predictions) is not None:
                rows, notes = predictions.write(transaction)
                self.results[key] = Ingested(
                    rows=rows,
                    problems=predictions.problems,
                    notes=notes,
                    digest=predictions.digest,
                )
        except NotFastPath as reason:
            raise _FastPathRefused(key, reason) from reason


def _plan(
    warehouse: Warehouse,
    files: BenchmarkFiles,
    kinds: Collection[str],
    row_by_row: set[InputKey],
    *,
    force: bool,
) -> _Plan:
    input_format, name = format_named(files.format), files.benchmark
    fingerprints = warehouse.fingerprints(name)
    plan = _Plan(files, None, None, {})
    if QUESTIONS in kinds:
        digest = questions_digest(
            input_format,
            files.questions,
            files.documents,
            files.max_reject_ratio,
            files.predictions,
        )
        if force or fingerprints.get(QUESTIONS) != digest:
            is_fast = input_format.is_canonical and (name, QUESTIONS) not in row_by_row
            plan.questions = QuestionLoad(
                files=files, format=input_format, digest=digest, is_fast=is_fast
            )
        else:
            plan.results[name, QUESTIONS] = unchanged(warehouse, name, QUESTIONS, digest)
        fingerprints[QUESTIONS] = digest
    if PREDICTIONS in kinds:
        if QUESTIONS not in fingerprints:
            raise WarehouseError(f"benchmark {name!r} has no questions: ingest them first")
        require_valid_systems(files.predictions)
        digest = predictions_digest(
            input_format, files.predictions, files.max_reject_ratio, fingerprints[QUESTIONS]
        )
        if force or fingerprints.get(PREDICTIONS) != digest:
            is_fast = input_format.is_canonical and (name, PREDICTIONS) not in row_by_row
            plan.predictions = PredictionLoad(
                files=files, format=input_format, digest=digest, is_fast=is_fast
            )
        else:
            plan.results[name, PREDICTIONS] = unchanged(warehouse, name, PREDICTIONS, digest)
    return plan


def _write(
    warehouse: Warehouse, plans: Sequence[_Plan], inspect: Inspection | None
) -> dict[InputKey, Ingested]:
    def write(transaction: Transaction) -> None:
        transaction.disable_text_compression()
        for plan in plans:
            plan.write(transaction, inspect)

    if any(plan.questions or plan.predictions for plan in plans):
        warehouse.write(write)
    return {key: result for plan in plans for key, result in plan.results.items()}


def _inspect(inspect: Inspection, transaction: Transaction, questions: QuestionLoad) -> None:
    """Inspect new questions; after a fast load repeat row by row to find the line of a problem."""
    try:
        inspect(transaction, questions.files.benchmark)
    except InputError as error:
        if questions.is_fast:
            raise NotFastPath(str(error)) from error
        raise
