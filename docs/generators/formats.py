"""Generate parts of the page of input formats: all formats, and the canonical fields."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docs.generators.fields import cell, describe_fields
from records.document import Document
from records.message import Message, ToolCall
from records.prediction import Prediction, Retrieved
from records.question import Question
from warehouse.formats.catalog import formats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from records.record import Record
    from warehouse.formats.format import Format

_PART = re.compile(r"(<!-- (\w+): written by .*? -->\n).*?(<!-- end -->)", re.DOTALL)
_QUESTIONS = {"files": "yes", "predictions": "no: in the prediction files", "both": "yes"}
_UNKNOWN = {
    "reject": "rejected",
    "note": "counted and reported, not scored",
    "match by text": "matched by question text, else rejected",
}
_MISSING = {"failed": "a failed answer", "nothing retrieved": "an answer that retrieved nothing"}


COLUMNS = (
    *("format", "files", "question files", "document files"),
    *("prediction for an unknown question", "question without a prediction"),
)


def generated_parts() -> dict[str, str]:
    """Return the generated parts by name."""
    return {
        "formats": _table(
            COLUMNS,
            [_format(each) for each in formats().values()],
        ),
        "questions": _fields(Question),
        "predictions": _fields(Prediction),
        "retrieved": _fields(Retrieved),
        "messages": _fields(Message),
        "calls": _fields(ToolCall),
        "documents": _fields(Document),
    }


def update_page(text: str) -> str:
    """Return a page with its generated parts up to date.

    Args:
        text: The page; a part is between `<!-- NAME: written by ... -->` and `<!-- end -->`.

    Raises:
        LookupError: A part is missing or unknown.
    """
    made = generated_parts()
    found = {name for _, name, _ in _PART.findall(text)}
    if found != set(made):
        raise LookupError(f"expected the parts {sorted(made)}, found {sorted(found)}")
    return _PART.sub(lambda part: f"{part[1]}\n{made[part[2]]}\n{part[3]}", text)


def _format(one: Format) -> list[str]:
    return [
        f"[`{one.name}`](#{one.name})",
        one.summary,
        _QUESTIONS[one.questions_from],
        "no" if one.documents is None or one.questions_from == "predictions" else "optional",
        _UNKNOWN[one.unknown_questions],
        _MISSING[one.missing_predictions],
    ]


def _fields(record: type[Record]) -> str:
    rows = [
        [f"`{each.name}`", each.kind + (", required" if each.required else ""), each.meaning]
        for each in describe_fields(record)
    ]
    return _table(("field", "type", "meaning"), rows)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(map(cell, line))} |\n" for line in lines)
