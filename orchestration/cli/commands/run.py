"""`scoreline run`: from files to published leaderboards."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - click gives it
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import (
    benchmark_option,
    config_option,
    debug_option,
    debugging,
    known,
    load,
)

if TYPE_CHECKING:
    from assets.project import Project


@click.command(
    "run",
    epilog="""\b
Examples:
  scoreline run
  scoreline run --benchmark support --system gpt-4o
  scoreline run --evaluator citations --force
  scoreline run --config other/scoreline.yaml""",
)
@benchmark_option
@click.option(
    "--system", "systems", multiple=True, metavar="NAME", help="Only this; may be repeated."
)
@click.option(
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="NAME",
    help="Only this evaluator or family; may be repeated.",
)
@click.option("--no-judge", is_flag=True, help="Ask no judge model; use the replies at hand.")
@click.option("--force", is_flag=True, help="Score again what is up to date.")
@config_option
@debug_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    evaluators: tuple[str, ...],
    no_judge: bool,  # noqa: FBT001 - a flag
    force: bool,  # noqa: FBT001
    config: Path,
) -> None:
    """Ingest, check, score and publish, then show the leaderboards.

    Only what has changed is scored: new or changed questions, predictions and evaluators. The run
    is kept in the project's Dagster instance, where `scoreline dev` shows it; where nothing at all
    has changed, no run is started.

    Leaderboards go to standard output; what was rejected or noted goes to standard error. The exit
    code is 1 when a check failed, and 2 when the input or the configuration cannot be used; then
    the warehouse is as before.
    """
    project = load(config).project

    from assets.freshness import is_current
    from orchestration.choices import Choices
    from orchestration.cli.summary import write_nothing_changed, write_summary
    from orchestration.published import copy
    from warehouse.systems import require_systems

    choices = Choices(
        benchmarks=known("benchmark", benchmarks, list(project.benchmarks)),
        systems=_systems(project, benchmarks, systems),
        evaluators=_evaluators(project, evaluators),
        judge=not no_judge,
        force=force,
    )
    wanted = choices.benchmarks or tuple(project.benchmarks)
    if not force and is_current(project, wanted):
        if choices.systems:
            require_systems(copy(project), choices.systems, wanted)
        write_nothing_changed(project, choices)
        return

    from orchestration.execution import evaluate
    from orchestration.progress import shown

    with shown(quiet=debugging()) as progress:
        record = evaluate(project, choices, progress, aloud=debugging())
    write_summary(project, choices, record)


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
