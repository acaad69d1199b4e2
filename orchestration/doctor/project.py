"""Diagnose a project: configuration, files, warehouse, engines and Dagster instance."""

from __future__ import annotations

import os
import tempfile
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from assets.fingerprints.input_files import KINDS, input_files, input_pattern
from calls.ledger.errors import LedgerError
from evaluators.evaluator import require_libraries
from orchestration import instance, published
from orchestration.cleanup import find_items
from orchestration.config import load
from orchestration.doctor import Diagnosis
from orchestration.doctor.engines import diagnose_judge, diagnose_models
from orchestration.doctor.systems import diagnose_systems
from orchestration.errors import OrchestrationError, SettingsError
from records.packages import MissingPackage
from warehouse.errors import WarehouseError
from warehouse.formats.query import Query

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Benchmark, Project
    from orchestration.config.load import Settings

LOCK_TIMEOUT_S = 2.0

SHOWN = 3
"""The most damaged replies that are named."""


def diagnose_project(config: Path) -> Iterator[Diagnosis]:
    """Diagnose everything that a run of the project needs; change nothing.

    Args:
        config: The configuration file; its faults end the diagnosis.
    """
    try:
        settings = load.load_config(config)
    except OrchestrationError as error:
        yield Diagnosis("fail", "configuration", str(error))
        return
    project = settings.project
    yield Diagnosis("ok", "configuration", f"{settings.file}: {', '.join(project.benchmarks)}")
    for benchmark in project.benchmarks.values():
        yield from _files(benchmark)
    yield _packages(project)
    if settings.named_systems:
        yield _gates(settings)
    yield _warehouse(project)
    yield from _ledger(project)
    yield _writable("warehouse folder", project.warehouse.parent)
    yield _writable("publish folder", project.publish)
    yield _published(project)
    yield from diagnose_judge(settings)
    yield from diagnose_models(settings)
    yield from diagnose_systems(project)
    yield _instance(project)
    yield from _leftovers(project)


def _files(benchmark: Benchmark) -> Iterator[Diagnosis]:
    for kind in KINDS:
        if input_pattern(benchmark, kind) is None:
            continue
        subject = f"{benchmark.name}: {kind}"
        try:
            matches = input_files(benchmark, kind)
        except WarehouseError as error:
            yield Diagnosis("fail", subject, f"{error}: correct the path in the configuration")
            continue
        queries = [file for file, _ in matches if isinstance(file, Query)]
        if queries:
            yield _query(subject, queries[0])
            continue
        files = [file for file, _ in matches if isinstance(file, Path)]
        unreadable = [file for file in files if not os.access(file, os.R_OK)]
        empty = [file for file in files if file.stat().st_size == 0]
        if unreadable:
            message = f"{str(unreadable[0])!r} is not readable: see its owner"
            yield Diagnosis("fail", subject, message)
        elif empty:
            message = f"{str(empty[0])!r} is empty: add rows or remove the file"
            yield Diagnosis("fail", subject, message)
        else:
            systems = dict.fromkeys(system for _, system in matches if system is not None)
            what = "1 file" if len(files) == 1 else f"{len(files)} files"
            named = f", systems {', '.join(systems)}" if systems else ""
            yield Diagnosis("ok", subject, what + named)


def _packages(project: Project) -> Diagnosis:
    evaluators = chain.from_iterable(each.evaluators for each in project.benchmarks.values())
    try:
        require_libraries(evaluators)
    except MissingPackage as missing:
        return Diagnosis("fail", "packages", str(missing))
    return Diagnosis("ok", "packages", "what the evaluators need is installed")


def _query(subject: str, query: Query) -> Diagnosis:
    from warehouse.formats.readers.sql import query_rows

    try:
        is_empty = next(query_rows(query), None) is None
    except WarehouseError as error:
        return Diagnosis("fail", subject, str(error))
    if is_empty:
        return Diagnosis("fail", subject, f"{query}: the query has no rows")
    return Diagnosis("ok", subject, f"a query on {query.database}")


def _gates(settings: Settings) -> Diagnosis:
    try:
        settings.require_systems_exist(settings.project.benchmarks)
    except SettingsError as error:
        return Diagnosis("fail", "systems", str(error))
    count = sum(len(benchmark.gates) for benchmark in settings.project.benchmarks.values())
    return Diagnosis("ok", "gates", "1 gate" if count == 1 else f"{count} gates")


def _warehouse(project: Project) -> Diagnosis:
    subject = "warehouse"
    try:
        if not project.open_warehouse().exists():
            return Diagnosis("ok", subject, f"{project.warehouse}: created by the first run")
        rows = project.open_warehouse(LOCK_TIMEOUT_S).fetch("SELECT count(*) AS n FROM predictions")
    except WarehouseError as error:
        return Diagnosis("fail", subject, str(error))
    return Diagnosis("ok", subject, f"{project.warehouse}: {rows['n'][0]:,} predictions")


def _ledger(project: Project) -> Iterator[Diagnosis]:
    """Check every stored reply against its checksum."""
    from warehouse.ledger.open import has_ledger, open_ledger

    subject, warehouse = "ledger", project.open_warehouse()
    try:
        if not has_ledger(warehouse):
            return
        with open_ledger(warehouse, "doctor") as ledger:
            found = ledger.check()
    except (LedgerError, WarehouseError) as error:
        yield Diagnosis("fail", subject, str(error))
        return
    if found.fault is not None:
        advice = "restore it from a backup, or move it away: the warehouse has copies of replies"
        yield Diagnosis("fail", subject, f"SQLite finds it damaged: {found.fault}: {advice}")
    elif found.damaged:
        named = ", ".join(f"{digest[:12]} of {model}" for digest, model in found.damaged[:SHOWN])
        more = ", ..." if len(found.damaged) > SHOWN else ""
        advice = "they are not used; `scoreline run --retry` makes these calls again"
        count = f"{len(found.damaged):,} of {found.rows:,} stored replies are damaged"
        yield Diagnosis("fail", subject, f"{count}: {named}{more}: {advice}")
    else:
        yield Diagnosis("ok", subject, f"{found.rows:,} stored replies, all intact")


def _writable(subject: str, folder: Path) -> Diagnosis:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    if not existing.is_dir():
        return Diagnosis("fail", subject, f"{str(existing)!r} is not a folder: choose another path")
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        return Diagnosis("fail", subject, f"{str(existing)!r}: {error.strerror}: make it writable")
    return Diagnosis("ok", subject, str(folder))


def _published(project: Project) -> Diagnosis:
    subject = "published copy"
    try:
        rows = published.open_copy(project).fetch("SELECT count(*) AS n FROM leaderboard")
    except published.NotPublished:
        return Diagnosis("warn", subject, "nothing is published yet: run `scoreline run`")
    except WarehouseError as error:
        return Diagnosis("fail", subject, f"{error}: delete the copy, then run `scoreline run`")
    return Diagnosis("ok", subject, f"{rows['n'][0]:,} leaderboard rows")


def _instance(project: Project) -> Diagnosis:
    subject = "Dagster instance"
    file = instance.home(project) / "dagster.yaml"
    if not file.exists():
        return Diagnosis("ok", subject, f"{file.parent}: created by the first run")
    from dagster import DagsterInstance

    with (
        instance.naming_damage(project),
        DagsterInstance.from_config(str(file.parent)) as opened,
    ):
        runs = opened.get_runs_count()
        if opened.telemetry_enabled:
            advice = f"telemetry is on: set `telemetry: {{enabled: false}}` in {file}"
            return Diagnosis("warn", subject, advice)
    return Diagnosis("ok", subject, f"{file.parent}: {runs:,} runs")


def _leftovers(project: Project) -> Iterator[Diagnosis]:
    try:
        found = [f"{item.name} ({item.amount})" for item in find_items(project)]
    except WarehouseError:
        return  # the diagnosis of the warehouse reports it
    if found:
        advice = f"removable: {', '.join(found)}; see `scoreline clean`"
        yield Diagnosis("ok", "leftovers", advice)
