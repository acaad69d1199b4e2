"""OpenInference: spans of traced systems, as Phoenix and OpenTelemetry export them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from records.record import integer
from warehouse.errors import InputError, Problem
from warehouse.formats.format import SEVERAL_TRACES, Format, Read, Reject, Source
from warehouse.formats.openinference_files import (
    COST,
    DOCUMENTS,
    TOKENS,
    TOKENS_IN,
    TOKENS_OUT,
    SpanFile,
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
from warehouse.formats.readers.otel_spans import (
    METADATA,
    Span,
    annotations_of,
    latency_of,
    span_of,
)
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from records.prediction import Prediction
    from records.question import Question
    from warehouse.formats.readers.conversations import Documents

NAMES: Final = {
    "question": "attributes.input.value",
    "answer": "attributes.output.value",
    "retrieved": "attributes.retrieval.documents",
    "cost_usd": "attributes.llm.cost.total",
    "tokens_in": "attributes.llm.token_count.prompt",
    "tokens_out": "attributes.llm.token_count.completion",
    "trace_id": "context.trace_id",
    "question_id": "attributes.metadata.question_id",
    "expected_answer": "attributes.metadata.expected_answer",
}
"""OpenInference's names for fields of a question or prediction."""

KEPT: Final = {"session_id": "session.id", "user_id": "user.id", "trace_tags": "tag.tags"}
SYSTEMS: Final = ("service.name", "openinference.project.name")
"""The attributes that name the system, after `system` in the metadata."""

PARTS: Final = frozenset({"RETRIEVER", "EMBEDDING", "RERANKER", "EVALUATOR", "GUARDRAIL"})
"""The kinds of spans that answer no question."""

EXPECTED: Final = (
    "spans as Phoenix or OpenTelemetry export them, with 'context.trace_id' or 'traceId'"
)
GOES_ON: Final = (
    "the export goes on (`next_cursor`): fetch the next page and append it, as spans and documents "
    "of these traces may be on it"
)


@dataclass(slots=True)
class Trace:
    """The spans of a trace.

    Attributes:
        spans: The spans, each once.
        repeated: Spans that come again: once more exported, or joined with several annotations.
    """

    spans: list[Span] = field(default_factory=list)
    repeated: list[Span] = field(default_factory=list)
    _ids: set[str | None] = field(default_factory=set)

    def add(self, span: Span) -> None:
        """Add a span."""
        is_known = span.id is not None and span.id in self._ids
        (self.repeated if is_known else self.spans).append(span)
        self._ids.add(span.id)

    def answering(self) -> Span:
        """Return the root, or the first span with an input where the root has none."""
        known = {span.id for span in self.spans if span.id is not None}
        roots = [span for span in self.spans if span.parent is None or span.parent not in known]
        ordered = sorted(roots, key=_start) + sorted(self.spans, key=_start)
        asked = [
            span
            for span in ordered
            if span.kind not in PARTS and question_text(span.attributes.get("input.value"))
        ]
        return asked[0] if asked else ordered[0]

    def retrievers(self) -> list[Span]:
        """Return the spans that retrieve, by start, but for those within other such spans."""
        found_ = outermost(
            self.spans, lambda each: (each.id, each.parent), lambda each: each.kind == "RETRIEVER"
        )
        return sorted(found_, key=_start)


def read_questions(source: Source) -> Iterator[Read[Question] | Reject]:
    """Read the input of each trace; the id is that in the metadata or follows from the text."""
    file = SpanFile(source.path)
    return _read(file, partial(field_mapping.questions, translate=_question, names=NAMES))


def read_predictions(source: Source) -> Iterator[Read[Prediction] | Reject]:
    """Read the output of each trace with the documents that its spans have retrieved."""
    file = SpanFile(source.path)
    translate = partial(_prediction, notes=source.notes, has_system=source.system is not None)
    yield from _read(
        file,
        partial(field_mapping.predictions, source=source, translate=translate, names=NAMES),
    )
    if file.next_cursor:
        source.notes.append(GOES_ON)


def _read(file: SpanFile, translate: Any) -> Iterator[Any]:
    """Yield rejected spans and the record of each trace, which stands as a row for its spans."""
    traces: dict[str, Trace] = {}
    length = 0
    names = {"context.trace_id", "traceId"}
    # Rows of experiments and observations of Langfuse have a trace, too.
    groups = ({*names, "trace_id"}, {*names, "span_id", "span_kind", "attributes"})
    for row in require_kind(file.spans(), file.path, EXPECTED, *groups):
        if isinstance(row, Reject):
            yield row
            continue
        try:
            span = span_of(row)
        except RecordError as error:
            yield Reject(row.line, str(error), row.text)
            continue
        traces.setdefault(span.trace, Trace()).add(span)
        length += text_length(row.fields)
        if length > LONGEST_FILE:
            said = f"the spans hold more than {LONGEST_FILE // MIB} MiB of texts, split the file"
            raise InputError([Problem(file.path, row.line, said)])
    for trace in traces.values():
        row = trace.answering().row
        yield from translate([Row({"trace": trace}, row.line, row.text)])


def _start(span: Span) -> float:
    return float("inf") if span.start is None else span.start


def _metadata(span: Span) -> dict[str, Any]:
    given = parsed(span.attributes.get(METADATA))
    return given if isinstance(given, dict) else {}


def _asked(span: Span) -> tuple[object, str]:
    """Return the id and the text of the question."""
    text = question_text(span.attributes.get("input.value"))
    if text is None:
        raise RecordError(["attributes.input.value: missing in the spans of the trace"])
    name = _metadata(span).get("question_id")
    return (id_of_text(text) if name is None else name), text


def _question(row: Row, _: int) -> dict[str, Any]:
    span = row.fields["trace"].answering()
    name, text = _asked(span)
    record = {"question_id": name, "question": text}
    expected = expected_answer(_metadata(span))
    return record if expected is None else {**record, "expected_answer": expected}


def _prediction(row: Row, _: int, *, notes: list[str], has_system: bool) -> dict[str, Any]:
    trace: Trace = row.fields["trace"]
    span = trace.answering()
    name, text = _asked(span)
    record: dict[str, Any] = {"question_id": name, "question": text}
    if not has_system:
        named = (span.attributes.get(each) for each in SYSTEMS)
        given = chain([_metadata(span).get("system")], named)
        record["system"] = next((each for each in given if each is not None), None)
    if span.error is not None:
        record["error"] = span.error
    else:
        # What a retriever returns is not an answer.
        output = None if span.kind in PARTS else span.attributes.get("output.value")
        record["answer"] = answer_text(output)
    record["latency_s"] = latency_of(span.row.fields, notes)
    record["retrieved"] = retrieved_items([_documents(each) for each in trace.retrievers()])
    if span.error is None and record["answer"] is None and not record["retrieved"]:
        record["error"] = "there is no output"
    record["cost_usd"] = _total(trace, COST)
    record["tokens_in"], record["tokens_out"] = _total(trace, TOKENS_IN), _total(trace, TOKENS_OUT)
    record["trace_id"] = span.trace
    record["repeat"] = repeat_of(_metadata(span))
    record["reported"], labels = _annotations(trace, span)
    kept: dict[str, Any] = {"annotations": labels or None}
    kept |= {"span_name": span.name, "tokens_total": _total(trace, TOKENS)}
    kept |= {each: span.attributes.get(written) for each, written in KEPT.items()}
    kept["metadata"] = _metadata(span) or None
    return {**record, "extra": {each: value for each, value in kept.items() if value is not None}}


def _annotations(
    trace: Trace, answering: Span
) -> tuple[dict[str, bool | float] | None, dict[str, Any]]:
    """Return the scores and the labels of annotations by name.

    Those of the span that answers count, and those of others by names that it has none of.
    """
    own: list[tuple[str, str, Any]] = []
    others: list[tuple[str, str, Any]] = []
    for span in [*trace.spans, *trace.repeated]:
        is_own = span is answering or (span.id is not None and span.id == answering.id)
        (own if is_own else others).extend(annotations_of(span.row.fields))
    names = {name for name, _, _ in own}
    given = own + [each for each in others if each[0] not in names]
    scores = [(name, value) for name, part, value in given if part == "score"]
    labels = {name: value for name, part, value in given if part == "label"}
    return reported_of(scores), labels


def _documents(span: Span) -> Documents | None:
    """Return the documents of a span; null if it has no attribute of them."""
    given = parsed(span.attributes.get(DOCUMENTS))
    if given is None:
        given = _numbered(span) or None
    if given is None:
        return None
    if not isinstance(given, list):
        said = f"attributes.{DOCUMENTS}: expected a list as JSON, found {found(given)}"
        raise RecordError([said])
    documents = []
    for position, each in enumerate(given):
        if not isinstance(each, dict):
            said = f"attributes.{DOCUMENTS}[{position}]: expected an object, found {found(each)}"
            raise RecordError([said])
        inner = each.get("document")
        document = {f"document.{name}": value for name, value in each.items()}
        document |= (
            {f"document.{n}": v for n, v in inner.items()} if isinstance(inner, dict) else {}
        )
        document |= each
        values = (document.get(f"document.{name}") for name in ("id", "content", "score"))
        name, text, score = values
        name = integer(name)
        documents.append((str(name) if isinstance(name, int) else name, text, score))
    return documents


def _numbered(span: Span) -> list[dict[str, Any]]:
    """Return the documents of attributes such as `retrieval.documents.0.document.id`."""
    documents: dict[int, dict[str, Any]] = {}
    for written, value in span.attributes.items():
        if written.startswith(f"{DOCUMENTS}."):
            position, _, name = written.removeprefix(f"{DOCUMENTS}.").partition(".")
            if position.isdecimal() and len(position) < 10:  # noqa: PLR2004
                documents.setdefault(int(position), {})[name] = value
    return [documents[position] for position in sorted(documents)]


_MOST: Final = 1e18
"""The largest number of tokens or dollars of a call; so their sums fit a float."""


def _total(trace: Trace, name: str) -> float | None:
    """Return the sum of a number over the calls of models; null if a span `LLM` has none."""
    numbers = []
    for span in trace.spans:
        if span.kind not in {"LLM", "EMBEDDING", "RERANKER"}:
            continue
        # Pandas writes NaN where a span has no such attribute.
        given = span.attributes.get(name, math.nan)
        if isinstance(given, bool) or not isinstance(given, int | float) or abs(given) > _MOST:
            raise RecordError([f"attributes.{name}: expected a number, found {found(given)}"])
        if not math.isnan(given):
            numbers.append(given)
        elif span.kind == "LLM":
            return None
    return sum(numbers) if numbers else None


FORMAT: Final = Format(
    name="openinference",
    summary="Spans of Phoenix and OpenTelemetry with the attributes of OpenInference.",
    questions=read_questions,
    predictions=read_predictions,
    questions_from="predictions",
    version=4,
    is_streamed=False,
    several_answers=SEVERAL_TRACES,
)
