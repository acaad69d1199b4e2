"""`scoreline history`: show earlier publications."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import (
    METRIC_NAMES,
    benchmark_option,
    copy_option,
    format_option,
    names_option,
    rows_named,
    system_option,
)
from orchestration.cli.output import echo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orchestration.cli.output import OutputFormat
    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

HELP_ORDER = 5

Row = dict[str, Any]

TABLE = "leaderboard_history"
"""The table with the names that users may give."""

INPUT_COLUMNS = (
    *("published_at", "run_id", "tag", "benchmark", "kind", "system", "rows", "digest", "version"),
    "is_new",
)

KINDS = "list_position(['questions', 'documents', 'predictions'], kind)"
"""The SQL of the order of inputs."""

NO_SCORE = "no score"
"""What the column `changed` says of a publication that lacks the metric."""

RUN_DIGITS = 8
"""How many characters of a run's id are shown."""


@click.command(
    "history",
    epilog="""\b
Examples:
  scoreline history
  scoreline history --benchmark support --metric citation.f1 --system new
  scoreline history --inputs
  scoreline history --between v1.2 now
  scoreline history --format json""",
)
@benchmark_option
@system_option
@names_option(
    "metric",
    "`evaluator.metric`, a metric's name, an evaluator, or `all`; may be repeated.  "
    "[default: the metric that orders systems; with csv and json all]",
)
@click.option("--inputs", is_flag=True, help="Show rows and digests of the inputs instead.")
@click.option(
    "--between",
    nargs=2,
    metavar="RUN|DATE|TAG ...",
    help="Show what differs between the inputs of two publications; `now` is the present one.",
)
@format_option
@copy_option
def command(
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    inputs: bool,  # noqa: FBT001
    between: tuple[str, str] | None,
    output_format: OutputFormat,
    copy: Snapshot,
) -> None:
    """Show the results of all publications, the earliest first.

    A publication is there for a benchmark if it changed its leaderboard or has a tag. The column
    `changed` says what differs from the publication before, so that the results are not comparable:
    the questions, the documents (for evaluators that read them), the judge or the evaluator.

    With --inputs: the number of rows and the digest of the questions, documents and predictions.
    Equal digests mean equal data. With --between: what differs between two publications. Of
    questions and answers, how many are new, gone or changed.
    """
    with copy.open() as opened:
        if inputs or between:
            # Questions and documents belong to all systems.
            conditions = (
                f"{rows_named(opened, TABLE, 'benchmark', benchmarks)} AND "
                f"(system IS NULL OR {rows_named(opened, TABLE, 'system', systems)})"
            )
            if between:
                _write_differences(opened, conditions, between, output_format)
            else:
                _write_inputs(opened, conditions, output_format)
            return
        is_table = output_format in ("table", "md")
        rows = _load_rows(opened, benchmarks, systems, metrics, is_table=is_table)
        tagged = _load_tagged(opened, benchmarks)
    if is_table:
        _write_tables(rows, tagged, output_format)
    else:
        _write_rows(rows, output_format)


def _load_rows(
    copy: OpenSnapshot,
    benchmarks: tuple[str, ...],
    systems: tuple[str, ...],
    metrics: tuple[str, ...],
    *,
    is_table: bool,
) -> list[Row]:
    """Return the results to show.

    Raises:
        UnknownName: A name is not in the history; the message suggests a similar one.
    """
    from warehouse.queries.publications import HISTORY

    metrics_named = () if "all" in metrics else metrics
    conditions = [
        rows_named(copy, TABLE, "benchmark", benchmarks),
        rows_named(copy, TABLE, "system", systems),
        rows_named(copy, TABLE, "metric", metrics_named, METRIC_NAMES),
    ]
    if is_table and not metrics:
        conditions.append(
            "(benchmark, evaluator, metric) IN (SELECT (benchmark, evaluator, metric) "
            "FROM leaderboard WHERE slice = 'all' AND is_headline = 1)"
        )
    return copy.fetch_rows(
        f"SELECT * FROM ({HISTORY}) WHERE {' AND '.join(conditions)} "  # noqa: S608
        "ORDER BY benchmark, evaluator, metric, published_at, system"
    )


def _load_tagged(copy: OpenSnapshot, benchmarks: tuple[str, ...]) -> list[Row]:
    """Return the publications with a tag, whatever was scored in them."""
    from warehouse.queries.publications import SHOWN

    condition = rows_named(copy, TABLE, "benchmark", benchmarks)
    return copy.fetch_rows(
        f"SELECT benchmark, published_at, run_id, tag FROM ({SHOWN}) "  # noqa: S608
        f"WHERE tag IS NOT NULL AND {condition}"
    )


def _write_rows(rows: Sequence[Row], output_format: OutputFormat) -> None:
    from orchestration.cli.output import write
    from warehouse.queries.publications import HISTORY_COLUMNS

    write(HISTORY_COLUMNS, [[row[name] for name in HISTORY_COLUMNS] for row in rows], output_format)


def _write_tables(rows: Sequence[Row], tagged: Sequence[Row], output_format: OutputFormat) -> None:
    """Write a table for each benchmark and metric, with a column for each system.

    A publication with a tag has a row in each, also if it has no score of the metric.
    """
    from orchestration.cli.output import write

    if not rows:
        echo("no rows", err=True)
    key = ("benchmark", "evaluator", "metric")
    for number, (_, group) in enumerate(groupby(rows, lambda row: [row[name] for name in key])):
        own = list(group)
        systems = sorted({row["system"] for row in own})
        known = {row["published_at"] for row in own}
        more = [
            {**row, "system": None, "changed": [NO_SCORE]}
            for row in tagged
            if row["benchmark"] == own[0]["benchmark"] and row["published_at"] not in known
        ]
        lines = sorted([*own, *more], key=lambda row: row["published_at"])
        if number:
            echo()
        write(
            ["published", "run", "tag", *systems, "changed"],
            list(_table_rows(lines, systems)),
            output_format,
            "{benchmark}: {evaluator}.{metric}".format(**own[0]),
            optional=("run",),
        )


def _table_rows(rows: Sequence[Row], systems: Sequence[str]) -> Iterator[list[Any]]:
    """Yield a row for each publication, with the means of the systems."""
    for at, group in groupby(rows, lambda row: row["published_at"]):
        own = {row["system"]: row for row in group}
        first = next(iter(own.values()))
        changed = sorted({what for row in own.values() for what in row["changed"]})
        yield [
            f"{at:%Y-%m-%d %H:%M:%S}",
            first["run_id"] and first["run_id"][:RUN_DIGITS],
            first["tag"],
            *(own[system]["mean"] if system in own else None for system in systems),
            ", ".join(changed) or None,
        ]


def _write_differences(
    copy: OpenSnapshot, condition: str, between: tuple[str, str], output_format: OutputFormat
) -> None:
    """Write what differs between the inputs of two publications.

    Raises:
        UnknownPublication: There is no such publication.
    """
    from assets.analysis.publications import find_publication
    from orchestration.cli.output import write
    from warehouse.queries.publications import data_changes

    before, after = (find_publication(copy, name) for name in between)
    query = data_changes(before.published_at, after.published_at)
    rows = copy.fetch_rows(
        f"SELECT * FROM ({query.sql}) WHERE {condition} ORDER BY benchmark, {KINDS}, system",  # noqa: S608
        query.parameters,
    )
    title = f"{before} and {after}" if output_format in ("table", "md") else None
    write(list(rows[0]) if rows else [], [list(row.values()) for row in rows], output_format, title)


def _write_inputs(copy: OpenSnapshot, condition: str, output_format: OutputFormat) -> None:
    """Write rows and digests of inputs."""
    from orchestration.cli.output import write
    from warehouse.queries.publications import INPUTS

    rows = copy.fetch_rows(
        f"SELECT * FROM ({INPUTS}) WHERE {condition} "  # noqa: S608
        f"ORDER BY benchmark, published_at, {KINDS}, system"
    )
    if not rows:
        echo("no rows", err=True)
    if output_format in ("csv", "json"):
        write(INPUT_COLUMNS, [[row[name] for name in INPUT_COLUMNS] for row in rows], output_format)
        return
    shown = ("published_at", "tag", "kind", "system", "rows", "digest", "is_new")
    for number, (benchmark, group) in enumerate(groupby(rows, lambda row: row["benchmark"])):
        if number:
            echo()
        write(
            ["published", "tag", "input", "system", "rows", "digest", "new"],
            [
                [f"{row['published_at']:%Y-%m-%d %H:%M:%S}", *(row[name] for name in shown[1:])]
                for row in group
            ],
            output_format,
            benchmark,
        )
