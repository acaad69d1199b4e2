"""Reads input files into the warehouse: all of them, or none when something is wrong with one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from warehouse.errors import InputError, WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.plan import Files, PredictionReading, QuestionReading
from warehouse.ingest.result import Ingested, unchanged
from warehouse.ingest.sources import require_usable
from warehouse.storage.scratch import Scratch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

QUESTIONS = "questions"
PREDICTIONS = "predictions"

Place: TypeAlias = tuple[str, str]
"""A benchmark, and `questions` or `predictions`."""

Inspection: TypeAlias = "Callable[[Transaction, str], None]"


def ingest(
    warehouse: Warehouse,
    inputs: Sequence[Files],
    *,
    kinds: Collection[str] = (QUESTIONS, PREDICTIONS),
    inspect: Inspection | None = None,
    force: bool = False,
) -> dict[Place, Ingested]:
    """Replaces the questions, documents and predictions of benchmarks by those of files.

    Every system that a path or row names gets a row for every question of its benchmark. Systems
    that occur no more are removed. What has not changed is not read again.

    All files are looked at before the first row is written, and all rows are written in one
    transaction. A file that DuckDB is to read itself may turn out to be unusual only then; the
    transaction is rolled back, and that file is read row by row in the next attempt.

    Args:
        warehouse: The warehouse.
        inputs: The files of each benchmark.
        kinds: `questions`, `predictions` or both; predictions alone need questions that are there.
        inspect: Looks at the new questions of a benchmark before anything is kept, and raises
            InputError for what this room does not understand.
        force: Whether to read files that have not changed.

    Returns:
        What came of each benchmark's questions and predictions.

    Raises:
        InputError: The files cannot be used; names every problem. The warehouse is as before.
        UnknownFormat: There is no such format.
    """
    careful: set[Place] = set()
    while True:
        with Scratch(warehouse.path).place() as folder:
            plans = [_plan(warehouse, files, kinds, careful, force=force) for files in inputs]
            try:
                for number, plan in enumerate(plans):
                    plan.prepare(warehouse, folder / str(number))
                return _written(warehouse, plans, inspect)
            except _Unusual as unusual:
                if unusual.place in careful:
                    benchmark, kind = unusual.place
                    raise WarehouseError(
                        f"the {kind} of {benchmark!r} cannot be kept: {unusual}"
                    ) from unusual
                careful.add(unusual.place)


class _Unusual(Exception):  # noqa: N818 - not a failure
    def __init__(self, place: Place, reason: NotFastPath) -> None:
        super().__init__(str(reason))
        self.place = place


@dataclass(slots=True)
class _Plan:
    """What is to be done about one benchmark; null where its files have not changed."""

    files: Files
    questions: QuestionReading | None
    predictions: PredictionReading | None
    results: dict[Place, Ingested]

    def prepare(self, warehouse: Warehouse, folder: Path) -> None:
        folder.mkdir()
        place = (self.files.benchmark, QUESTIONS)
        try:
            if self.questions is not None:
                self.questions.prepare(warehouse, folder)
            place = (self.files.benchmark, PREDICTIONS)
            if self.predictions is not None:
                self.predictions.prepare(warehouse, folder, self.questions)
        except NotFastPath as reason:
            raise _Unusual(place, reason) from reason


def _plan(
    warehouse: Warehouse,
    files: Files,
    kinds: Collection[str],
    careful: set[Place],
    *,
    force: bool,
) -> _Plan:
    chosen, name = format_named(files.format), files.benchmark
    marks = warehouse.marks(name)
    plan = _Plan(files, None, None, {})
    if QUESTIONS in kinds:
        digest = questions_digest(
            chosen, files.questions, files.documents, files.max_reject_ratio, files.predictions
        )
        if force or marks.get(QUESTIONS) != digest:
            swift = chosen.is_canonical and (name, QUESTIONS) not in careful
            plan.questions = QuestionReading(files=files, chosen=chosen, digest=digest, swift=swift)
        else:
            plan.results[name, QUESTIONS] = unchanged(warehouse, name, QUESTIONS, digest)
        marks[QUESTIONS] = digest
    if PREDICTIONS in kinds:
        if QUESTIONS not in marks:
            raise WarehouseError(f"benchmark {name!r} has no questions: ingest them first")
        require_usable(files.predictions)
        digest = predictions_digest(
            chosen, files.predictions, files.max_reject_ratio, marks[QUESTIONS]
        )
        if force or marks.get(PREDICTIONS) != digest:
            swift = chosen.is_canonical and (name, PREDICTIONS) not in careful
            plan.predictions = PredictionReading(
                files=files, chosen=chosen, digest=digest, swift=swift
            )
        else:
            plan.results[name, PREDICTIONS] = unchanged(warehouse, name, PREDICTIONS, digest)
    return plan


def _written(
    warehouse: Warehouse, plans: Sequence[_Plan], inspect: Inspection | None
) -> dict[Place, Ingested]:
    results = {place: done for plan in plans for place, done in plan.results.items()}
    if not any(plan.questions or plan.predictions for plan in plans):
        return results

    def put(transaction: Transaction) -> None:
        transaction.keep_text_plain()
        for plan in plans:
            name = plan.files.benchmark
            place = (name, QUESTIONS)
            try:
                if (asked := plan.questions) is not None:
                    results[place] = Ingested(
                        rows=asked.put(transaction), problems=asked.problems, digest=asked.digest
                    )
                    if inspect is not None:
                        _inspect(inspect, transaction, asked)
                place = (name, PREDICTIONS)
                if (given := plan.predictions) is not None:
                    rows, notes = given.put(transaction)
                    results[place] = Ingested(
                        rows=rows, problems=given.problems, notes=notes, digest=given.digest
                    )
            except NotFastPath as reason:
                raise _Unusual(place, reason) from reason

    warehouse.write(put)
    return results


def _inspect(inspect: Inspection, transaction: Transaction, asked: QuestionReading) -> None:
    """Let a fault be found again where lines are known, if they are not."""
    try:
        inspect(transaction, asked.files.benchmark)
    except InputError as error:
        if asked.swift:
            raise NotFastPath(str(error)) from error
        raise
