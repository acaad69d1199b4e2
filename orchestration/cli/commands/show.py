"""`scoreline show`: everything about one question."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from orchestration.cli.options import copy_option, require_known, system_option
from orchestration.cli.output import echo, echo_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

HELP_ORDER = 5

Row = dict[str, Any]

FAILED = "target_error"
"""The reason of the worst value of a failed answer, and the status of a metric without one."""

_KEYS = ("benchmark", "question_id", "system", "file", "line")


@click.command(
    "show",
    epilog="""\b
Examples:
  scoreline show q17
  scoreline show q17 --benchmark support --system new --system old
  scoreline show q17 --format json""",
)
@click.argument("question")
@click.option(
    "--benchmark", metavar="NAME", help="The benchmark, if several have a question of this name."
)
@system_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="`json` also has the messages to the judge.",
)
@copy_option
def command(
    question: str,
    benchmark: str | None,
    systems: tuple[str, ...],
    output_format: str,
    copy: Snapshot,
) -> None:
    """Show a question, the answers side by side, their scores, and why they have them.

    QUESTION is a `question_id`. The evidence is what an evaluator recorded of a sample: matched
    passages, verdicts on claims, found patterns. The replies of the judge follow.
    """
    from orchestration.cli.output import to_json_value

    with copy.open() as opened:
        asked = _find_question(opened, question, benchmark)
        shown = _load_samples(opened, asked, systems)
    if output_format == "json":
        found = {"question": asked, "systems": shown}
        echo_json(to_json_value(found))
        return
    echo(f"{asked['benchmark']}, {asked['question_id']}")
    _write_fields(asked)
    _write_samples(shown)


def _find_question(copy: OpenSnapshot, name: str, benchmark: str | None) -> Row:
    """Return the fields of a question.

    Raises:
        UnknownName: There is no such question.
        click.UsageError: Several benchmarks have one.
    """
    rows = copy.fetch_rows("SELECT * FROM questions WHERE question_id = $name", {"name": name})
    if not rows:
        similar = copy.fetch_rows(
            "SELECT DISTINCT question_id FROM questions "
            "ORDER BY jaro_winkler_similarity(question_id, $name) DESC, question_id LIMIT 20",
            {"name": name},
        )
        require_known("question", (name,), [row["question_id"] for row in similar])
    known = [row["benchmark"] for row in rows]
    if benchmark is not None:
        require_known("benchmark with this question", (benchmark,), known)
    elif len(rows) > 1:
        raise click.UsageError(f"expected --benchmark, one of {', '.join(known)}")
    row = next(row for row in rows if benchmark in (None, row["benchmark"]))
    return {key: value for key, value in row.items() if value not in (None, [], {})}


def _load_samples(copy: OpenSnapshot, asked: Row, systems: tuple[str, ...]) -> dict[str, Row]:
    """Return prediction, scores and judge calls of each system."""
    keys = {name: asked[name] for name in ("benchmark", "question_id")}
    where = "WHERE benchmark = $benchmark AND question_id = $question_id"
    # The scores of evaluators that are no longer configured stay in the warehouse.
    configured = "evaluator IN (SELECT evaluator FROM leaderboard WHERE benchmark = $benchmark)"
    predictions = copy.fetch_rows(
        f"SELECT * FROM predictions {where} ORDER BY system, repeat",  # noqa: S608
        keys,
    )
    scores = copy.fetch_rows(
        "SELECT system, evaluator, metric, value, status, reason, detail "  # noqa: S608
        f"FROM scores {where} AND {configured} ORDER BY system, evaluator, metric",
        keys,
    )
    calls = copy.fetch_rows(
        "SELECT system, evaluator, repeat, member, asks.replicate, turn, step, model, messages, "  # noqa: S608
        f"reply, status, error FROM asks JOIN judgments USING (digest) {where} AND {configured} "
        "ORDER BY system, evaluator, repeat, member, turn, step",
        keys,
    )
    known = [row["system"] for row in predictions]
    wanted = require_known("system with this question", systems, known) if systems else known

    def of(rows: list[Row], system: str) -> list[Row]:
        return [
            {key: value for key, value in row.items() if key != "system"}
            for row in rows
            if row["system"] == system
        ]

    given = [{key: value for key, value in row.items() if value is not None} for row in predictions]
    return {
        system: {
            # Of several answers, the others follow the first one.
            "prediction": next(row for row in given if row["system"] == system),
            "more_answers": of(given, system)[1:],
            "scores": of(scores, system),
            "judge": of(calls, system),
        }
        for system in dict.fromkeys(known)
        if system in wanted
    }


def _write_fields(row: Row) -> None:
    from orchestration.cli.output import format_cell, say, to_json_value

    for name, value in row.items():
        if name not in _KEYS:
            say(f"  {name}: {format_cell(to_json_value(value))}", indent="    ")


def _write_samples(shown: dict[str, Row]) -> None:
    from orchestration.cli.output import format_cell, say, write

    systems = list(shown)
    echo()
    every = {name: [each["prediction"], *each["more_answers"]] for name, each in shown.items()}
    for number in range(max(map(len, every.values()))):
        given = {
            name: _answer_of(rows[number]) for name, rows in every.items() if number < len(rows)
        }
        _write_answers(given, f"answers, repeat {number}" if number else "answers")
    echo()
    cells = {
        (f"{row['evaluator']}.{row['metric']}", name): row["value"]
        if row["status"] == "scored"
        else row["status"].replace("_", " ")
        for name in systems
        for row in shown[name]["scores"]
    }
    metrics = dict.fromkeys(metric for metric, _ in cells)
    rows = [[metric, *(cells.get((metric, name)) for name in systems)] for metric in metrics]
    write(("metric", *systems), rows, "table", "scores")
    for name in systems:
        lines = list(_list_reasons(shown[name]["scores"]))
        lines += [
            f"{row['evaluator']}, judge, {_format_step(row)}: {row['reply'] or row['error']}"
            for row in shown[name]["judge"]
        ]
        if lines:
            echo(f"\n{name}")
        for line in lines:
            say(f"  {format_cell(line)}", indent="    ")


def _format_step(row: Row) -> str:
    """Return which call of a sample a judge call is; numbers that are 0 are left out."""
    named = [f"{name} {row[name]}" for name in ("repeat", "member", "turn") if row[name]]
    return ", ".join([*named, f"step {row['step']}"])


def _write_answers(answers: dict[str, str], title: str) -> None:
    """Print the answers side by side, or below each other where they have no room."""
    from orchestration.cli.layout import fits, terminal_width
    from orchestration.cli.output import table_columns, write

    columns, row = list(answers), list(answers.values())
    if fits(table_columns(columns, [row]), terminal_width(sys.stdout)):
        write(columns, [row], "table", title, long_cells=True)
    else:
        write(("system", "answer"), list(answers.items()), "table", title, long_cells=True)


def _answer_of(prediction: Row) -> str:
    error = prediction.get("error")
    return f"failed: {error}" if error else prediction.get("answer") or "-"


def _list_reasons(scores: Sequence[Row]) -> list[str]:
    """Return the reasons of missing values, and the evidence of each evaluator, once each.

    What a failed answer means for its metrics is one line.
    """
    lines: dict[str, None] = dict.fromkeys(_describe_failed(scores))
    for row in scores:
        if row["reason"] and FAILED not in (row["reason"], row["status"]):
            lines[f"{row['evaluator']}.{row['metric']}: {row['reason']}"] = None
        if row["detail"]:
            # With spaces, between which a line can end.
            detail = json.dumps(json.loads(row["detail"]), ensure_ascii=False)
            lines[f"{row['evaluator']}, evidence: {detail}"] = None
    return list(lines)


def _describe_failed(scores: Sequence[Row]) -> Iterator[str]:
    """Yield what the metrics of a failed answer are, in a sentence."""
    worst = sum(row["reason"] == FAILED and row["value"] is not None for row in scores)
    missing = sum(row["status"] == FAILED for row in scores)
    if worst == len(scores) > 0:
        yield "the answer failed: every metric has its worst value"
    elif missing == len(scores) > 0:
        yield "the answer failed: no metric has a score"
    elif worst or missing:
        yield f"the answer failed: {worst} metrics at their worst value, {missing} without a score"
