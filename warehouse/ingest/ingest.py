"""Ingests input files into the warehouse: either all files or, if one is not valid, none."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from warehouse.errors import InputError, WarehouseError
from warehouse.formats.paths import require_valid_systems
from warehouse.ingest.changed_pieces import ChangedPredictionLoad
from warehouse.ingest.digests import predictions_digest, questions_digest
from warehouse.ingest.fast_path import NotFastPath
from warehouse.ingest.plan import Load, QuestionLoad, has_queries
from warehouse.ingest.result import Ingested, unchanged
from warehouse.storage.connection import connect_memory
from warehouse.storage.memory import SMALL_BYTES, default_memory_limit, thread_count
from warehouse.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from warehouse.ingest.plan import BenchmarkFiles
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

ORDERED_BYTES: Final = 1 << 26
"""The size of a file from which several threads insert its rows faster than one after the other."""

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

    Answers of systems that are asked are predictions, too. Every system that a path or row names,
    or that is asked, gets a row for every question of its benchmark. Systems that no longer occur
    are removed. Unchanged files are not read again, and neither are the
    unchanged parts of large files of predictions.

    All files are read before the first row is written, and one transaction writes all rows. A file
    that the fast path refuses is read row by row.

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
    with scratch_folder(warehouse.path.parent) as folder:
        steps: dict[InputKey, Load | Ingested] = {}
        known = warehouse.all_fingerprints([files.benchmark for files in inputs])
        for number, files in enumerate(inputs):
            own_folder = folder / str(number)
            own_folder.mkdir()
            steps |= _plan(warehouse, files, known[files.benchmark], kinds, own_folder, force=force)
        loads = {key: step for key, step in steps.items() if isinstance(step, Load)}
        if sum(_file_sizes(loads)) > SMALL_BYTES:
            limit = warehouse.memory_limit or default_memory_limit()
            warehouse = replace(warehouse, threads=warehouse.threads or thread_count(limit))
        # Held open: to open an in-memory DuckDB takes longer than to read a small file with it.
        with connect_memory(warehouse.settings):
            for load in loads.values():
                load.prepare(warehouse)
        written = _write_all(warehouse, loads, inspect)
    return {
        key: step if isinstance(step, Ingested) else written[key] for key, step in steps.items()
    }


def _plan(
    warehouse: Warehouse,
    files: BenchmarkFiles,
    fingerprints: dict[str, str],
    kinds: Collection[str],
    folder: Path,
    *,
    force: bool,
) -> dict[InputKey, Load | Ingested]:
    """Return the loads of one benchmark, or the stored results of files that have not changed."""
    input_format, name = files.input_format, files.benchmark
    steps: dict[InputKey, Load | Ingested] = {}
    questions: QuestionLoad | None = None

    if QUESTIONS in kinds:
        digest = questions_digest(
            input_format,
            files.questions,
            files.documents,
            files.max_reject_ratio,
            files.predictions,
            files.columns,
        )
        if force or fingerprints.get(QUESTIONS) != digest:
            questions = QuestionLoad(
                files=files,
                format=input_format,
                digest=digest,
                folder=folder,
                is_fast=input_format.is_canonical
                and input_format.expansion is None
                and not (files.columns.questions or files.columns.tags)
                and not has_queries(files.questions),
            )
        steps[name, QUESTIONS] = questions or unchanged(warehouse, name, QUESTIONS, digest)
        fingerprints[QUESTIONS] = digest
    if PREDICTIONS in kinds:
        if QUESTIONS not in fingerprints:
            raise WarehouseError(f"benchmark {name!r} has no questions: ingest them first")
        require_valid_systems(files.prediction_paths)
        settings = (
            files.max_reject_ratio,
            fingerprints[QUESTIONS],
            files.columns,
            files.missing,
        )
        answers = [(each.system, each.digest(warehouse)) for each in files.answers]
        digest = predictions_digest(input_format, files.predictions, *settings, answers)
        loaded = fingerprints.get(PREDICTIONS)
        if force or loaded != digest:
            steps[name, PREDICTIONS] = ChangedPredictionLoad(
                files=files,
                format=input_format,
                digest=digest,
                folder=folder,
                is_fast=input_format.is_canonical
                and not files.columns.has_predictions
                and not has_queries(file for file, _ in files.predictions),
                questions=questions,
                settings=predictions_digest(input_format, [], *settings),
                loaded=None if force else loaded,
            )
        else:
            steps[name, PREDICTIONS] = unchanged(warehouse, name, PREDICTIONS, digest)
    return steps


def _write_all(
    warehouse: Warehouse, loads: Mapping[InputKey, Load], inspect: Inspection | None
) -> dict[InputKey, Ingested]:
    """Write all loads in one transaction, after at most two that are rolled back.

    The fast path may refuse a file only when its rows are written. After the first refusal all
    other fast loads are verified, after the second all are read row by row: the number of attempts
    does not depend on the number of files.
    """
    if not loads:
        return {}
    try:
        return _write(warehouse, loads, inspect)
    except _FastPathRefused as refused:
        refused.load.read_rows(warehouse)
        for load in _fast(loads):
            load.verify(warehouse)
    try:
        return _write(warehouse, loads, inspect)
    except _FastPathRefused:
        for load in _fast(loads):
            load.read_rows(warehouse)
    return _write(warehouse, loads, inspect)


def _fast(loads: Mapping[InputKey, Load]) -> list[Load]:
    return [load for load in loads.values() if load.is_fast]


class _FastPathRefused(Exception):  # noqa: N818 - not a failure
    def __init__(self, load: Load) -> None:
        super().__init__()
        self.load = load


def _write(
    warehouse: Warehouse, loads: Mapping[InputKey, Load], inspect: Inspection | None
) -> dict[InputKey, Ingested]:
    def write_one(transaction: Transaction, benchmark: str, kind: str) -> Ingested:
        load = loads[benchmark, kind]
        try:
            written = load.write(transaction)
            if inspect is not None and isinstance(load, QuestionLoad):
                _inspect(inspect, transaction, load)
        except NotFastPath as reason:
            if load.is_fast:
                raise _FastPathRefused(load) from reason
            raise WarehouseError(
                f"the {kind} of {benchmark!r} cannot be stored: {reason}"
            ) from reason
        return written

    def write(transaction: Transaction) -> dict[InputKey, Ingested]:
        # Rows of small files are inserted in their order.
        small = all(size < ORDERED_BYTES for size in _file_sizes(loads))
        # Of large files, looking for repeated text takes a fifth of the time of reading them.
        transaction.disable_text_compression(unless_repeated=small)
        digests: dict[str, dict[str, str]] = {}
        for (benchmark, kind), load in loads.items():
            digests.setdefault(kind, {})[benchmark] = load.digest
        for kind, names in digests.items():
            rejected = [kind, "documents"] if kind == QUESTIONS else [kind]
            transaction.delete("rejects", {"benchmark": list(names), "kind": rejected})
        for table in (QUESTIONS, "documents", PREDICTIONS):
            replaced = [name for (name, _), load in loads.items() if table in load.replaces]
            transaction.delete(table, {"benchmark": replaced})
        with transaction.inserting_in_order() if small else nullcontext():
            written = {key: write_one(transaction, *key) for key in loads}
        for kind, names in digests.items():
            transaction.record_fingerprints(kind, names)
        return written

    return warehouse.write(write)


def _file_sizes(loads: Mapping[InputKey, Load]) -> list[float]:
    """Return the size of each input in bytes; infinity for the result of a query."""
    given = [load.files for load in loads.values()]
    files = {file for each in given for file in (*each.questions, *dict(each.predictions))}
    return [file.stat().st_size if isinstance(file, Path) else math.inf for file in files]


def _inspect(inspect: Inspection, transaction: Transaction, questions: QuestionLoad) -> None:
    """Inspect new questions; after a fast load repeat row by row to find the line of a problem."""
    try:
        inspect(transaction, questions.files.benchmark)
    except InputError as error:
        if questions.is_fast:
            raise NotFastPath(str(error)) from error
        raise
