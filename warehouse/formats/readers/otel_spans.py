"""Spans in the forms in which tools export them: Phoenix, OpenTelemetry's SDK and OTLP."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.formats.readers.conversations import parsed
from warehouse.formats.readers.limits import MAX_REPEATED
from warehouse.formats.readers.rows import Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ERRORS: Final = frozenset({"ERROR", "STATUS_CODE_ERROR", "2"})
"""What exports write as the status of a span that failed."""

PREFIX: Final = "attributes."
METADATA: Final = "metadata"
ANNOTATED: Final = ("score", "label")
ANNOTATION: Final = re.compile(
    r"(?:evals?|annotations?)(?:\.(.+)|\[['\"](.+)['\"]\])\.(score|label)", re.DOTALL
)
"""Columns with the score or label of an annotation by its name, as Phoenix calls them."""

_VALUES: Final = ("stringValue", "boolValue", "intValue", "doubleValue", "bytesValue")
_NANOSECONDS, _MICROSECONDS, _MILLISECONDS = 1e17, 1e14, 1e11
"""Numbers from which on a time since 1970 is in these units."""

EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
"""Times before it are those that programs write where they know none, such as 0."""

DAY: Final = 86_400.0
START: Final = ("start_time", "startTimeUnixNano", "start_time_unix_nano")
END: Final = ("end_time", "endTimeUnixNano", "end_time_unix_nano")
UNLIKELY: Final = (
    "times before 1990 or after tomorrow, and ends before starts, count as missing, so that some "
    "latencies are unknown"
)
"""The note on a file with such times."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a trace.

    Attributes:
        trace: The id of the trace.
        id: The id of the span; null where the export leaves it out.
        parent: The id of the parent; null for a root.
        name: The name.
        kind: The kind of OpenInference in capitals, such as `RETRIEVER`; empty if unknown.
        start: The start in seconds since 1970; null if unknown.
        error: The message of a span that failed; null if it did not.
        attributes: The attributes by their names with dots.
        row: The row of the file.
    """

    trace: str
    id: str | None
    parent: str | None
    name: str | None
    kind: str
    start: float | None
    error: str | None
    attributes: Mapping[str, Any]
    row: Row


def span_of(row: Row) -> Span:
    """Return the span of a row.

    Raises:
        RecordError: The id of the trace or a time is missing or has another type.
    """
    fields = row.fields
    trace = _first(fields, "context.trace_id", "trace_id", "traceId")
    if not isinstance(trace, str) or not trace:
        raise RecordError([f"context.trace_id: expected the id of a trace, found {found(trace)}"])
    span = _first(fields, "context.span_id", "span_id", "spanId")
    parent = _first(fields, "parent_id", "parentSpanId", "parent_span_id")
    attributes = _attributes(fields)
    kind = attributes.get("openinference.span.kind") or fields.get("span_kind") or ""
    return Span(
        trace=trace,
        id=span if isinstance(span, str) else None,
        parent=parent if isinstance(parent, str) and parent.strip("0x") else None,
        name=fields["name"] if isinstance(fields.get("name"), str) else None,
        kind=str(kind).upper(),
        start=time_of(fields, *START),
        error=_error(fields),
        attributes=attributes,
        row=row,
    )


def otlp_spans(row: Row) -> Iterator[Row]:
    """Yield the spans of an export in OTLP's JSON; the attributes of the resource are added.

    Raises:
        RecordError: The lists of the export have another form, or too many spans repeat the
            attributes of a resource.
    """
    repeated = 0
    for resource in _objects(row.fields, "resourceSpans", "resource_spans"):
        common = resource.get("resource")
        shared = [*_pairs(common.get("attributes"))] if isinstance(common, dict) else []
        for scope in _objects(resource, "scopeSpans", "scope_spans"):
            for span in _objects(scope, "spans"):
                repeated += len(shared)
                if repeated > MAX_REPEATED:
                    reason = f"spans repeat more than {MAX_REPEATED:,} attributes of resources"
                    raise RecordError([reason])
                given = [*shared, *_pairs(span.get("attributes"))]
                yield Row({**span, "attributes": dict(given)}, row.line, row.text)


def _objects(fields: Mapping[str, Any], *names: str) -> list[dict[str, Any]]:
    given = next((fields[name] for name in names if fields.get(name) is not None), None)
    if not isinstance(given, list) or not all(isinstance(each, dict) for each in given):
        raise RecordError([f"{names[0]}: expected a list of objects, found {found(given)}"])
    return given


def _pairs(given: object) -> Iterator[tuple[str, Any]]:
    for each in given if isinstance(given, list) else []:
        if isinstance(each, dict) and isinstance(each.get("key"), str):
            yield each["key"], _value(each.get("value"))


def _value(given: object) -> Any:
    if not isinstance(given, dict):
        return given
    given = {_camel(name): value for name, value in given.items() if value is not None}
    if isinstance(given.get("intValue"), str):
        digits = given["intValue"]
        return int(digits) if digits.lstrip("-").isdecimal() and len(digits) < 20 else digits  # noqa: PLR2004
    for name in _VALUES:
        if name in given:
            return given[name]
    values = given.get("arrayValue")
    if isinstance(values, dict) and isinstance(values.get("values"), list):
        return [_value(each) for each in values["values"]]
    pairs = given.get("kvlistValue")
    return dict(_pairs(pairs.get("values"))) if isinstance(pairs, dict) else None


def _camel(name: str) -> str:
    """Return `intValue` for `int_value`: OTLP's own name for what Phoenix writes."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _first(fields: Mapping[str, Any], *names: str) -> object:
    return next((fields[name] for name in names if fields.get(name) not in (None, "")), None)


def _attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes from columns `attributes.*`, OTLP's lists, or objects, nested or not.

    The members of metadata that stand alone, such as `metadata.system`, are put together.
    """
    flat = {
        name.removeprefix(PREFIX): value
        for name, value in fields.items()
        if name.startswith(PREFIX) and value is not None
    }
    for name in ("resource", "attributes"):
        given = fields.get(name)
        if name == "resource" and isinstance(given, dict):
            given = given.get("attributes")
        if isinstance(given, list):
            given = dict(_pairs(given))
        if isinstance(given, dict):
            flat.update(_flat(given, ""))
    apart = {name for name in flat if name.startswith(f"{METADATA}.")}
    if apart:
        members = {name.removeprefix(f"{METADATA}."): flat.pop(name) for name in sorted(apart)}
        whole = parsed(flat.get(METADATA))
        flat[METADATA] = {**members, **whole} if isinstance(whole, dict) else members
    return flat


def _flat(given: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        # Metadata stay one value: their names are those of the user.
        if isinstance(value, dict) and f"{prefix}{name}" != METADATA:
            yield from _flat(value, f"{prefix}{name}.")
        elif value is not None:
            yield f"{prefix}{name}", value


def _error(fields: Mapping[str, Any]) -> str | None:
    status = fields.get("status")
    given = status if isinstance(status, dict) else {}
    code = _first(fields, "status_code") or _first(given, "status_code", "code")
    if str(code).upper() not in ERRORS:
        return None
    message = _first(fields, "status_message") or _first(given, "description", "message")
    return str(message or "").strip() or "the span has the status ERROR"


def annotations_of(fields: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield what annotations say of a span: the name, `score` or `label`, and the value.

    They are columns such as `eval.correctness.score`, the columns of Phoenix's annotations that
    were joined to the span, or a list.
    """
    for column, value in fields.items():
        match = ANNOTATION.fullmatch(column)
        if match is not None and value is not None:
            yield str(match[1] or match[2]), match[3], value
    joined = {part: fields.get(f"result.{part}") for part in ANNOTATED}
    given: list[Any] = [{"name": fields.get("annotation_name"), "result": joined}]
    for column in ("annotations", "evaluations"):
        listed = parsed(fields.get(column))
        given += listed if isinstance(listed, list) else []
    for each in given:
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            result = each["result"] if isinstance(each.get("result"), dict) else each
            for part in ANNOTATED:
                if result.get(part) is not None:
                    yield each["name"], part, result[part]


def latency_of(fields: Mapping[str, Any], notes: list[str]) -> float | None:
    """Return the seconds from the start to the end of a span; null if one of them is missing.

    A note is added, once, if a time is unlikely or the end is before the start.
    """
    start, end = time_of(fields, *START), time_of(fields, *END)
    if start is not None and end is not None and end >= start:
        return end - start
    is_given = _first(fields, *START) is not None and _first(fields, *END) is not None
    if is_given and UNLIKELY not in notes:
        notes.append(UNLIKELY)
    return None


def likely_latency(seconds: float | None, notes: list[str]) -> float | None:
    """Return a latency that a file gives; null, with a note, for one since before 1990."""
    if seconds is None or seconds <= time.time() - EARLIEST:
        return seconds
    if UNLIKELY not in notes:
        notes.append(UNLIKELY)
    return None


def time_of(fields: Mapping[str, Any], *names: str) -> float | None:
    """Return a time in seconds since 1970, from ISO 8601 or a number.

    It is null if it is missing, before 1990 or after tomorrow.

    Raises:
        RecordError: The first of the named fields that is there is not a time.
    """
    given = _first(fields, *names)
    if given is None:
        return None
    seconds = _seconds(given)
    if seconds is None:
        name = next(name for name in names if fields.get(name) is not None)
        raise RecordError([f"{name}: expected a time as in ISO 8601, found {found(given)}"])
    return seconds if EARLIEST <= seconds <= time.time() + DAY else None


def _seconds(given: object) -> float | None:
    """Return a time in seconds since 1970; null if the value is not a time."""
    if isinstance(given, str) and given.isdecimal() and len(given) < 20:  # noqa: PLR2004
        given = int(given)
    if isinstance(given, str):
        try:
            parsed = datetime.fromisoformat(given)
        except ValueError:
            return None
        # Not `timestamp()` of a naive time, which is one of this machine.
        aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    if isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given < 1e20:  # noqa: PLR2004
        return float(given) / _unit(given)
    return None


def _unit(number: float) -> float:
    if number >= _NANOSECONDS:
        return 1e9
    if number >= _MICROSECONDS:
        return 1e6
    return 1e3 if number >= _MILLISECONDS else 1.0
