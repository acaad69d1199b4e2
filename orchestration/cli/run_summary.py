"""The output of `scoreline run`: a screen, an object for programs, a summary for a CI step."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestration.cli import continuous_integration as ci
from orchestration.cli.finished_run import total
from orchestration.cli.output import echo, echo_json, escape_markdown, to_json_value
from orchestration.published import SHOWN, WORST_FIRST, among, load_gates, select_leaderboard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Benchmark, Project
    from orchestration.cli.finished_run import Finished
    from orchestration.runs.events import RunRecord
    from warehouse.publish.snapshot import OpenSnapshot


def write_summary(finished: Finished, style: str, document_qa: Project | None = None) -> None:
    """Write what a run found: leaderboards to standard output, messages to standard error.

    Args:
        finished: The run.
        style: `table`; `json`: one object instead of both; `quiet`: nothing.
        document_qa: The project, for a summary of its benchmarks of document-grounded QA in that
            layout instead of a leaderboard.
    """
    with finished.copy.open() as opened:
        if ci.has_step_summary():
            with ci.step_summary("Evaluation"):
                verdicts = _describe_verdicts(opened, finished.benchmarks)
                for name, verdict in verdicts.items():
                    if verdict is not None:
                        echo(f"* **{name}**: {escape_markdown(verdict)}")
                echo()
                _write_leaderboards(opened, finished.benchmarks)
                lines = [gate["message"] for gate in load_gates(opened, finished.benchmarks)]
                lines += [row["message"] for row in _load_problems(opened, finished.benchmarks)]
                echo("".join(f"\n* {escape_markdown(line)}" for line in lines))
        if style == "json":
            echo_json(_summarize_run(finished, opened))
        if style == "table":
            from orchestration.cli.run_screen import write_screen

            others = finished.benchmarks
            if document_qa is not None:
                others = _write_document_qa_summaries(opened, document_qa, others)
            write_screen(finished, opened, others)


def _summarize_run(finished: Finished, copy: OpenSnapshot) -> dict[str, Any]:
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
    verdicts = _describe_verdicts(copy, finished.benchmarks)
    record = finished.record
    return {
        "benchmarks": {
            name: {"verdict": verdicts.get(name), **own} for name, own in tables.items()
        },
        "scored": 0 if record is None else total(record, "scored"),
        "up_to_date": None if record is None else total(record, "up to date"),
        "answers": None if record is None else _answers_summary(record),
        "judge": None if record is None else _judge_summary(record),
        "published": str(finished.report.parent),
        "report": str(finished.report),
    }


def _describe_verdicts(copy: OpenSnapshot, benchmarks: Sequence[str]) -> dict[str, str | None]:
    """Return who is best on each benchmark by its headline metric, or why there is no winner."""
    from assets.leaderboard.winner import describe_winner

    chosen = f"slice = 'all' AND is_headline = 1 AND {among('benchmark', benchmarks)}"
    rows = copy.fetch_rows(select_leaderboard(chosen))
    boards = groupby(rows, key=itemgetter("benchmark"))
    return {name: describe_winner(list(own)) for name, own in boards}


def _answers_summary(record: RunRecord) -> dict[str, Any]:
    """Return what systems were asked."""
    return {
        "asked": total(record, "questions asked"),
        "from_ledger": total(record, "answers from the ledger"),
        "errors": total(record, "errors of the system"),
        "without_answer": total(record, "questions without an answer"),
        "over_budget": total(record, "questions over budget"),
        "cost_usd": _sum_of_known(record, "cost of answers in US dollars"),
    }


def _judge_summary(record: RunRecord) -> dict[str, Any]:
    return {
        "calls": total(record, "judge calls"),
        "from_ledger": total(record, "replies from the ledger"),
        "parse_failures": total(record, "parse failures"),
        "judge_errors": total(record, "judge errors"),
        "over_budget": total(record, "calls over budget"),
        "tokens": total(record, "tokens"),
        "cost_usd": _sum_of_known(record, "cost in US dollars"),
    }


def _sum_of_known(record: RunRecord, key: str) -> float | None:
    """Return a sum over all assets; None if no value is known, which is not counted as 0."""
    values = [metadata.get(key) for metadata in record.metadata.values()]
    known = [float(value) for value in values if value is not None]
    return sum(known) if known else None


def _write_leaderboards(copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    from orchestration.cli.leaderboard_table import write_leaderboards

    chosen = f"slice = 'all' AND {among('benchmark', benchmarks)} AND {SHOWN}"
    write_leaderboards(copy.fetch_rows(select_leaderboard(chosen)), "md")


def _write_document_qa_summaries(
    copy: OpenSnapshot, project: Project, benchmarks: Sequence[str]
) -> Sequence[str]:
    """Print summaries in the layout of document-grounded QA, and write the results as files.

    Returns:
        The benchmarks without retrieval, citation or rubric results, which have no summary.
    """
    from assets.publishing.exports.document_qa import distinct_split, gather_results
    from assets.publishing.exports.document_qa_summary import format_summary

    others = []
    for name in benchmarks:
        benchmark = project.benchmarks[name]
        evaluation = gather_results(
            copy, benchmark, distinct_split(benchmark, project.benchmarks.values())
        )
        if not any(evaluation.results.values()):
            others.append(name)
            continue
        evaluation.write(project.publish)
        given = benchmark.predictions
        pattern = given.name if isinstance(given, Path) else ""
        if "{system}" not in pattern:
            pattern = "{system}"
        files = {system: pattern.replace("{system}", system) for system in evaluation.results}
        echo(format_summary(evaluation, _question_file(project, benchmark), files))
    return others


def _question_file(project: Project, benchmark: Benchmark) -> str:
    path = benchmark.questions
    if not isinstance(path, Path):
        return "none" if path is None else "a query"
    return path.as_posix().removeprefix(f"{project.home.as_posix()}/")


def _load_problems(copy: OpenSnapshot, benchmarks: Sequence[str]) -> list[dict[str, Any]]:
    chosen = among("benchmark", benchmarks)
    return copy.fetch_rows(f"SELECT * FROM v_problems WHERE {chosen} ORDER BY {WORST_FIRST}")  # noqa: S608
