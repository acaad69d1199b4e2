"""The examination of a project: what is in order, what is not, and what to do about it."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from orchestration import instance, published
from orchestration.cleanup import items, journals
from orchestration.config import load
from orchestration.doctor.finding import Finding
from orchestration.doctor.judge import judge_findings
from orchestration.doctor.models import model_findings
from orchestration.errors import NoSettings, SettingsError
from warehouse.errors import WarehouseError
from warehouse.formats.paths import expand
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assets.project import Benchmark, Project

PATIENCE_S = 2.0


def examine(config: Path) -> Iterator[Finding]:
    """Looks at everything that a run of the project needs, and changes nothing.

    Args:
        config: The configuration file; when it cannot be used, it is the only finding.
    """
    try:
        found = load.read(config)
    except (NoSettings, SettingsError) as error:
        yield Finding("fail", "configuration", str(error))
        return
    names = ", ".join(found.project.benchmarks)
    yield Finding("ok", "configuration", f"{found.file}: {names}")
    for benchmark in found.project.benchmarks.values():
        yield from _files(benchmark)
    yield _warehouse(found.project)
    for subject, folder in (
        ("warehouse folder", found.project.warehouse.parent),
        ("publish folder", found.project.publish),
    ):
        yield _writable(subject, folder)
    yield _published(found.project)
    yield from judge_findings(found)
    yield from model_findings(found)
    yield _instance(found.project)
    yield from _leftovers(found.project)


def _files(benchmark: Benchmark) -> Iterator[Finding]:
    patterns = {
        "questions": benchmark.questions,
        "predictions": benchmark.predictions,
        "documents": benchmark.documents,
    }
    for kind, pattern in patterns.items():
        if pattern is None:
            continue
        subject = f"{benchmark.name}: {kind}"
        try:
            matches = expand(pattern)
        except WarehouseError as error:
            yield Finding("fail", subject, f"{error}: correct the path in the configuration")
            continue
        files = [file for file, _ in matches]
        unreadable = [file for file in files if not os.access(file, os.R_OK)]
        empty = [file for file in files if file.stat().st_size == 0]
        if unreadable:
            yield Finding("fail", subject, f"{str(unreadable[0])!r} may not be read: see its owner")
        elif empty:
            yield Finding("fail", subject, f"{str(empty[0])!r} is empty: fill or remove it")
        else:
            systems = [system for _, system in matches if system is not None]
            what = "1 file" if len(files) == 1 else f"{len(files)} files"
            named = f", systems {', '.join(systems)}" if systems else ""
            yield Finding("ok", subject, what + named)


def _warehouse(project: Project) -> Finding:
    subject = "warehouse"
    try:
        if not Warehouse(project.warehouse).exists():
            return Finding("ok", subject, f"{project.warehouse}: made by the first run")
        rows = Warehouse(project.warehouse, patience_s=PATIENCE_S).fetch(
            "SELECT count(*) AS n FROM predictions"
        )
    except WarehouseError as error:
        return Finding("fail", subject, str(error))
    return Finding("ok", subject, f"{project.warehouse}: {rows['n'][0]:,} predictions")


def _writable(subject: str, folder: Path) -> Finding:
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if not there.is_dir():
        return Finding("fail", subject, f"{str(there)!r} is not a folder: choose another path")
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        return Finding("fail", subject, f"{str(there)!r}: {error.strerror}: make it writable")
    return Finding("ok", subject, str(folder))


def _published(project: Project) -> Finding:
    subject = "published copy"
    try:
        rows = published.copy(project).fetch("SELECT count(*) AS n FROM leaderboard")
    except published.NothingPublished:
        return Finding("warn", subject, "nothing is published yet: `scoreline run` does")
    except WarehouseError as error:
        return Finding("fail", subject, f"{error}: delete the copy, then `scoreline run`")
    return Finding("ok", subject, f"{rows['n'][0]:,} leaderboard rows")


def _instance(project: Project) -> Finding:
    subject = "Dagster instance"
    file = instance.home(project) / "dagster.yaml"
    if not file.exists():
        return Finding("ok", subject, f"{file.parent}: made by the first run")
    from dagster import DagsterInstance

    with DagsterInstance.from_config(str(file.parent)) as opened:
        runs = opened.get_runs_count()
        if opened.telemetry_enabled:
            advice = f"telemetry is on: set `telemetry: {{enabled: false}}` in {file}"
            return Finding("warn", subject, advice)
    return Finding("ok", subject, f"{file.parent}: {runs:,} runs")


def _leftovers(project: Project) -> Iterator[Finding]:
    left = journals(project)
    if left:
        message = f"{left} of killed runs hold replies: the next `scoreline run` takes them over"
        yield Finding("warn", "journals", message)
    try:
        found = [f"{item.name} ({item.amount})" for item in items(project)]
    except WarehouseError:
        # What is wrong with the warehouse has been said.
        return
    if found:
        advice = f"may be cleaned away: {', '.join(found)}; see `scoreline clean`"
        yield Finding("ok", "leftovers", advice)
