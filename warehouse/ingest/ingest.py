"""Ingests input files into the warehouse: either all files or, if one is not valid, none."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from warehouse.errors import InputError, WarehouseError
from warehouse.formats.catalog import format_named
from warehouse.formats.paths import require_valid_systems
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.plan import Load, PredictionLoad, QuestionLoad
from warehouse.ingest.result import Ingested, unchanged
from warehouse.storage.scratch import ScratchFolder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from warehouse.ingest.plan import BenchmarkFiles
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
            steps: dict[InputKey, Load | Ingested] = {}
            for files in inputs:
                steps |= _plan(warehouse, files, kinds, row_by_row, force=force)
            loads = {key: step for key, step in steps.items() if not isinstance(step, Ingested)}
            done = {key: step for key, step in steps.items() if isinstance(step, Ingested)}
            try:
                for number, (key, load) in enumerate(loads.items()):
                    scratch = folder / str(number)
                    scratch.mkdir()
                    with _refusal_of(key):
                        load.prepare(warehouse, scratch)
                if loads:
                    done |= _write(warehouse, loads, inspect)
                return {key: done[key] for key in steps}
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


@contextmanager
def _refusal_of(key: InputKey) -> Iterator[None]:
    try:
        yield
    except NotFastPath as reason:
        raise _FastPathRefused(key, reason) from reason


def _plan(
    warehouse: Warehouse,
    files: BenchmarkFiles,
    kinds: Collection[str],
    row_by_row: set[InputKey],
    *,
    force: bool,
) -> dict[InputKey, Load | Ingested]:
    """Return the loads of one benchmark, or the stored results of files that have not changed."""
    input_format, name = format_named(files.format), files.benchmark
    fingerprints = warehouse.fingerprints(name)
    steps: dict[InputKey, Load | Ingested] = {}
    questions: QuestionLoad | None = None

    def is_fast(kind: str) -> bool:
        return input_format.is_canonical and (name, kind) not in row_by_row

    if QUESTIONS in kinds:
        digest = questions_digest(
            input_format,
            files.questions,
            files.documents,
            files.max_reject_ratio,
            files.predictions,
        )
        if force or fingerprints.get(QUESTIONS) != digest:
            questions = QuestionLoad(
                files=files, format=input_format, digest=digest, is_fast=is_fast(QUESTIONS)
            )
        steps[name, QUESTIONS] = questions or unchanged(warehouse, name, QUESTIONS, digest)
        fingerprints[QUESTIONS] = digest
    if PREDICTIONS in kinds:
        if QUESTIONS not in fingerprints:
            raise WarehouseError(f"benchmark {name!r} has no questions: ingest them first")
        require_valid_systems(files.predictions)
        digest = predictions_digest(
            input_format, files.predictions, files.max_reject_ratio, fingerprints[QUESTIONS]
        )
        if force or fingerprints.get(PREDICTIONS) != digest:
            steps[name, PREDICTIONS] = PredictionLoad(
                files=files,
                format=input_format,
                digest=digest,
                is_fast=is_fast(PREDICTIONS),
                questions=questions,
            )
        else:
            steps[name, PREDICTIONS] = unchanged(warehouse, name, PREDICTIONS, digest)
    return steps


def _write(
    warehouse: Warehouse, loads: Mapping[InputKey, Load], inspect: Inspection | None
) -> dict[InputKey, Ingested]:
    def write(transaction: Transaction) -> dict[InputKey, Ingested]:
        transaction.disable_text_compression()
        written: dict[InputKey, Ingested] = {}
        for key, load in loads.items():
            with _refusal_of(key):
                written[key] = load.write(transaction)
                if inspect is not None and isinstance(load, QuestionLoad):
                    _inspect(inspect, transaction, load)
        return written

    return warehouse.write(write)


def _inspect(inspect: Inspection, transaction: Transaction, questions: QuestionLoad) -> None:
    """Inspect new questions; after a fast load repeat row by row to find the line of a problem."""
    try:
        inspect(transaction, questions.files.benchmark)
    except InputError as error:
        if questions.is_fast:
            raise NotFastPath(str(error)) from error
        raise
