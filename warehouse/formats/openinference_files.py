"""The files with spans that Phoenix and OpenTelemetry write: rows, exports and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from records.error_messages import RecordError
from warehouse.errors import InputError, Problem
from warehouse.formats.format import Reject
from warehouse.formats.readers.cells.lists import parse
from warehouse.formats.readers.exports import element_row, first_character, is_indented
from warehouse.formats.readers.files import kind
from warehouse.formats.readers.nested_json import NestedJson
from warehouse.formats.readers.otel_spans import METADATA, PREFIX, otlp_spans
from warehouse.formats.readers.rows import Row, rows
from warehouse.formats.readers.tabular import Shape

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPORTS: Final = ("resourceSpans", "resource_spans")
"""The list of an export in OTLP: as the standard and as protobuf's own names call it."""

PAGE: Final = "data"
CURSOR: Final = "next_cursor"
"""The lists of spans in a page of Phoenix's interface, and the beginning of the next page."""

DOCUMENTS: Final = "retrieval.documents"
COST: Final = "llm.cost.total"
TOKENS_IN: Final = "llm.token_count.prompt"
TOKENS_OUT: Final = "llm.token_count.completion"
TOKENS: Final = "llm.token_count.total"

LITERALS: Final = (
    *(f"{PREFIX}{each}" for each in (DOCUMENTS, METADATA, "tag.tags")),
    *("attributes", "context"),
)
"""The columns of a CSV file whose cells are lists and objects, as JSON or as Python prints them."""

SHAPE: Final = Shape(
    numbers=frozenset(PREFIX + each for each in (TOKENS_IN, TOKENS_OUT, TOKENS, COST))
)


class SpanFile:
    """A file of spans.

    Attributes:
        path: The path.
        next_cursor: Where the export goes on after the last page, once `spans` has ended; null if
            the file has all of it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.next_cursor: object = None
        self._empty: str | None = None

    def spans(self) -> Iterator[Row | Reject]:
        """Yield the spans; those of OTLP and of Phoenix's interface are nested.

        Raises:
            InputError: The file cannot be read, or its exports and pages have no spans.
        """
        count = 0
        for row in self._rows():
            for each in self._of_row(row):
                count += 1
                yield each
        if not count and self._empty is not None:
            said = f"the export has no spans: its list {self._empty!r} is empty"
            raise InputError([Problem(self.path, None, said)])

    def _of_row(self, row: Row | Reject) -> list[Row | Reject]:
        if isinstance(row, Reject):
            return [row]
        fields = row.fields
        parts = LITERALS if kind(self.path) == ".csv" else ()
        try:
            cells = {name: parse(fields[name], name) for name in parts if name in fields}
            return list(self._spans_of(Row({**fields, **cells}, row.line, row.text)))
        except RecordError as error:
            return [Reject(row.line, str(error), row.text)]

    def _spans_of(self, row: Row) -> Iterator[Row]:
        """Yield the spans of a row: one, an export in OTLP, or a page of Phoenix's interface."""
        fields, page = row.fields, row.fields.get(PAGE)
        exported = next((name for name in EXPORTS if name in fields), None)
        if exported is not None:
            self._empty = exported
            yield from otlp_spans(row)
        elif isinstance(fields.get("context"), dict):
            ids = {f"context.{name}": value for name, value in fields["context"].items()}
            yield Row({**fields, **ids}, row.line, row.text)
        elif _is_page(fields) and all(isinstance(each, dict) for each in page or []):
            self._begin_page(fields)
            for each in page or []:
                yield from self._spans_of(Row(each, row.line, row.text))
        else:
            yield row

    def _begin_page(self, fields: dict[str, Any]) -> None:
        self._empty, self.next_cursor = PAGE, fields.get(CURSOR)

    def _rows(self) -> Iterator[Row | Reject]:
        path = self.path
        is_object = kind(path) == ".json" and first_character(path) == "{"
        if is_object or (kind(path) in {".jsonl", ".ndjson"} and is_indented(path)):
            return self._nested()
        return rows(path, key="context.span_id", shape=SHAPE, may_have_index=True)

    def _nested(self) -> Iterator[Row | Reject]:
        """Yield the spans, exports or pages of a file: one object, or several ones in turn."""
        file = NestedJson(self.path, several=True)
        for root in file.roots:
            exported = next((name for name in EXPORTS if name in root.value), None)
            name = exported or PAGE
            listed = file.member(root, name)
            if listed is None or not isinstance(listed.value, list):
                yield Row(root.value, file.line(root.begin), file.shown(root))
                continue
            if exported is None:
                self._begin_page(root.value)
            self._empty = name
            for element in file.elements(listed):
                row = element_row(file, element, name)
                if isinstance(row, Row) and exported is not None:
                    row = Row({exported: [row.fields]}, row.line, row.text)
                yield row


def _is_page(fields: dict[str, Any]) -> bool:
    """Return whether fields are a page; an empty one has nothing but its cursor."""
    page = fields.get(PAGE)
    return isinstance(page, list) and (bool(page) or fields.keys() <= {PAGE, CURSOR})
