"""Data for the scripts of a page: JSON inside the page, compressed script files beside it."""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import orjson
from markupsafe import Markup

from assets.publishing.report.part import MAX_ANSWERS
from warehouse.queries import report as report_queries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from assets.publishing.report.panel import BenchmarkData
    from warehouse.queries.samples import Query

COMPRESSION_LEVEL = 2
"""Most of the gain in a fraction of the time."""

GZIP_FORMAT = 31
"""The window size of zlib that adds the header and checksum of gzip."""

ANSWERS_PER_FILE = 400
"""A file that opens at once, without writing too many files."""


def write_data_file(folder: Path, name: str, content: bytes) -> None:
    """Write a script that passes its content to the page; it also loads from a `file:` address.

    The content is compressed and encoded as base64, so that no text in it can end the script. The
    page requests it by its name.
    """
    compressor = zlib.compressobj(COMPRESSION_LEVEL, zlib.DEFLATED, GZIP_FORMAT)
    text = base64.b64encode(compressor.compress(content) + compressor.flush())
    script = b'scoreline.give("%s","%s");\n' % (name.encode("ascii"), text)
    (folder / f"{name}.js").write_bytes(script)


def json_for_script(value: Any) -> Markup:
    """Return a value as JSON that cannot end the `script` element it stands in."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return Markup(text)  # noqa: S704 - escaped for a script


def questions_per_file(data: BenchmarkData) -> int:
    """Return how many questions, with all their answers, share a file."""
    return max(1, ANSWERS_PER_FILE // max(1, len(data.systems)))


def answer_files(data: BenchmarkData) -> Iterator[tuple[str, bytes]]:
    """Yield the list of questions and the files of their answers, as (name, content)."""
    questions = data.questions.select("question_id", "question", "hardness").rows()
    yield "questions", orjson.dumps(questions)
    ids = data.questions["question_id"].to_list()
    size = questions_per_file(data)
    # Each query scans the tables once, so one query reads the answers of many files.
    batch = max(1, MAX_ANSWERS // max(1, len(data.systems)) // size) * size
    if data.part.is_shared:
        batch = max(1, len(ids))
    for start in range(0, len(ids), batch):
        samples = read_samples(data, ids[start : start + batch])
        for at in range(0, len(samples), size):
            yield f"answers-{(start + at) // size}", orjson.dumps(samples[at : at + size])


def read_samples(data: BenchmarkData, question_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Read some questions with all answers.

    Answers refer to passages by their position in the list `texts` of their question, from 1,
    because systems often retrieve the same passages.

    Args:
        data: The benchmark.
        question_ids: The questions, sorted; of a part with several benchmarks, these are all.

    Returns:
        One object per question: `known` (the question with its gold data), `sentences`, `texts`
        and `answers`.
    """

    def rows(query: Query) -> list[tuple[Any, ...]]:
        return data.fetch_query(query).rows()

    chosen = (data.part.benchmarks, None if data.part.is_shared else question_ids)
    questions = rows(report_queries.question_details(*chosen))
    sentences = dict(rows(report_queries.cited_sentences(*chosen)))
    scores = {row[:2]: row[2] for row in rows(report_queries.scores(*chosen))}
    judgments = {row[:2]: row[2] for row in rows(report_queries.judgments(*chosen))}
    texts: dict[str, dict[str, int]] = {question: {} for question, _ in questions}
    answers: dict[str, list[dict[str, Any]]] = {question: [] for question, _ in questions}
    for question, system, contexts, given in rows(report_queries.answers(*chosen)):
        answers[question].append(
            {
                "system": system,
                "given": orjson.Fragment(given),
                "contexts": _text_positions(contexts, texts[question]),
                "grades": _fragment(scores.get((question, system))),
                "judged": _fragment(judgments.get((question, system))),
            }
        )
    return [
        {
            "known": orjson.Fragment(known),
            "sentences": _fragment(sentences.get(question)),
            "texts": list(texts[question]),
            "answers": answers[question],
        }
        for question, known in questions
    ]


def _text_positions(
    contexts: Sequence[str | None] | None, positions: dict[str, int]
) -> list[int | None] | None:
    if contexts is None:
        return None
    return [
        None if text is None else positions.setdefault(text, len(positions) + 1)
        for text in contexts
    ]


def _fragment(text: str | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)
