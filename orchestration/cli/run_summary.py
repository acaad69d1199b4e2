"""The output of `scoreline run`: leaderboards, counts, problems and rejected rows."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli import continuous_integration as ci
from orchestration.cli.output import escape_markdown, to_json_value
from orchestration.published import SHOWN, WORST_FIRST, among, load_gates, select_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark, Project
    from orchestration.cli.output import OutputFormat
    from orchestration.runs.events import RunRecord
    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

MAX_PROBLEMS = 3
MAX_REJECTS = 5


@dataclass(frozen=True, slots=True)
class Finished:
    """A finished run.

    Attributes:
        copy: The published copy.
        benchmarks: The benchmarks of the run.
        record: The record of the run; None when nothing has changed since the last one.
        report: The first page of the report.
        notes: Notes on the configuration.
    """

    copy: Snapshot
    benchmarks: Sequence[str]
    record: RunRecord | None
    report: Path
    notes: Sequence[str]


def write_summary(finished: Finished, style: str, document_qa: Project | None = None) -> None:
    """Write what a run found: leaderboards to standard output, messages to standard error.

    Args:
        finished: The run.
        style: `table`; `json`: one object instead of both; `quiet`: nothing.
        document_qa: The project, for a summary of its benchmarks of document-grounded QA in that
            layout instead of a leaderboard.
    """
    with finished.copy.open() as opened:
        if style == "json":
            click.echo(json.dumps(_summary(finished, opened), ensure_ascii=False, indent=2))
        if style == "table":
            others = finished.benchmarks
            if document_qa is not None:
                others = _write_document_qa_summaries(opened, document_qa, others)
            _write_results(finished, opened, others)
        if ci.has_step_summary():
            with ci.step_summary("Evaluation"):
                _write_leaderboards(opened, finished.benchmarks, "md")
                lines = [gate["message"] for gate in load_gates(opened, finished.benchmarks)]
                lines += [row["message"] for row in _problems(opened, finished.benchmarks)]
                click.echo("".join(f"\n* {escape_markdown(line)}" for line in lines))


def _summary(finished: Finished, copy: OpenSnapshot) -> dict[str, Any]:
    """Return what a run found as an object for programs."""
    tables: dict[str, dict[str, list[Any]]] = {
        name: {"leaderboard": [], "problems": [], "gates": []} for name in finished.benchmarks
    }
    chosen = among("benchmark", finished.benchmarks)
    for table, query in (
        ("leaderboard", select_leaderboard(chosen)),
        ("problems", f"SELECT * FROM v_problems WHERE {chosen} ORDER BY {WORST_FIRST}"),  # noqa: S608
        ("gates", f"SELECT * FROM gates WHERE {chosen} ORDER BY ALL"),  # noqa: S608
    ):
        for row in copy.fetch_rows(query):
            tables[row["benchmark"]][table].append(to_json_value(row))
    record = finished.record
    return {
        "benchmarks": tables,
        "scored": 0 if record is None else total(record, "scored"),
        "up_to_date": None if record is None else total(record, "up to date"),
        "judge": None if record is None else _judge_summary(record),
        "published": str(finished.report.parent),
        "report": str(finished.report),
    }


def _judge_summary(record: RunRecord) -> dict[str, Any]:
    costs = [metadata.get("cost in US dollars") for metadata in record.metadata.values()]
    known = [cost for cost in costs if cost is not None]
    return {
        "calls": total(record, "judge calls"),
        "from_ledger": total(record, "replies from the ledger"),
        "parse_failures": total(record, "parse failures"),
        "judge_errors": total(record, "judge errors"),
        "over_budget": total(record, "calls over budget"),
        "tokens": total(record, "tokens"),
        # An unknown price is never counted as 0.
        "cost_usd": sum(known) if known else None,
    }


def _write_results(finished: Finished, copy: OpenSnapshot, with_leaderboard: Sequence[str]) -> None:
    _write_leaderboards(copy, with_leaderboard, "table")
    click.echo(err=True)
    _write_gates(copy, finished.benchmarks)
    _write_problems(copy, finished.benchmarks)
    _write_rejects(copy, finished.benchmarks)
    for note in finished.notes:
        click.echo(f"note: {note}", err=True)
    if finished.record is None:
        click.echo("nothing has changed since: 0 scored", err=True)
    else:
        _write_record(finished.record)
    click.echo(f"published in {finished.report.parent}", err=True)
    click.echo(f"report: {finished.report.absolute().as_uri()}", err=True)


def _write_leaderboards(
    copy: OpenSnapshot, benchmarks: Sequence[str], output_format: OutputFormat
) -> None:
    from orchestration.cli.leaderboard_table import write_leaderboards

    chosen = f"slice = 'all' AND {among('benchmark', benchmarks)} AND {SHOWN}"
    write_leaderboards(copy.fetch_rows(select_leaderboard(chosen)), output_format)


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


def _write_document_qa_summaries(
    copy: OpenSnapshot, project: Project, benchmarks: Sequence[str]
) -> Sequence[str]:
    """Print summaries in the layout of document-grounded QA, and write the results as files.

    Returns:
        The benchmarks without retrieval, citation or rubric results, which have no summary.
    """
    from assets.publishing.exports.document_qa import gather_results
    from assets.publishing.exports.document_qa_summary import format_summary

    others = []
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
    return others


def _question_file(project: Project, benchmark: Benchmark) -> str:
    path = benchmark.questions
    if path is None:
        return "none"
    return path.as_posix().removeprefix(f"{project.home.as_posix()}/")


def _write_gates(copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    """Count the verdicts of the gates of each benchmark; the error of the run names failed ones."""
    gates = load_gates(copy, benchmarks)
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
    every = _problems(copy, benchmarks)
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


def _problems(copy: OpenSnapshot, benchmarks: Sequence[str]) -> list[dict[str, Any]]:
    chosen = among("benchmark", benchmarks)
    return copy.fetch_rows(f"SELECT * FROM v_problems WHERE {chosen} ORDER BY {WORST_FIRST}")  # noqa: S608


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
