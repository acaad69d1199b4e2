"""The data files of what the judge was asked: the messages of its calls, each line stored once."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.report.answer_files import questions_per_file
from assets.publishing.report.data_files import to_json
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from assets.publishing.report.panel import BenchmarkData

MAX_CALLS = 20_000
"""Calls whose messages the report has; if there are more, those about the hardest questions. The
messages repeat questions, answers and passages, so that they soon are the largest part."""


def questions_with_prompts(data: BenchmarkData, calls: pl.DataFrame) -> dict[str, int]:
    """Return the questions whose calls the report shows.

    Args:
        data: The benchmark.
        calls: The number of calls by question: question_id, n.

    Returns:
        The positions of the questions in the report, ascending, by question.
    """
    if calls.is_empty():
        return {}
    shown = data.questions.with_row_index("at").join(calls, on="question_id")
    hardest = shown.sort("hardness", "question_id", descending=[True, False], nulls_last=True)
    chosen = hardest.filter(pl.col("n").cum_sum() <= MAX_CALLS).sort("at")
    return dict(chosen.select("question_id", "at").iter_rows())


def prompt_files(data: BenchmarkData, questions: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield files with the messages about some questions, as (name, content).

    `prompts-<n>` belongs to `answers-<n>`; there is none without calls. Its `calls` has, by the
    position of a question in the file, lists of the system, the evaluator, the repeat, the member
    of a panel, the step and the messages: each a role, and the positions of its lines in `parts`.

    Args:
        data: The benchmark.
        questions: See `questions_with_prompts`.
    """
    size = questions_per_file(data)
    for file, own in groupby(questions.items(), lambda item: item[1] // size):
        places = {question: at % size for question, at in own}
        query = report_queries.judge_messages([data.benchmark], list(places))
        # Read from the copy: what a part keeps of its queries would be all messages.
        rows = data.part.copy.fetch(*query).drop("benchmark").iter_rows()
        yield f"prompts-{file}", to_json(pack_prompts(rows, places))


def pack_prompts(rows: Iterable[tuple[Any, ...]], places: dict[str, int]) -> dict[str, Any]:
    """Return the content of a file; see `prompt_files`.

    Args:
        rows: Of each call question_id, system, evaluator, repeat, member, step, roles and contents.
        places: The position of each question in the file.
    """
    parts: dict[str, int] = {}
    calls: dict[str, list[Any]] = {}
    for question, *call, roles, contents in rows:
        messages = [
            [role, [parts.setdefault(line, len(parts)) for line in (content or "").split("\n")]]
            for role, content in zip(roles, contents, strict=True)
        ]
        calls.setdefault(str(places[question]), []).append([*call, messages])
    return {"parts": list(parts), "calls": calls}
