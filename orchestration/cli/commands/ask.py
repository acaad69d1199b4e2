"""`scoreline ask`: ask systems for their answers, without scoring them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from orchestration.cli.options import benchmark_option, run_options, settings_option, system_option
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from assets.project import Project
    from orchestration.config.load import Settings
    from orchestration.runs import RunOptions

HELP_ORDER = 2


@click.command(
    "ask",
    epilog="""\b
Examples:
  scoreline ask
  scoreline ask --system rag-v3 --limit 20
  scoreline ask --benchmark tickets --out answers""",
)
@benchmark_option
@system_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Ask at most the first N questions of each benchmark.",
)
@click.option("--retry", is_flag=True, help="Ask again where there was an error.")
@click.option("--force", is_flag=True, help="Ask again for answers that are there.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write all answers into this folder, as <benchmark>/<system>.jsonl.",
)
@settings_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    limit: int | None,
    retry: bool,  # noqa: FBT001 - a flag
    force: bool,  # noqa: FBT001 - a flag
    out: Path | None,
    settings: Settings,
) -> None:
    """Ask the systems of the configuration the questions that they have not answered yet.

    A run asks as well, before it scores. An answer is asked for once, until the question or the
    version of the system changes. Questions whose transport failed are asked again by the next
    command or run. Nothing is scored or published.

    The exit code is 1 when a budget was reached before all questions were asked, and 2 when the
    first answer of a system has a wrong shape, or the system cannot be asked at all.
    """
    from dataclasses import replace

    from assets.project import asked_systems, expand_systems
    from orchestration.cli.finished_run import describe_answers, total
    from orchestration.cli.options import require_known
    from orchestration.errors import ChecksFailed, OrchestrationError
    from orchestration.runs.start import run_project

    project = settings.project
    known = asked_systems(project)
    if not known:
        raise OrchestrationError(
            f"{settings.file}: no benchmark asks a system: expected `systems` at the top level and "
            "in a benchmark"
        )
    systems = expand_systems(systems, project.members, known)
    require_known("asked system", systems, known)
    options = run_options(project, benchmarks, systems, (), force=force, retry=retry)
    options = replace(options, answers_only=True, limit=limit)
    debug = bool(click.get_current_context().meta.get("scoreline.debug"))
    record = run_project(settings, options, debug=debug, lines=True)
    lines = [] if record is None else list(describe_answers(record))
    for line in lines or ["0 asked: the ledger has the answers"]:
        echo(line)
    if out is not None:
        for path in _write(project, options, out):
            echo(path)
    if record is not None and total(record, "questions over budget"):
        raise ChecksFailed("not all questions were asked: a budget was reached; ask again to go on")


def _write(project: Project, options: RunOptions, out: Path) -> list[Path]:
    from assets.publishing.exports.predictions import write_asked

    written = []
    for name in options.benchmarks or project.benchmarks:
        asked = project.benchmarks[name].systems
        wanted = [each for each in asked if not options.systems or each in options.systems]
        written += write_asked(project.open_warehouse(), name, wanted, out / name)
    return written
