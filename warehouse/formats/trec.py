"""TREC files: relevance judgments and runs, sorted as trec_eval sorts them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from records.prediction import Prediction, Retrieved
from records.question import Question
from records.record import CONTROL
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Format, Read, Reject, Source
from warehouse.formats.paths import invalid_name_reason
from warehouse.formats.readers.files import Line, joined, lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_JUDGEMENT: Final = 4
_RUN: Final = 6
_FIELD: Final = re.compile(r"[^ \t\n\v\f\r]+")
"""A field between C's whitespace; Python also splits at a no-break space within an id."""

GRADE: Final = r"-?[0-9]{1,9}(?:\.0+)?"
"""A relevance grade: a whole number, also one that is written as 2.0."""

NAMES: Final = "a topic and a document without control characters"


@dataclass(slots=True)
class _Topic:
    line: int
    system: str
    retrieved: list[Retrieved] = field(default_factory=list)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read judgments (`topic iter document grade`); one question for each topic.

    Lines that begin with `#` are comments. A negative grade means not judged; it is kept.
    """
    topics: dict[str, dict[str, int]] = {}
    first: dict[str, int] = {}
    for line in _content(source):
        if isinstance(line, Reject):
            yield line
            continue
        parts = _FIELD.findall(line.text)
        if len(parts) != _JUDGEMENT:
            yield _malformed(line, f"topic iter document grade, found {len(parts)} fields")
            continue
        topic, _, document, grade = parts
        if not re.fullmatch(GRADE, grade):
            yield _malformed(line, f"a whole number as grade, found {grade!r}")
            continue
        if re.search(CONTROL, topic + document):
            yield _malformed(line, f"{NAMES}, found {topic!r} and {document!r}")
            continue
        judged = topics.setdefault(topic, {})
        first.setdefault(topic, line.number)
        if document in judged:
            yield Reject(
                line.number,
                f"document {document!r} is judged twice for topic {topic!r}",
                line.beginning,
            )
            continue
        judged[document] = int(float(grade))
    for topic, judged in topics.items():
        yield Read(Question.read({"question_id": topic, "gold_relevance": judged}), first[topic])


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read a run (`topic Q0 document rank score tag`); one prediction for each topic.

    The scores determine the order, as in every format; the rank is ignored, and so is what follows
    the tag, as in trec_eval. The system is the one that the path names, or else the tag.
    """
    topics: dict[tuple[str, str], _Topic] = {}
    for line in _content(source):
        if isinstance(line, Reject):
            yield line
            continue
        parts = _FIELD.findall(line.text)
        if len(parts) < _RUN:
            yield _malformed(line, f"topic Q0 document rank score tag, found {len(parts)} fields")
            continue
        name, _, document, _, digits, tag = parts[:_RUN]
        score = _number(digits)
        if score is None:
            yield _malformed(line, f"a finite number as score, found {digits!r}")
            continue
        if re.search(CONTROL, name + document):
            yield _malformed(line, f"{NAMES}, found {name!r} and {document!r}")
            continue
        system = source.system if source.system is not None else tag
        topic = topics.setdefault((system, name), _Topic(line.number, system))
        topic.retrieved.append(Retrieved(doc_id=document, score=score))
    systems = {system for system, _ in topics}
    wrong = [
        said for system in sorted(systems) if (said := invalid_name_reason(system)) is not None
    ]
    if wrong:
        raise InputError([Problem(source.path, None, said) for said in wrong])
    for (system, name), topic in topics.items():
        record = Prediction(question_id=name, system=system, retrieved=topic.retrieved)
        yield Read(record, topic.line)


def _content(source: Source) -> Iterator[Line | Reject]:
    for line in lines(source.path):
        if isinstance(line, Line) and line.text.startswith("\ufeff"):
            yield Reject(line.number, joined(source.path), line.beginning)
        elif isinstance(line, Reject) or not line.text.lstrip().startswith("#"):
            yield line


def _malformed(line: Line, wanted: str) -> Reject:
    return Reject(line.number, f"expected {wanted}", line.beginning)


def _number(digits: str) -> float | None:
    try:
        value = float(digits)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


SEVERAL_ANSWERS: Final = (
    "a system has one ranking for each topic: give another run a system of its own, by its tag "
    "or {system} in the path"
)

FORMAT: Final = Format(
    name="trec",
    summary="Judgments (qrels) as questions, runs as predictions; retrieval only.",
    questions=read_questions,
    predictions=read_predictions,
    unknown_questions="note",
    missing_predictions="nothing retrieved",
    version=2,
    is_streamed=False,
    several_answers=SEVERAL_ANSWERS,
)
