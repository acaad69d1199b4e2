"""The output of `scoreline run`: leaderboards, counts, problems and rejected rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.project import Benchmark, Project
    from orchestration.runs import RunOptions
    from orchestration.runs.events import RunRecord
    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

MAX_PROBLEMS = 3
MAX_REJECTS = 5


def write_summary(
    project: Project,
    options: RunOptions,
    record: RunRecord | None,
    notes: Iterable[str],
    *,
    document_qa: bool = False,
) -> None:
    """Write leaderboards to standard output and everything else to standard error.

    Args:
        project: The project.
        options: The part of the project that the run covered.
        record: The record of the run; None when nothing has changed since the last one.
        notes: Notes on the configuration.
        document_qa: Whether benchmarks of document-grounded QA get a summary in that layout instead
            of a leaderboard.
    """
    from assets.project import REPORT_FILE
    from orchestration.published import open_copy

    benchmarks = options.benchmarks or tuple(project.benchmarks)
    others = benchmarks
    if document_qa:
        others = _write_document_qa_summaries(project, benchmarks)
    write_results(open_copy(project), benchmarks, others, notes)
    if record is not None:
        _write_record(record)
    write_end(project.publish / REPORT_FILE, is_unchanged=record is None)


def write_end(report: Path, *, is_unchanged: bool) -> None:
    """Write where the results are."""
    if is_unchanged:
        click.echo("nothing has changed since: 0 scored", err=True)
    click.echo(f"published in {report.parent}", err=True)
    click.echo(f"report: {report.absolute().as_uri()}", err=True)


def _write_record(record: RunRecord) -> None:
    """Print notes, warnings and counts of a run."""
    for metadata in record.metadata.values():
        for note in metadata.get("notes") or ():
            click.echo(f"note: {note}", err=True)
    for check in record.checks:
        if not (check.passed or check.is_error):
            description = f": {check.description}" if check.description else ""
            click.echo(f"warning: check {check.name!r} of {check.asset}{description}", err=True)
    judge_calls = describe_judge_calls(record)
    if judge_calls is not None:
        click.echo(judge_calls, err=True)
    over_budget = describe_budget(record)
    if over_budget is not None:
        click.echo(over_budget, err=True)
    scored, up_to_date = total(record, "scored"), total(record, "up to date")
    click.echo(f"{scored:,} scored, {up_to_date:,} up to date", err=True)


def write_results(
    copy: Snapshot, benchmarks: Sequence[str], with_leaderboard: Iterable[str], notes: Iterable[str]
) -> None:
    """Write what is published about benchmarks: leaderboards, gates, problems and rejected rows.

    Args:
        copy: The published copy.
        benchmarks: The benchmarks.
        with_leaderboard: Those whose leaderboards are shown.
        notes: Notes on the configuration.
    """
    from orchestration import published
    from orchestration.cli.leaderboard_table import write_leaderboards

    with copy.open() as opened:
        chosen = f"slice = 'all' AND {published.among('benchmark', with_leaderboard)}"
        shown = f"{chosen} AND {published.SHOWN}"
        write_leaderboards(opened.fetch_rows(published.select_leaderboard(shown)), "table")
        click.echo(err=True)
        _write_gates(opened, benchmarks)
        _write_problems(opened, benchmarks)
        _write_rejects(opened, benchmarks)
    for note in notes:
        click.echo(f"note: {note}", err=True)


def _write_document_qa_summaries(project: Project, benchmarks: tuple[str, ...]) -> tuple[str, ...]:
    """Print summaries in the layout of document-grounded QA, and write the results as files.

    Returns:
        The benchmarks without retrieval, citation or rubric results, which have no summary.
    """
    from assets.publishing.exports.document_qa import gather_results
    from assets.publishing.exports.document_qa_summary import format_summary
    from orchestration import published

    others = []
    with published.open_copy(project).open() as copy:
        for name in benchmarks:
            benchmark = project.benchmarks[name]
            evaluation = gather_results(copy, benchmark)
            if not any(evaluation.results.values()):
                others.append(name)
                continue
            evaluation.write(project.publish)
            pattern = benchmark.predictions.name
            if "{system}" not in pattern:
                pattern = "{system}"
            files = {system: pattern.replace("{system}", system) for system in evaluation.results}
            click.echo(format_summary(evaluation, _question_file(project, benchmark), files))
    return tuple(others)


def _question_file(project: Project, benchmark: Benchmark) -> str:
    path = benchmark.questions
    if path is None:
        return "none"
    return path.as_posix().removeprefix(f"{project.home.as_posix()}/")


def _write_gates(copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    """Count the verdicts of the gates of each benchmark; the error of the run names failed ones."""
    from orchestration import published

    gates = published.load_gates(copy, benchmarks)
    for name in benchmarks:
        counts = Counter(
            gate["verdict"].replace("_", " ") if gate["passed"] else "failed"
            for gate in gates
            if gate["benchmark"] == name
        )
        if counts:
            counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
            click.echo(f"{name}: gates: {counted}", err=True)


def _write_problems(copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    """Print the most severe problems of each benchmark, and count the others."""
    every = copy.fetch_rows(
        "SELECT * FROM v_problems "
        "ORDER BY list_position(['high', 'medium', 'low'], severity), kinds[1], system, evaluator"
    )
    for name in benchmarks:
        problems = [row for row in every if row["benchmark"] == name]
        severe = [row for row in problems if row["severity"] != "low"]
        if not severe:
            continue
        counts = Counter(row["severity"] for row in problems)
        levels = ("high", "medium", "low")
        counted = ", ".join(f"{counts[level]} {level}" for level in levels if counts[level])
        click.echo(f"{name}: problems: {counted}", err=True)
        for row in severe[:MAX_PROBLEMS]:
            click.echo(f"  {row['severity']}: {row['message']}", err=True)
        if len(problems) > min(MAX_PROBLEMS, len(severe)):
            _write_query("SELECT severity, message FROM v_problems", name)


def total(record: RunRecord, key: str) -> int:
    """Return the sum of a metadata value over all assets."""
    return sum(int(metadata.get(key) or 0) for metadata in record.metadata.values())


def describe_judge_calls(record: RunRecord) -> str | None:
    """Return the number of judge calls, their failures and their cost; None without calls.

    An unknown price is never counted as 0.
    """
    from evaluators.engines.judge.budget import format_usd

    asked, cached = total(record, "judge calls"), total(record, "replies from the ledger")
    if not asked:
        return None
    failures = {
        "without a usable reply": total(record, "parse failures"),
        "without any reply": total(record, "judge errors"),
    }
    failed = "".join(f", {count:,} {kind}" for kind, count in failures.items() if count)
    tokens = total(record, "tokens")
    counted = f"; {tokens:,} tokens" if tokens else ""
    costs = [metadata.get("cost in US dollars") for metadata in record.metadata.values()]
    known = [cost for cost in costs if cost is not None]
    price = f"{format_usd(sum(known))} US dollars" if known else "the price is unknown"
    from_ledger = f", {cached:,} from the ledger" if cached else ""
    return f"judge: {asked:,} calls{failed}{from_ledger}{counted}; {price}"


def describe_budget(record: RunRecord) -> str | None:
    """Return how many judge calls the budget did not allow; None if it allowed all."""
    from evaluators.engines.judge.budget import format_usd

    refused = total(record, "calls over budget")
    if not refused:
        return None
    judged = [each for each in record.metadata.values() if "budget" in each]
    budget, spent, aside = (
        format_usd(max(each.get(name, 0.0) for each in judged))
        for name in ("budget", "spent of the budget", "set aside for the next call")
    )
    calls = refused + total(record, "judge calls")
    return (
        f"budget of {budget} US dollars reached at {spent} spent, with {aside} to set aside for "
        f"the next call: {refused:,} of {calls:,} judge calls not made; run again to go on"
    )


def _write_rejects(copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    """Print the first rejected rows of each benchmark."""
    first = copy.fetch_rows(
        "SELECT *, count(*) OVER (PARTITION BY benchmark) AS n FROM rejects "  # noqa: S608
        "QUALIFY row_number() OVER (PARTITION BY benchmark ORDER BY kind, file, line) "
        f"<= {MAX_REJECTS} ORDER BY benchmark, kind, file, line"
    )
    for name in benchmarks:
        rejects = [row for row in first if row["benchmark"] == name]
        if not rejects:
            continue
        click.echo(f"{name}: {rejects[0]['n']:,} rows rejected", err=True)
        for row in rejects:
            where = row["file"] if row["line"] is None else f"{row['file']}:{row['line']}"
            click.echo(f"  {where}: {row['reason']}", err=True)
        if rejects[0]["n"] > MAX_REJECTS:
            _write_query("SELECT * FROM rejects", name)


def _write_query(query: str, benchmark: str) -> None:
    """Print the command that shows all rows, ready to copy.

    Benchmark names contain neither quotes nor spaces.
    """
    import shlex

    config = click.get_current_context().params.get("config")
    is_default = config in (None, Path("scoreline.yaml"))
    option = "" if is_default else f"--config {shlex.quote(str(config))} "
    click.echo(
        f"  ... all: scoreline sql {option}\"{query} WHERE benchmark = '{benchmark}'\"", err=True
    )
