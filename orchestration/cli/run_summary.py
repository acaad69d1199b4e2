"""What `scoreline run` says at its end: leaderboards, what was scored, what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assets.fingerprints.stages import REPORT

if TYPE_CHECKING:
    from assets.project import Project
    from orchestration.runs.events import Record
    from orchestration.runs.filters import Choices


def write_summary(
    project: Project, choices: Choices, record: Record, *, evaluations: bool = False
) -> None:
    """Writes leaderboards to standard output and everything else to standard error.

    Args:
        project: The project.
        choices: What the run was narrowed to.
        record: What happened in it.
        evaluations: Whether to write summaries of document-grounded evaluation instead of the
            leaderboards of benchmarks that have any.

    Raises:
        ChecksFailed: A check failed that is more than a warning.
    """
    from orchestration.errors import ChecksFailed
    from orchestration.runs.run import failures

    _write_results(project, choices, evaluations=evaluations)
    for reported in record.metadata.values():
        for note in reported.get("notes") or ():
            click.echo(f"note: {note}", err=True)
    for check in record.checks:
        if not (check.passed or check.serious):
            told = f": {check.description}" if check.description else ""
            click.echo(f"warning: check {check.name!r} of {check.asset}{told}", err=True)
    judged = judge_line(record)
    if judged is not None:
        click.echo(judged, err=True)
    scored, kept = total(record, "scored"), total(record, "up to date")
    click.echo(f"{scored:,} scored, {kept:,} up to date", err=True)
    _write_place(project)
    failed = failures(record)
    if failed:
        raise ChecksFailed(failed)


def write_nothing_changed(project: Project, choices: Choices, *, evaluations: bool = False) -> None:
    """Writes what was published before, and that it still stands."""
    _write_results(project, choices, evaluations=evaluations)
    click.echo("nothing has changed since: 0 scored", err=True)
    _write_place(project)


def _write_place(project: Project) -> None:
    click.echo(f"published in {project.publish}", err=True)
    click.echo(f"report: {(project.publish / REPORT).absolute().as_uri()}", err=True)


def _write_results(project: Project, choices: Choices, *, evaluations: bool) -> None:
    import polars as pl

    from orchestration import published
    from orchestration.cli.document_qa_summary import write_evaluations
    from orchestration.cli.leaderboard_table import write_boards
    from orchestration.doctor.config_lint import oversights

    wanted = choices.benchmarks or tuple(project.benchmarks)
    if evaluations:
        wanted = write_evaluations(project, wanted)
    board = published.leaderboard(project).filter(
        pl.col("benchmark").is_in(wanted),
        pl.col("slice") == "all",
        pl.col("is_primary").cast(pl.Boolean),
    )
    write_boards(board, "table")
    click.echo(err=True)
    _write_problems(project, choices)
    _write_rejects(project, choices)
    for note in oversights(project, choices.benchmarks or tuple(project.benchmarks)):
        click.echo(f"note: {note}", err=True)


def _write_problems(project: Project, choices: Choices) -> None:
    """Names the gravest problems of each benchmark, and counts the others."""
    from orchestration import published

    shown = 3
    problems = published.problems(project)
    for name in choices.benchmarks or tuple(project.benchmarks):
        own = problems.filter(problems["benchmark"] == name)
        grave = own.filter(own["severity"] != "low")
        if grave.is_empty():
            continue
        counts = ", ".join(
            f"{n} {severity}"
            for severity in ("high", "medium", "low")
            if (n := own.filter(own["severity"] == severity).height)
        )
        click.echo(f"{name}: problems: {counts}", err=True)
        for row in grave.head(shown).iter_rows(named=True):
            click.echo(f"  {row['severity']}: {row['message']}", err=True)
        if own.height > min(shown, grave.height):
            _write_query("SELECT severity, message FROM problems", name)


def total(record: Record, name: str) -> int:
    """The sum over all assets of one number that they report."""
    return sum(int(reported.get(name) or 0) for reported in record.metadata.values())


def judge_line(record: Record) -> str | None:
    """What a run asked its judge, what came of it and what that cost; None when it asked nothing.

    A price that is not known is said to be so, and never counted as 0.
    """
    asked, held = total(record, "asked"), total(record, "held in the ledger")
    if not asked:
        return None
    lost = {
        "without a usable reply": total(record, "parse failures"),
        "without any reply": total(record, "judge errors"),
    }
    failed = "".join(f", {count:,} {how}" for how, count in lost.items() if count)
    tokens = total(record, "tokens")
    counted = f"; {tokens:,} tokens" if tokens else ""
    costs = [
        reported["cost in US dollars"]
        for reported in record.metadata.values()
        if reported.get("cost in US dollars") is not None
    ]
    price = f"{sum(costs):.4f} US dollars" if costs else "the price is not known"
    known = f", {held:,} known from the ledger" if held else ""
    return f"judge: {asked:,} asked{failed}{known}{counted}; {price}"


def _write_rejects(project: Project, choices: Choices) -> None:
    """Names the rows that were not read, up to a handful for each benchmark."""
    from orchestration import published

    shown = 5
    rejects = published.rejects(project)
    for name in choices.benchmarks or tuple(project.benchmarks):
        own = rejects.filter(rejects["benchmark"] == name)
        if own.is_empty():
            continue
        click.echo(f"{name}: {own.height:,} rows rejected", err=True)
        for row in own.head(shown).iter_rows(named=True):
            place = row["file"] if row["line"] is None else f"{row['file']}:{row['line']}"
            click.echo(f"  {place}: {row['reason']}", err=True)
        if own.height > shown:
            _write_query("SELECT * FROM rejects", name)


def _write_query(query: str, benchmark: str) -> None:
    """Says how to see all of what a few lines were shown of, ready to be copied.

    The names of benchmarks hold neither quotes nor blanks.
    """
    import shlex

    config = click.get_current_context().params.get("config")
    elsewhere = config not in (None, Path("scoreline.yaml"))
    option = f"--config {shlex.quote(str(config))} " if elsewhere else ""
    click.echo(
        f"  ... all: scoreline sql {option}\"{query} WHERE benchmark = '{benchmark}'\"", err=True
    )
