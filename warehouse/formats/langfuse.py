"""Langfuse: exported traces and observations, from its interface and its API."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.record import integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SEVERAL_TRACES, Format, Read, Reject, Source
from warehouse.formats.langfuse_rows import (
    decode_rows,
    is_score_column,
    langfuse_rows,
    observations_of,
)
from warehouse.formats.readers import field_mapping
from warehouse.formats.readers.conversations import (
    answer_text,
    expected_answer,
    parsed,
    question_text,
    retrieved_items,
)
from warehouse.formats.readers.exports import (
    id_of_text,
    outermost,
    repeat_of,
    reported_of,
    require_kind,
    text_length,
)
from warehouse.formats.readers.limits import LONGEST_FILE, MIB
from warehouse.formats.readers.otel_spans import START, latency_of, likely_latency, time_of
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.readers.conversations import Documents

NAMES: Final = {
    "question_id": "metadata.question_id",
    "question": "input",
    "answer": "output",
    "expected_answer": "metadata.expected_answer",
    "latency_s": "latency",
    "cost_usd": "totalCost",
    "trace_id": "id",
}
"""Langfuse's names for fields of a question or prediction."""

SYSTEMS: Final = ("version", "release", "trace_name", "name")
"""The fields that name the system, after `system` in the metadata."""

KEPT: Final = ("name", "session_id", "user_id", "environment", "release", "version", "tags")
"""The fields that are kept of an observation that answers."""

READ: Final = frozenset(
    {
        "id",
        "trace_id",
        "input",
        "output",
        "observations",
        "latency",
        "total_cost",
        "html_path",
        "public",
    }
)
"""The fields of a trace that are not kept."""

COLUMNS: Final = frozenset({"input", "output", "metadata", "observations", "scores", "tags"})
"""The columns that are never those of a score."""

PARTS: Final = frozenset({"RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL", "EVENT"})
"""The types of observations that answer no question."""

IDS: Final = ("id", "doc_id", "document_id", "chunk_id")
TEXTS: Final = ("content", "text", "page_content", "pageContent", "passage", "document")
EXPECTED: Final = (
    "Langfuse's traces with 'id', 'input' and 'output', or observations with 'traceId'"
)


@dataclass(slots=True)
class Trace:
    """A trace: its own fields, if it is exported itself, and its observations."""

    name: str
    row: Row | None = None
    observations: list[Row] = field(default_factory=list)

    def rows(self) -> list[Row]:
        """Return the row of the trace, if there is one, and those of its observations."""
        return [*([] if self.row is None else [self.row]), *self.observations]

    def fields(self) -> dict[str, Any]:
        """Return the fields of the trace, or those of the observation that answers."""
        return (self.row or self.answering()).fields

    def answering(self) -> Row:
        """Return the root, or the first observation with an input where the root has none."""
        ordered = sorted(self.roots(), key=_start) + sorted(self.observations, key=_start)
        asked = [
            row
            for row in ordered
            if _type(row) not in PARTS and question_text(row.fields.get("input"), is_decoded=True)
        ]
        return asked[0] if asked else ordered[0]

    def roots(self) -> list[Row]:
        """Return the observations without a parent in the trace."""
        known = {str(row.fields.get("id")) for row in self.observations}
        parents = "parent_observation_id"
        return [row for row in self.observations if str(row.fields.get(parents)) not in known]

    def retrievers(self) -> list[Row]:
        """Return the observations that retrieve, by start, but for those within others."""
        given = outermost(self.observations, _place, lambda row: _type(row) == "RETRIEVER")
        return sorted(given, key=_start)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the input of each trace; the id is that in the metadata or follows from the text."""
    return _read(source, partial(field_mapping.questions, translate=_question, names=NAMES))


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the output of each trace with what its observations have retrieved."""
    return _read(
        source,
        partial(
            field_mapping.predictions,
            source=source,
            translate=partial(
                _prediction, notes=source.notes, has_system=source.system is not None
            ),
            names=NAMES,
        ),
    )


def _read(source: Source, translate: Any) -> Iterator[Any]:
    """Yield rejected rows and the record of each trace."""
    traces: dict[str, Trace] = {}
    length = 0
    given, is_raw = langfuse_rows(source.path)
    # Runs of an experiment of Phoenix have inputs and traces, too, but no id of their own.
    groups = ({"id"}, {"input", "output", "observations", "type"})
    for row in require_kind(given, source.path, EXPECTED, *groups):
        if isinstance(row, Reject):
            yield row
            continue
        is_observation = row.fields.get("trace_id") not in (None, "")
        name = row.fields.get("trace_id" if is_observation else "id")
        if not isinstance(name, str) or not name:
            yield Reject(row.line, f"id: expected the id of a trace, found {found(name)}", row.text)
            continue
        try:
            for each in [row] if is_observation else observations_of(row):
                time_of(each.fields, *START)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)
            continue
        trace = traces.setdefault(name, Trace(name))
        if is_observation:
            trace.observations.append(row)
        elif trace.row is None:
            trace.row = row
            trace.observations += observations_of(row)
        else:
            yield Reject(row.line, f"id: expected each trace once, found {name!r} again", row.text)
        length += text_length(row.fields)
        if length > LONGEST_FILE:
            said = f"the traces hold more than {LONGEST_FILE // MIB} MiB of texts, split the file"
            raise InputError([Problem(source.path, row.line, said)])
    decode_rows([row for trace in traces.values() for row in trace.rows()], is_raw=is_raw)
    for trace in traces.values():
        row = trace.row or trace.answering()
        yield from translate([Row({"trace": trace}, row.line, row.text)])


def _place(row: Row) -> tuple[str | None, str | None]:
    name, parent = row.fields.get("id"), row.fields.get("parent_observation_id")
    return str(name) if name else None, str(parent) if parent else None


def _type(row: Row) -> str:
    return str(row.fields.get("type")).upper()


def _start(row: Row) -> float:
    start = time_of(row.fields, *START)
    return float("inf") if start is None else start


def _metadata(fields: dict[str, Any]) -> dict[str, Any]:
    given = parsed(fields.get("metadata"))
    return given if isinstance(given, dict) else {}


def _side(trace: Trace, name: str) -> Any:
    """Return the input or output of a trace, or else of the observation that answers."""
    own = None if trace.row is None else trace.row.fields.get(name)
    if own in (None, "", {}, []) and trace.observations:
        row = trace.answering()
        # What a retriever returns is not an answer.
        return None if name == "output" and _type(row) in PARTS else row.fields.get(name)
    return own


def _asked(trace: Trace) -> tuple[object, str]:
    text = question_text(_side(trace, "input"), is_decoded=True)
    if text is None:
        raise RecordError(["input: missing"])
    name = _metadata(trace.fields()).get("question_id")
    return (id_of_text(text) if name is None else name), text


def _question(row: Row, _: int) -> dict[str, Any]:
    trace: Trace = row.fields["trace"]
    name, text = _asked(trace)
    record = {"question_id": name, "question": text}
    expected = expected_answer(_metadata(trace.fields()))
    return record if expected is None else {**record, "expected_answer": expected}


def _prediction(row: Row, _: int, *, notes: list[str], has_system: bool) -> dict[str, Any]:
    trace: Trace = row.fields["trace"]
    fields = trace.fields()
    metadata = _metadata(fields)
    name, text = _asked(trace)
    record: dict[str, Any] = {"question_id": name, "question": text}
    if not has_system:
        given = (metadata.get("system"), *(fields.get(each) for each in SYSTEMS))
        record["system"] = next((each for each in given if each not in (None, "")), None)
    record["retrieved"] = retrieved_items([_documents(each) for each in trace.retrievers()])
    record["answer"] = answer_text(_side(trace, "output"), is_decoded=True)
    fault = _fault(trace)
    if fault is None and record["answer"] is None and not record["retrieved"]:
        fault = "there is no output"
    record["error"] = fault
    record["latency_s"] = likely_latency(_latency(trace, notes), notes)
    record["cost_usd"] = _cost(trace)
    record["trace_id"] = trace.name
    record["repeat"] = repeat_of(metadata)
    scores = _scores(fields)
    record["reported"] = _reported(scores)
    names = KEPT if trace.row is None else fields.keys() - READ
    kept = {each: fields.get(each) for each in names}
    kept["metadata"] = metadata or None
    kept |= {"name": fields.get("trace_name") or fields.get("name"), "scores": _by_name(scores)}
    kept["tags"] = parsed(fields.get("tags"))
    return {
        **record,
        "extra": {each: value for each, value in kept.items() if value not in (None, "", [])},
    }


def _fault(trace: Trace) -> str | None:
    """Return the error of a root; null if there is none."""
    for row in trace.roots():
        if str(row.fields.get("level")).upper() == "ERROR":
            message = row.fields.get("status_message")
            return message if isinstance(message, str) and message.strip() else "the level is ERROR"
    return None


def _latency(trace: Trace, notes: list[str]) -> float | None:
    if trace.row is not None:
        return _number(trace.row.fields, "latency")
    root = trace.answering().fields
    measured = latency_of(root, notes)
    return _number(root, "latency") if measured is None else measured


def _cost(trace: Trace) -> float | None:
    """Return the cost of a trace; null for 0, which is written where no price is known.

    Langfuse's own sum is a part, too, where a generation has no price but another call has one.
    Exports may also leave out the costs of all observations.
    """
    own = None if trace.row is None else _number(trace.row.fields, "total_cost") or None
    costs = [
        (row, _number(row.fields, "total_cost") or _number(row.fields, "calculated_total_cost"))
        for row in trace.observations
    ]
    known = [cost for _, cost in costs if cost]
    if known and any(_type(row) == "GENERATION" and not cost for row, cost in costs):
        return None
    return own or sum(known) or None


def _number(fields: dict[str, Any], name: str) -> float | None:
    """Return a number; null where it is negative, as for metrics that were not asked for."""
    given = fields.get(name)
    if given in (None, ""):
        return None
    if isinstance(given, str):
        try:
            given = float(given)
        except ValueError:
            given = fields[name]
    if not isinstance(given, int | float) or isinstance(given, bool) or not -1e300 < given < 1e300:  # noqa: PLR2004
        raise RecordError([f"{name}: expected a number, found {found(given)}"])
    return float(given) if given >= 0 else None


def _scores(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of a trace and its observations as objects with `name` and `value`.

    The API lists objects, or only their ids; exported tables have a column for each name.
    """
    given = parsed(fields.get("scores"))
    if isinstance(given, dict):
        return [{"name": name, "value": value} for name, value in given.items()]
    objects = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    listed = [each for each in objects if isinstance(each.get("name"), str)]
    columns = {name: parsed(value) for name, value in fields.items() if name not in COLUMNS}
    return listed + [
        {"name": name, "value": value}
        for name, values in columns.items()
        if is_score_column(values)
        for value in values
    ]


def _reported(scores: list[dict[str, Any]]) -> dict[str, bool | float] | None:
    """Return the scores that are numbers, true or false: those of the trace, then of its parts."""
    own = [each for each in scores if each.get("observationId") is None]
    names = {each.get("name") for each in own}
    chosen = own + [each for each in scores if each.get("name") not in names]
    return reported_of((each.get("name"), _value(each)) for each in chosen)


def _value(score: dict[str, Any]) -> object:
    """Return the value of a score; null for a class, whose number says nothing."""
    value, type_ = score.get("value"), score.get("dataType")
    if type_ == "BOOLEAN":
        return bool(value) if value in (0, 1) else None
    return value if type_ in (None, "NUMERIC") else None


def _by_name(scores: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return what all scores say by name, also in words; a list where there are several."""
    said: dict[str, list[Any]] = {}
    for each in scores:
        word = each.get("stringValue") if each.get("dataType") != "BOOLEAN" else None
        said.setdefault(str(each.get("name")), []).append(word or each.get("value"))
    return {name: each[0] if len(each) == 1 else each for name, each in said.items()} or None


def _documents(row: Row) -> Documents | None:
    """Return the documents that an observation has retrieved; null without an output."""
    given = row.fields.get("output")
    if isinstance(given, dict):
        lists = [value for value in given.values() if isinstance(value, list)]
        given = lists[0] if len(lists) == 1 else [given]
    if given in (None, ""):
        return None
    documents: list[tuple[object, object, object]] = []
    for each in given if isinstance(given, list) else [given]:
        if not isinstance(each, dict):
            documents.append((None, each, None))
            continue
        inner = each.get("document")
        document = {**inner, **each} if isinstance(inner, dict) else each
        name = next((document[key] for key in IDS if document.get(key) is not None), None)
        texts = (document[key] for key in TEXTS if isinstance(document.get(key), str))
        name = integer(name)
        name = str(name) if isinstance(name, int) else name
        documents.append((name, next(texts, None), document.get("score")))
    return documents


FORMAT: Final = Format(
    name="langfuse",
    summary="Langfuse's exports: traces with their observations, as questions and answers.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=5,
    is_streamed=False,
    several_answers=SEVERAL_TRACES,
)
