"""What an annotator sees of a sample: its texts, and the verdict only if asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from records.columns import stored_columns
from records.prediction import Prediction
from records.question import Question

if TYPE_CHECKING:
    from assets.analysis.label_queue import SampleId
    from evaluators.evaluator import Evaluator
    from warehouse.publish.snapshot import OpenSnapshot, Snapshot

ALWAYS = frozenset({"question", "answer"})

_HIDDEN = frozenset({"extra"})
"""Columns that may name the system."""


def _titles() -> dict[str, str]:
    titles = {
        each.name: each.title
        for record in (Question, Prediction)
        for each in stored_columns(record).values()
        if each.role not in {"identity", "measured"} and each.name not in _HIDDEN
    }
    answer = titles.pop("answer")
    return {**titles, "document_sentences": "Sentences of the document", "answer": answer}


TITLES = _titles()
"""The sample columns that may be shown, in the order of the page: the answer is the last."""


def show_sample(
    copy: Snapshot,
    benchmark: str,
    evaluator: Evaluator,
    metric: str,
    sample: SampleId,
    *,
    is_blind: bool,
) -> dict[str, Any]:
    """Return the fields of a sample that the evaluator reads, of the first answer if of several.

    Returns:
        `fields`: a list with title and texts of each. If not blind also `system`, `value`, `reason`
        and `detail` (text) of the score. All of it is untrusted text.

    Raises:
        WarehouseError: The published copy cannot be read.
    """
    with copy.open() as opened:
        row = _fetch_sample(opened, benchmark, sample)
        score = {} if is_blind else _fetch_score(opened, benchmark, evaluator, metric, sample)
    wanted = set(ALWAYS | evaluator.columns)
    if "cited_sentence_ids" in wanted:
        wanted.add("document_sentences")  # what the ids mean
    fields = [
        {"title": title, "texts": _texts(row[name])}
        for name, title in TITLES.items()
        if name in wanted and row.get(name) is not None
    ]
    if is_blind:
        return {"fields": fields}
    return {"fields": fields, "system": sample.system, **score}


def _fetch_sample(copy: OpenSnapshot, benchmark: str, sample: SampleId) -> dict[str, Any]:
    key = {"benchmark": benchmark, "question": sample.question_id}
    where = "WHERE benchmark = $benchmark AND question_id = $question"
    rows = copy.fetch_rows(f"SELECT * FROM questions {where} LIMIT 1", key)  # noqa: S608
    rows += copy.fetch_rows(
        f"SELECT * FROM predictions {where} AND system = $system AND repeat = 0 LIMIT 1",  # noqa: S608
        {**key, "system": sample.system},
    )
    found = {name: value for row in rows for name, value in row.items()}
    if found.get("history") is None:
        found["history"] = rows[0]["messages"]  # those of the question
    sentences = copy.fetch_rows(
        "SELECT sentence_id, text FROM documents "
        "WHERE benchmark = $benchmark AND doc_id = $document ORDER BY position",
        {"benchmark": benchmark, "document": found.get("doc_id")},
    )
    if sentences:
        texts = [f"{row['sentence_id']}: {row['text']}" for row in sentences]
        found["document_sentences"] = texts
    return found


def _fetch_score(
    copy: OpenSnapshot, benchmark: str, evaluator: Evaluator, metric: str, sample: SampleId
) -> dict[str, Any]:
    rows = copy.fetch_rows(
        "SELECT value, reason, detail::VARCHAR AS detail FROM answer_scores "
        "WHERE benchmark = $benchmark AND system = $system AND question_id = $question "
        "AND repeat = 0 AND evaluator = $evaluator AND metric = $metric LIMIT 1",
        {
            "benchmark": benchmark,
            "system": sample.system,
            "question": sample.question_id,
            "evaluator": evaluator.name,
            "metric": metric,
        },
    )
    return rows[0] if rows else {}


def _texts(value: object) -> list[str]:
    """Return a value as texts: a list has one for each item."""
    items = value if isinstance(value, list) else [value]
    if not items:
        return ["(none)"]
    return [
        each if isinstance(each, str) else json.dumps(each, ensure_ascii=False, indent=2)
        for each in items
    ]
