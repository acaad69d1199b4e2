"""What `scoreline run` shows on one screen: some leaderboards, and the worst of the rest."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.finished_run import (
    describe_answers,
    describe_budget,
    describe_judge_calls,
    total,
)
from orchestration.cli.layout import terminal_width, wrap
from orchestration.cli.leaderboard_table import LeftOut, Table, describe_leaderboard
from orchestration.cli.output import echo, say
from orchestration.published import SHOWN, WORST_FIRST, among, load_gates, select_leaderboard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.cli.finished_run import Finished
    from orchestration.runs.events import RunRecord
    from warehouse.publish.snapshot import OpenSnapshot

SCREEN = 40
"""The lines of a screen; one more leaderboard is shown only while it fits."""

MAX_LEADERBOARDS = 5
MAX_SYSTEMS, MAX_SYSTEMS_EACH = 10, 5
"""The most systems of the only leaderboard, and of each of several; best first."""

MAX_LINES, MAX_NOTES = 3, 8
"""The most problems and rejected rows, and the most notes and warnings."""

FURTHER = "    "
"""What stands before each further line of a message."""

SEVERITIES = ("high", "medium", "low")


def write_screen(finished: Finished, copy: OpenSnapshot, benchmarks: Sequence[str]) -> None:
    """Write leaderboards to standard output and the rest to standard error, on one screen.

    Args:
        finished: The run.
        copy: The published copy.
        benchmarks: The benchmarks whose leaderboards are shown, if they have room.
    """
    messages = list(_describe_run(finished, copy))
    width = terminal_width(sys.stderr) - len(FURTHER)
    below = sum(len(wrap(message, width)) for message in messages)
    wrote = _write_leaderboards(finished, copy, benchmarks, SCREEN - below)
    if wrote and messages:
        echo(err=True)
    for message in messages:
        say(message, err=True, indent=FURTHER)


def _write_leaderboards(
    finished: Finished, copy: OpenSnapshot, benchmarks: Sequence[str], room: int
) -> bool:
    """Write leaderboards into a number of lines, one at least; return whether there is one."""
    chosen = f"slice = 'all' AND {among('benchmark', benchmarks)} AND {SHOWN}"
    groups = groupby(copy.fetch_rows(select_leaderboard(chosen)), key=itemgetter("benchmark"))
    boards = {name: list(rows) for name, rows in groups}
    failed = {gate["benchmark"] for gate in load_gates(copy, benchmarks) if not gate["passed"]}
    changed = _scored_benchmarks(finished.record)
    order = sorted(
        (name for name in benchmarks if name in boards),
        key=lambda name: (name not in failed, name not in changed),
    )
    width = terminal_width(sys.stdout)
    shown = 0
    # The lines around what is said of the others, and before the messages.
    room -= 1 + 2 * (len(order) > 1)
    for name in order[:MAX_LEADERBOARDS]:
        most = MAX_SYSTEMS if len(order) == 1 else MAX_SYSTEMS_EACH
        lines = [*_leaderboard_lines(name, boards[name], width, most)]
        room -= len(lines) + bool(shown)
        if shown and room < 0:
            break
        if shown:
            echo()
        for line in lines:
            echo(line)
        shown += 1
    if more := len(order) - shown:
        several = "" if more == 1 else "s"
        echo(f"\nand {more} more benchmark{several}: {_command('leaderboard')}")
    return shown > 0


def _scored_benchmarks(record: RunRecord | None) -> set[str | None]:
    """Return the benchmarks with new scores."""
    if record is None:
        return set()
    return {
        benchmark for (_, benchmark), metadata in record.metadata.items() if metadata.get("scored")
    }


def _leaderboard_lines(
    name: str, rows: list[dict[str, Any]], width: int, most_systems: int
) -> Iterator[str]:
    for part in describe_leaderboard(rows, width, most_systems):
        if isinstance(part, Table):
            yield from part.lines(width)
        elif isinstance(part, LeftOut):
            yield from wrap(f"and {part}: {_command('leaderboard')} --benchmark {name}", width)
        else:
            yield from wrap(part, width) if sys.stdout.isatty() else [part]


def _describe_run(finished: Finished, copy: OpenSnapshot) -> Iterator[str]:
    yield from _describe_gates(copy, finished.benchmarks)
    yield from _describe_problems(copy, finished.benchmarks)
    yield from _describe_rejects(copy, finished.benchmarks)
    record = finished.record
    notes = [f"note: {note}" for note in finished.notes]
    if record is not None:
        found = (metadata.get("notes") or () for metadata in record.metadata.values())
        notes += [f"note: {note}" for each in found for note in each]
    yield from _limit(notes, "notes", _command("doctor"))
    if record is None:
        yield "nothing has changed since: 0 scored"
    else:
        yield from _limit(list(_describe_warnings(record)), "warnings", _command("dev"))
        yield from describe_answers(record)
        yield from filter(None, (describe_judge_calls(record), describe_budget(record)))
        scored, current = (total(record, name) for name in ("scored", "up to date"))
        yield f"{scored:,} scored, {current:,} up to date (each answer, by each evaluator)"
    yield f"published in {finished.report.parent}"
    yield f"report: {finished.report.absolute().as_uri()}"


def _describe_gates(copy: OpenSnapshot, benchmarks: Sequence[str]) -> Iterator[str]:
    """Count the verdicts of all gates; the error of the run names failed ones."""
    counts = Counter(
        gate["verdict"].replace("_", " ") if gate["passed"] else "failed"
        for gate in load_gates(copy, benchmarks)
    )
    if counts:
        yield f"gates: {', '.join(f'{count} {verdict}' for verdict, count in counts.most_common())}"


def _describe_problems(copy: OpenSnapshot, benchmarks: Sequence[str]) -> Iterator[str]:
    chosen = among("benchmark", benchmarks)
    counted = copy.fetch_rows(
        f"SELECT severity, count(*) AS n FROM v_problems WHERE {chosen} GROUP BY severity"  # noqa: S608
    )
    counts = {row["severity"]: row["n"] for row in counted}
    if not counts:
        return
    listed = ", ".join(f"{counts[level]:,} {level}" for level in SEVERITIES if level in counts)
    yield f"problems: {listed}"
    worst = copy.fetch_rows(
        f"SELECT severity, benchmark, message FROM v_problems WHERE {chosen} "  # noqa: S608
        f"ORDER BY {WORST_FIRST}, benchmark LIMIT {MAX_LINES}"
    )
    for row in worst:
        yield f"  {row['severity']}, {row['benchmark']}: {row['message']}"
    if sum(counts.values()) > len(worst):
        yield f"  ... all: {_command('problems')}"


def _describe_rejects(copy: OpenSnapshot, benchmarks: Sequence[str]) -> Iterator[str]:
    first = copy.fetch_rows(
        "SELECT *, count(*) OVER () AS n FROM rejects "  # noqa: S608
        f"WHERE {among('benchmark', benchmarks)} "
        f"ORDER BY benchmark, kind, file, line LIMIT {MAX_LINES}"
    )
    if not first:
        return
    yield f"{first[0]['n']:,} rows rejected"
    for row in first:
        where = row["file"] if row["line"] is None else f"{row['file']}:{row['line']}"
        yield f"  {row['benchmark']}: {where}: {row['reason']}"
    if first[0]["n"] > len(first):
        query = "FROM rejects"
        yield f'  ... all: {_command("sql")} "{query}"'


def _describe_warnings(record: RunRecord) -> Iterator[str]:
    for check in record.checks:
        if not (check.passed or check.is_error):
            description = f": {check.description}" if check.description else ""
            yield f"warning: check {check.name!r} of {check.asset}{description}"


def _limit(lines: Sequence[str], what: str, command: str) -> Iterator[str]:
    """Yield the first lines, and how many more there are."""
    yield from lines[:MAX_NOTES]
    if len(lines) > MAX_NOTES:
        yield f"and {len(lines) - MAX_NOTES} more {what}: {command}"


def _command(name: str) -> str:
    """Return a command on the same project, ready to copy."""
    config = click.get_current_context().params.get("config")
    is_default = config in (None, Path("scoreline.yaml"))
    return f"scoreline {name}" + ("" if is_default else f" --config {shlex.quote(str(config))}")
