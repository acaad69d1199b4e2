"""Ragas: data sets of questions, retrieved contexts, responses and references."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.prediction import may_be_id
from warehouse.formats.columns import Conversion, field_of
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.exports import is_missing, reported_of
from warehouse.formats.readers.field_mapping import (
    PREDICTION,
    QUESTION,
    name_of,
    prediction_side,
    question_side,
)
from warehouse.formats.readers.field_names import FieldNames
from warehouse.formats.readers.rows import rows
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.columns import Target
    from warehouse.formats.readers.rows import Row

NAMES: Final = {
    "question": "user_input",
    "answer": "response",
    "contexts": "retrieved_contexts",
    "expected_answer": "reference",
    "gold_doc_ids": "reference_context_ids",
}
"""The names of Ragas since 0.2 for fields of a question or prediction."""

EARLIER: Final = {"contexts": "retrieved_contexts", "answer": "response", "question": "user_input"}
"""The names of Ragas before 0.2, with the current ones. `ground_truth` and `ground_truths` are
references."""

LISTS: Final = frozenset(
    {
        "retrieved_contexts",
        "reference_contexts",
        "retrieved_context_ids",
        "reference_context_ids",
        "multi_responses",
        "rubrics",
        "tags",
    }
)
"""The columns whose cells in a CSV file are lists or objects."""

GRADES: Final = "rubric"
"""What the names of Ragas's metrics contain whose scores are grades such as 1 to 5."""

OF_SAMPLES: Final = frozenset(
    {"id", "ground_truth", "ground_truths", "query_length", "query_style", "persona_name"}
)
"""Columns of a data set that are not scores, beside the fields of questions and predictions."""

MESSAGES: Final = re.compile(r"\[\s*(\{\s*['\"]content['\"]\s*:|(Human|AI|Tool)Message\()")
"""How a list of messages begins in a cell."""

KNOWN: Final = frozenset({*NAMES, *NAMES.values(), *EARLIER, *PREDICTION, *QUESTION})
"""The names of columns by which the delimiter of a CSV file is recognized."""

LIST: Final = "a list as JSON or Python writes it"
SHAPE: Final = Shape(
    numbers=frozenset({"latency_s", "cost_usd", "tokens_in", "tokens_out", "repeat"})
)
SCORE: Final = re.compile(r"score_?(\d+)_description")


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the questions of a data set.

    A question without `question_id` or `id` is identified by its text.
    """
    names, written = _names(source), _written(source)
    kept = partial(_question, names, source.tags)
    return field_mapping.questions(_rows(source, names), kept, written, by_text=True)


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read responses, retrieved contexts and scores; other columns stay in `extra`, too."""
    names, written = _names(source), _written(source)
    kept = partial(_prediction, names, _metrics(source))
    return field_mapping.predictions(_rows(source, names), source, kept, written, by_text=True)


def _names(source: Source) -> FieldNames:
    columns = {name: _renamed(target) for name, target in source.columns.items()}
    names = FieldNames(source.path, KNOWN, columns)
    names.notes, names.texts = source.notes, "retrieved_contexts"
    return names


def _renamed(target: Target) -> Target:
    if isinstance(target, Conversion):
        return replace(target, to=NAMES.get(target.to, target.to))
    return NAMES.get(target, target)


def _written(source: Source) -> Mapping[str, str]:
    """Return the columns of a file by field, for messages."""
    given = {field_of(target): name for name, target in source.columns.items()}
    return {**NAMES, **given, **{NAMES.get(field, field): name for field, name in given.items()}}


def _rows(source: Source, names: FieldNames) -> Iterator[Row | Reject]:
    return rows(source.path, key="question_id", shape=SHAPE, names=names)


def _metrics(source: Source) -> AbstractSet[str]:
    """Return the columns that metrics have added: all of their values are numbers from -1 to 1.

    A column of larger numbers may be a metric of the user, or a number of an order or a year: the
    source has a note of it.
    """
    known = KNOWN | LISTS | OF_SAMPLES | set(source.tags)
    names = replace(source, notes=[])
    ranges: dict[str, float] = {}
    for row in _rows(source, _names(names)):
        fields = {} if isinstance(row, Reject) else _today(row.fields)
        for name in fields.keys() - known:
            value = fields[name]
            if is_missing(value) or may_be_id(name):
                continue
            number = (reported_of([(name, value)]) or {}).get(name, math.inf)
            ranges[name] = max(ranges.get(name, 0), abs(number))
    beyond = [name for name, size in ranges.items() if 1 < size < math.inf and GRADES not in name]
    if beyond:
        shown = ", ".join(map(repr, sorted(beyond)))
        source.notes.append(f"not reported as scores, since they are not from -1 to 1: {shown}")
    return {name for name, size in ranges.items() if size < math.inf} - {*beyond}


def _fields(names: FieldNames, row: Row) -> dict[str, Any]:
    given = _today({name: value for name, value in row.fields.items() if not is_missing(value)})
    for name in LISTS & given.keys():
        if isinstance(given[name], str):
            given[name] = parse(given[name], name, LIST)
    asked = given.get("user_input")
    is_conversation = isinstance(asked, str) and MESSAGES.match(asked) is not None
    if isinstance(asked, list) or is_conversation:
        raise RecordError(
            ["user_input: expected text, found a list: conversations of several turns are not read"]
        )
    if asked is None:
        raise RecordError([f"user_input: missing{names.describe('user_input')}"])
    return given


def _today(given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields under their current names."""
    renamed = {
        name if EARLIER.get(name, name) in given else EARLIER.get(name, name): value
        for name, value in given.items()
    }
    for name in ("ground_truth", "ground_truths"):
        if name in renamed and "reference" not in renamed:
            renamed["reference"] = renamed.pop(name)
    texts = renamed.get("reference")
    if isinstance(texts, str) and "ground_truths" in given and "reference" not in given:
        renamed["reference"] = parse(texts, "ground_truths", LIST)
    return renamed


def _question(names: FieldNames, tags: Sequence[str], row: Row, position: int) -> dict[str, Any]:
    given = _fields(names, row)
    record = question_side(given)
    record["question_id"] = name_of(given, position)
    record["question"] = given["user_input"]
    if given.get("reference") is not None:
        record["expected_answer"] = given["reference"]
    if "reference_context_ids" in given:
        record["gold_doc_ids"] = given["reference_context_ids"]
    if isinstance(given.get("rubrics"), dict):
        record["rubric"] = _rubric(given["rubrics"])
    kept = {name: given[name] for name in ("reference_contexts", "rubrics", *tags) if name in given}
    return {**record, "extra": kept}


def _rubric(rubrics: dict[str, Any]) -> dict[str, Any]:
    scale = {match[1]: text for name, text in rubrics.items() if (match := SCORE.fullmatch(name))}
    return {"scale": scale} if scale else {}


def _prediction(
    names: FieldNames, metrics: AbstractSet[str], row: Row, position: int
) -> dict[str, Any]:
    given = _fields(names, row)
    record = prediction_side(given)
    if record.get("reported") is None:
        record["reported"] = reported_of((name, given[name]) for name in given if name in metrics)
    record["question_id"] = name_of(given, position)
    record["question"] = record.pop("user_input")
    for name in ("id", "reference", "reference_contexts", "reference_context_ids", "rubrics"):
        record.pop(name, None)
    if "response" in record:
        record["answer"] = record.pop("response")
    if "retrieved" in record:
        return record
    texts = record.pop("retrieved_contexts", None)
    ids = record.pop("retrieved_context_ids", None)
    if ids is None:
        return record if texts is None else {**record, "contexts": texts}
    return {**record, "retrieved": _retrieved(ids, texts)}


def _retrieved(ids: object, texts: object) -> list[dict[str, Any]]:
    if not isinstance(ids, list):
        raise RecordError([f"retrieved_context_ids: expected a list, found {found(ids)}"])
    if texts is None:
        return [{"doc_id": each} for each in ids]
    if not isinstance(texts, list) or len(texts) != len(ids):
        raise RecordError([f"retrieved_contexts: expected {len(ids)} texts, one for each id"])
    return [{"doc_id": name, "text": text} for name, text in zip(ids, texts, strict=True)]


SEVERAL_ANSWERS: Final = "several answers are numbered from 0 by a column 'repeat'"

FORMAT: Final = Format(
    name="ragas",
    summary="Ragas data sets: question, contexts, response and reference in each row.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    has_columns=True,
    version=6,
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)
