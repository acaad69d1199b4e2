"""Builds the tasks of models that are asked, and reads files of examples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from systems.tasks.rgb import Rgb
from warehouse.errors import InputError, Problem
from warehouse.formats.canonical import FORMAT as CANONICAL
from warehouse.formats.expansion import Expansion
from warehouse.formats.format import Reject, Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from orchestration.config.evaluators import ReportFault
    from orchestration.config.system_schema import TaskKeys
    from systems.settings import SystemSettings
    from systems.tasks.mcqa import Mcqa


def build_task(
    keys: TaskKeys, home: Path, report: ReportFault, path: tuple[str, ...]
) -> Mcqa | Rgb | None:
    """Return the task of a model; report the faults in its keys.

    Args:
        keys: The keys.
        home: The folder that paths are relative to.
        report: Reports a fault.
        path: The path of the keys in the document.
    """
    where = ".".join(path)
    kinds = list(type(keys).model_fields)
    given = [kind for kind in kinds if getattr(keys, kind) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none of them"
        report(f"{where}: expected one of {', '.join(kinds)}, found {found}", *path)
        return None
    if keys.mcqa is None:
        return keys.rgb
    task = keys.mcqa.located(home, read_questions)
    for file in task.files():
        if not file.is_file():
            message = f"{where}.mcqa.examples: there is no file {keys.mcqa.examples!r}"
            report(message, *path, "mcqa", "examples")
    return task


def build_expansion(
    systems: Mapping[str, SystemSettings],
    names: Sequence[str],
    report: ReportFault,
    path: tuple[str, str],
) -> Expansion | None:
    """Return how the tasks of a benchmark's systems make several questions of each, if any does.

    Args:
        systems: All systems.
        names: Those that the benchmark asks.
        report: Reports systems that need different questions.
        path: The path of the benchmark in the document.
    """
    tasks = {name: getattr(systems.get(name), "task", None) for name in names}
    made = {name: task for name, task in tasks.items() if isinstance(task, Rgb)}
    if not made:
        return None
    first, task = next(iter(made.items()))
    for name, each in made.items():
        if each.construction() != task.construction():
            report(
                f"{'.'.join(path)}.systems: {first!r} and {name!r} need different questions: "
                "expected equal `noise_ratios`, `passages`, `seed` and `scenarios` for all systems "
                "of a benchmark with the task `rgb`",
                *(*path, "systems"),
            )
    identity = json.dumps({"rgb": task.construction()}, sort_keys=True)
    return Expansion(identity, task.expand)


def read_questions(file: Path) -> Sequence[dict[str, Any]]:
    """Return the questions of a canonical file by the names of its fields.

    Raises:
        InputError: A row is not valid.
    """
    found, problems = [], []
    for read in CANONICAL.questions(Source(file)):
        if isinstance(read, Reject):
            problems.append(Problem(file, read.line, read.reason))
        else:
            found.append(read.record.model_dump(exclude_none=True))
    if problems:
        raise InputError(problems)
    return found
