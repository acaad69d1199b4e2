"""Questions with all answers to them, in files of a few questions each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from assets.publishing.report.page_bundle import per_chunk
from assets.publishing.report.script_data import pack
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assets.publishing.report.page_data import Facts
    from warehouse.publish.snapshot import OpenSnapshot
    from warehouse.queries.samples import Query

BLOCK_SAMPLES = 10_000
"""Answers that are read at once: many, as each reading looks through the tables, but not all."""


def write_answers(copy: OpenSnapshot, facts: Facts, data: Path) -> None:
    """Write the list of questions, and their answers in chunks.

    Args:
        copy: The published copy.
        facts: About the benchmark.
        data: The folder for the files.
    """
    listed = facts.questions.select("question_id", "question", "hardness").rows()
    pack(data / "questions.js", "questions", orjson.dumps(listed))
    ids = facts.questions["question_id"].to_list()
    size = per_chunk(facts)
    block = max(1, BLOCK_SAMPLES // max(1, len(facts.systems)) // size) * size
    for start in range(0, len(ids), block):
        samples = read_samples(copy, facts.benchmark, ids[start : start + block])
        for at in range(0, len(samples), size):
            name = f"answers-{(start + at) // size}"
            pack(data / f"{name}.js", name, orjson.dumps(samples[at : at + size]))


def read_samples(
    copy: OpenSnapshot, benchmark: str, question_ids: Sequence[str]
) -> list[dict[str, Any]]:
    """Some questions with all answers.

    Passages are named by their place in the list `texts` of their question, from 1: systems often
    retrieve the same ones.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        question_ids: The questions, sorted.

    Returns:
        One object a question: `known` (what is known about it), `sentences`, `texts` and
        `answers`.
    """

    def rows(query: Query) -> list[tuple[Any, ...]]:
        return copy.fetch(query.sql, query.parameters).rows()

    asked = rows(report_queries.question_details(benchmark, question_ids))
    cited = dict(rows(report_queries.cited_sentences(benchmark, question_ids)))
    grades = {row[:2]: row[2] for row in rows(report_queries.scores(benchmark, question_ids))}
    judged = {row[:2]: row[2] for row in rows(report_queries.judgments(benchmark, question_ids))}
    texts: dict[str, dict[str, int]] = {name: {} for name, _ in asked}
    answers: dict[str, list[dict[str, Any]]] = {name: [] for name, _ in asked}
    for question, system, contexts, given in rows(report_queries.answers(benchmark, question_ids)):
        known = texts[question]
        answers[question].append(
            {
                "system": system,
                "given": orjson.Fragment(given),
                "contexts": None
                if contexts is None
                else [None if each is None else _place(known, each) for each in contexts],
                "grades": _fragment(grades.get((question, system))),
                "judged": _fragment(judged.get((question, system))),
            }
        )
    return [
        {
            "known": orjson.Fragment(known),
            "sentences": _fragment(cited.get(question)),
            "texts": list(texts[question]),
            "answers": answers[question],
        }
        for question, known in asked
    ]


def _place(known: dict[str, int], text: str) -> int:
    return known.setdefault(text, len(known) + 1)


def _fragment(text: str | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)
