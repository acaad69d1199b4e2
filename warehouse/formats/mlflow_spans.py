"""The spans of MLflow's traces, and the values that MLflow writes as texts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError, found
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.exports import outermost
from warehouse.formats.readers.strict_json import NotJsonError, decode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from warehouse.formats.readers.conversations import Documents

_MEASURED: Final = re.compile(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?s?")


def written(value: object, place: str) -> Any:
    """Return the value of a text that begins like a list or object of JSON or Python.

    Raises:
        RecordError: It is none.
    """
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        return parse(value, place, "JSON")
    return value


def unpacked(value: object) -> Any:
    """Return the list or object that a text writes as JSON or Python; other texts as they are.

    A text such as `null` or `1.50` is an answer, not a value.
    """
    try:
        return written(value, "")
    except RecordError:
        return value


def loose(value: object) -> Any:
    """Return the value that MLflow wrote as JSON, or else the text."""
    try:
        return decode(value) if isinstance(value, str) else value
    except NotJsonError:
        return unpacked(value)


def of_preview(value: object) -> Any:
    """Return the value in a preview, which is JSON, or the text of a message."""
    return loose(value) if str(value)[:1] == '"' else unpacked(value)


def object_of(value: object, place: str) -> dict[str, Any]:
    """Return an object, which may be a text or a list of keys and values.

    Raises:
        RecordError: It is none.
    """
    value = written(value, place)
    if value is None or value == "":
        return {}
    if isinstance(value, list) and all(isinstance(e, dict) and "key" in e for e in value):
        return {str(each["key"]): each.get("value") for each in value}
    if not isinstance(value, dict):
        raise RecordError([f"{place}: expected an object, found {found(value)}"])
    return value


def number_of(value: object, name: str) -> float | None:
    """Return a number; null for what is none, which is kept or missing.

    Raises:
        RecordError: It is larger than numbers can be.
    """
    number: float | None = None
    try:
        if isinstance(value, str) and _MEASURED.fullmatch(value):
            # The API writes durations such as `0.206s`.
            number = float(value.removesuffix("s")) * (1000 if value.endswith("s") else 1)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            number = float(value)
    except OverflowError:
        number = math.inf
    if number is not None and not math.isfinite(number):
        raise RecordError([f"{name}: expected a number, found {found(value)}"])
    return number


@dataclass(frozen=True, slots=True)
class Span:
    """A span of a trace, in the forms of both versions."""

    id: str | None
    parent: str | None
    kind: str
    inputs: Any
    outputs: Any
    status: str
    message: str | None
    usage: Mapping[str, Any]
    start: float

    @classmethod
    def of(cls, given: object, position: int) -> Span:
        """Return a span.

        Raises:
            RecordError: It is none.
        """
        if not isinstance(given, dict):
            raise RecordError([f"spans[{position}]: expected an object, found {found(given)}"])
        attributes = object_of(given.get("attributes"), f"spans[{position}].attributes")
        values = {name: loose(value) for name, value in attributes.items()}
        context, status = given.get("context"), given.get("status")
        inner = context if isinstance(context, dict) else {}
        state = status if isinstance(status, dict) else {}
        usage = values.get("mlflow.chat.tokenUsage")
        return cls(
            id=_id(given.get("span_id", inner.get("span_id"))),
            parent=_id(given.get("parent_span_id") or given.get("parent_id")),
            kind=str(values.get("mlflow.spanType", given.get("span_type", ""))).upper(),
            inputs=values.get("mlflow.spanInputs", unpacked(given.get("inputs"))),
            outputs=values.get("mlflow.spanOutputs", unpacked(given.get("outputs"))),
            status=str(state.get("code", given.get("status_code", ""))),
            message=state.get("message") or given.get("status_message") or None,
            usage=usage if isinstance(usage, dict) else {},
            start=number_of(
                given.get("start_time_unix_nano", given.get("start_time")), "start_time"
            )
            or 0.0,
        )


def _id(value: object) -> str | None:
    return None if value in (None, "") else str(value)


def retrievers(spans: Sequence[Span]) -> list[Span]:
    """Return the spans that retrieve, by start, but for those within other such spans."""
    given = outermost(
        spans, lambda span: (span.id, span.parent), lambda span: span.kind == "RETRIEVER"
    )
    return sorted(given, key=lambda span: span.start)


def documents_of(outputs: object) -> Documents | None:
    """Return the documents that a retriever returned; null if they have no known form."""
    if isinstance(outputs, dict):
        outputs = next((outputs[n] for n in ("documents", "results") if n in outputs), None)
    if not isinstance(outputs, list):
        return None
    documents: list[tuple[object, object, object]] = []
    for each in outputs:
        if isinstance(each, str):
            documents.append((None, each, None))
            continue
        if not isinstance(each, dict):
            return None
        metadata = each.get("metadata")
        inner = metadata if isinstance(metadata, dict) else {}
        names = ("doc_uri", "doc_id", "document_id")
        name = next((inner[n] for n in names if inner.get(n) is not None), None)
        others = (each.get("doc_uri"), each.get("doc_id"), each.get("id"), inner.get("source"))
        name = name if name is not None else next((e for e in others if e is not None), None)
        texts = (each.get(n) for n in ("page_content", "content", "text"))
        text = next((e for e in texts if e is not None), None)
        scores = (each.get("score"), inner.get("score"), inner.get("relevance_score"))
        score = next((e for e in scores if e is not None), None)
        documents.append((str(name) if isinstance(name, int) else name, text, score))
    return documents
