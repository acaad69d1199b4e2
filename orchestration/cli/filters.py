"""Narrowing: the options by which a command is limited to some systems and evaluators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from orchestration.cli.options import known

if TYPE_CHECKING:
    from assets.project import Project
    from orchestration.runs.filters import Choices

system_option = click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="Only this; may be repeated."
)
evaluator_option = click.option(
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="Only this evaluator or family; may be repeated.",
)
no_judge_option = click.option(
    "--no-judge", is_flag=True, help="Ask no judge model; use the replies at hand."
)


def narrowed(
    project: Project,
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    *,
    judge: bool = True,
    force: bool = False,
) -> Choices:
    """What a command is narrowed to.

    Raises:
        UnknownName: There is no such benchmark, system or evaluator in the project.
    """
    from orchestration.runs.filters import Choices

    return Choices(
        benchmarks=known("benchmark", benchmarks, list(project.benchmarks)),
        systems=_systems(project, benchmarks, systems),
        evaluators=_evaluators(project, evaluators),
        judge=judge,
        force=force,
    )


def _systems(
    project: Project, benchmarks: tuple[str, ...], wanted: tuple[str, ...]
) -> tuple[str, ...]:
    """The systems that are meant, each once.

    Systems that are named inside files are not known before these are read: then the names are
    taken as they are, and checked when the files have been read.

    Raises:
        UnknownName: All systems are named by paths, and one that is wanted is not among them.
    """
    from warehouse.formats.paths import expand

    if not wanted:
        return ()
    names = [
        system
        for name in benchmarks or project.benchmarks
        for _, system in expand(project.benchmarks[name].predictions)
    ]
    if None in names:
        return tuple(dict.fromkeys(wanted))
    return known("system", wanted, sorted({str(name) for name in names}))


def _evaluators(project: Project, wanted: tuple[str, ...]) -> tuple[str, ...]:
    """The evaluators that are meant; each is one that the project uses."""
    from evaluators import catalog

    used = {e.name for benchmark in project.benchmarks.values() for e in benchmark.evaluators}
    meant: dict[str, None] = {}
    for name in wanted:
        chosen = [found for found in catalog.select([name]) if found in used]
        if not chosen:
            known("used evaluator", (name,), sorted(used))
        meant.update(dict.fromkeys(chosen))
    return tuple(meant)
