"""Lists in cells and fields of text: as JSON or Python writes them, or with separators."""

from __future__ import annotations

import ast
import io
import json
import tokenize
from itertools import islice, pairwise
from typing import Any, Final, Literal, TypeAlias

from records.error_messages import SHOWN, RecordError
from records.prediction import Prediction, Retrieved
from records.question import Question
from records.record import Id
from warehouse.formats.readers.strict_json import TOO_DEEP, NotJsonError, decode, is_list

MAX_TOKENS: Final = 100_000
"""The number of tokens that a Python literal may have; parsing takes a kilobyte for each."""

SEPARATORS: Final = {";": "a semicolon", ",": "a comma", "|": "a vertical bar"}
"""What may separate the items of a list in a text, unless they are on lines of their own."""

_IN_NAMES: Final = ";,"
"""The separators that names with spaces may contain."""

_NOT_PYTHON: Final = (
    *(ValueError, TypeError, SyntaxError, MemoryError, RecursionError),
    *(NotJsonError, tokenize.TokenError),
)

Items: TypeAlias = Literal["ids", "texts", "numbers"]

_IDS: Final = ("doc_id", "chunk_id")
PARTS: Final[dict[str, Items]] = {
    f"retrieved.{name}": "ids" if name in _IDS else "texts" if name == "text" else "numbers"
    for name in Retrieved.model_fields
}
"""The members of what was retrieved as fields of their own, each a list, with their items."""

LISTS: Final[dict[str, Items]] = {
    **PARTS,
    "retrieved": "ids",
    "contexts": "texts",
    **{
        name: "ids"
        for record in (Question, Prediction)
        for name, annotation in record.annotations().items()
        if annotation == list[Id]
    },
}
"""The fields that are lists of ids, texts or numbers."""


def parse(text: str, place: str, wanted: str = "JSON") -> Any:
    """Return the value that a text writes as JSON, or the list or object that it writes as Python.

    Args:
        text: The text.
        place: The column, for messages.
        wanted: What is expected, for messages.

    Raises:
        RecordError: It is neither; or a list as NumPy prints it, without commas.
    """
    try:
        return decode(text)
    except NotJsonError as error:
        fault = error
    wrong = RecordError([f"{place}: expected {wanted}, found {text[:SHOWN]!r} ({fault})"])
    if text.lstrip()[:1] not in {"[", "{", "("} or str(fault) == TOO_DEEP:
        raise wrong
    try:
        tokens = list(islice(tokenize.generate_tokens(io.StringIO(text).readline), MAX_TOKENS))
        if len(tokens) == MAX_TOKENS:
            raise RecordError([f"{place}: expected at most {MAX_TOKENS // 2:,} texts in the list"])
        # NumPy prints lists without commas, which Python would read as one long text.
        if _lacks_commas(tokens):
            said = "expected commas between the elements of the list; NumPy writes none"
            raise RecordError([f"{place}: {said}"])
        value = ast.literal_eval(text.strip())
        # What Python writes but JSON cannot hold, such as bytes, is refused as JSON itself is.
        value = decode(json.dumps(value, allow_nan=False))
    except _NOT_PYTHON:
        raise wrong from None
    if not isinstance(value, list | dict):
        raise wrong
    return value


def _lacks_commas(tokens: list[tokenize.TokenInfo]) -> bool:
    """Return whether a text follows a text, or an object an object."""
    given = [each for each in tokens if each.type not in {tokenize.NL, tokenize.NEWLINE}]
    return any(
        (first.type, second.type) == (tokenize.STRING, tokenize.STRING)
        or (first.string, second.string) == ("}", "{")
        for first, second in pairwise(given)
    )


def items(value: object, kind: Items, place: str, separator: str | None = None) -> object:
    """Return the items of a list that a text writes, and values that are lists as they are.

    A text may be a list as JSON or Python writes it. Otherwise ids and numbers are on lines of
    their own or separated by the only one of `SEPARATORS` that occurs, not by spaces, which names
    of files contain: next to spaces, `;` and `,` may belong to a name, too. A text is one item.

    Args:
        value: The value of a field.
        kind: What the items are.
        place: The column, for messages.
        separator: What separates the items instead.

    Raises:
        RecordError: It is not clear what separates the items, or one of them is not a number.
    """
    if value is None or isinstance(value, list | dict):
        return value
    if not isinstance(value, str):
        return [value]
    text = value.strip()
    if is_list(text) or (kind != "texts" and text[:1] == "["):
        return parse(text, place, "a list as JSON or Python writes it")
    if separator is None and kind == "texts":
        return [value] if text else []
    parts = [part.strip() for part in _split(text, place, separator)]
    given = [part for part in parts if part]
    return [_number(part, place) for part in given] if kind == "numbers" else given


def _split(text: str, place: str, separator: str | None) -> list[str]:
    if separator is not None:
        return text.split(separator)
    if "\n" in text:
        return text.splitlines()
    possible = [each for each in SEPARATORS if each in text]
    if len(possible) > 1:
        named = " and ".join(SEPARATORS[each] for each in possible)
        message = f"{place}: cannot tell what separates the items of {text[:SHOWN]!r}, which has "
        message += f"{named}: name the `separator` in `columns`"
        raise RecordError([message])
    if not possible:
        return [text]
    parts = text.split(possible[0])
    given = [part.strip() for part in parts if part.strip()]
    if possible[0] in _IN_NAMES and len(given) > 1 and any(len(part.split()) > 1 for part in given):
        named = SEPARATORS[possible[0]]
        message = (
            f"{place}: cannot tell whether {named} separates the items of {text[:SHOWN]!r} or "
        )
        message += (
            "belongs to a name, since there are other spaces: name the `separator` in `columns`"
        )
        raise RecordError([message])
    return parts


def _number(text: str, place: str) -> float:
    try:
        return float(decode(text))
    except (NotJsonError, TypeError, ValueError):
        raise RecordError([f"{place}: expected a number, found {text[:SHOWN]!r}"]) from None
