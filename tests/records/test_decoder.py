"""The decoder accepts only rows that validation accepts, and finds out which members they have."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, Field, model_validator

from records import fields
from records.decoder import MAX_OTHERS, Decoder, NotDecoded
from records.record import Id, Integer, Name, Record, Share


class Step(Record):
    """A step whose types are all of its rules."""

    tool: Name = fields.answer("The tool.", ...)
    hits: Annotated[Integer, Field(ge=0)] | None = fields.answer("What it found.")


class Checked(Record):
    """A record with a rule of its own."""

    tool: str | None = fields.answer("The tool.")

    @model_validator(mode="after")
    def _refuse(self) -> Any:
        raise ValueError("never valid")


class Row(Record):
    """A row with fields of all kinds."""

    key: Id = fields.identity("Its key.", ...)
    over: Annotated[float, Field(gt=0, lt=1)] | None = fields.answer("Between 0 and 1.")
    some: Annotated[list[str], Field(min_length=1)] | None = fields.answer("One or more.")
    few: Annotated[list[str], Field(max_length=1)] | None = fields.answer("One or none.")
    upper: Annotated[str, AfterValidator(str.upper)] | None = fields.answer("In capitals.")
    code: Annotated[str, Field(pattern="^[a-z]$")] | None = fields.answer("A letter.")
    kind: Literal["a", "b"] | None = fields.answer("Its kind.")
    shares: dict[Id, Share | None] | None = fields.answer("Shares.", stored="MAP(VARCHAR, DOUBLE)")
    either: str | list[str] | None = fields.answer("A text or several.", stored="VARCHAR[]")
    steps: list[Step] | None = fields.answer("Its steps.")
    plans: list[Step] | None = fields.answer("Those it planned.", stored="JSON")
    checked: list[Checked] | None = fields.answer("Steps with a rule.")
    anything: Any = fields.answer("Anything.")


def decoded(*rows: dict[str, Any], **options: Any) -> Decoder:
    decoder = Decoder(Row, **options)
    lines = "\n".join(json.dumps({"key": "k", **row}) for row in rows)
    assert len(list(decoder.rows(lines.encode()))) == len(rows)
    return decoder


@pytest.mark.parametrize(
    "row",
    [
        {"key": 7},
        {"over": 0.5},
        {"some": ["a"]},
        {"kind": "b"},
        {"shares": {"a": 1, "b": None}},
        {"steps": [{"tool": 7}, {"tool": "a", "hits": 3}]},
        {"steps": []},
        {"few": None, "upper": None, "code": None, "plans": None, "anything": None},
    ],
)
def test_decodes_what_validation_leaves_as_it_is(row: dict[str, Any]) -> None:
    decoder = decoded(row)
    assert decoder.row.known == {"key", *row}
    assert decoder.row.others == {}
    Row.read({"key": "k", **row})


@pytest.mark.parametrize(
    "row",
    [
        {"key": ""},
        {"key": None},
        {"key": "a\n"},
        {"key": "\x85"},
        {"over": 0},
        {"over": 1},
        {"some": []},
        {"some": [None]},
        {"kind": "c"},
        {"shares": {"": 1}},
        {"shares": {"a\n": 1}},
        {"shares": {"a": 2}},
        {"steps": [{"hits": 1}]},
        {"steps": [{"tool": "a", "hits": -1}]},
        {"steps": [{"tool": "a", "other": 1}]},
        {"steps": [None]},
    ],
)
def test_refuses_what_is_not_valid_or_not_declared(row: dict[str, Any]) -> None:
    with pytest.raises(NotDecoded):
        decoded(row)


@pytest.mark.parametrize(
    "row",
    [
        {"few": ["a"]},
        {"upper": "A"},
        {"code": "a"},
        {"plans": [{"tool": "a"}]},
        {"checked": [{"tool": "a"}]},
        {"checked": [{}]},
        {"anything": 1},
    ],
)
def test_leaves_to_validation_what_types_do_not_say(row: dict[str, Any]) -> None:
    with pytest.raises(NotDecoded):
        decoded(row)


def test_an_annotation_of_the_caller_replaces_that_of_the_record() -> None:
    decoded({"upper": "A"}, annotations={"upper": str})


def test_learns_members_in_the_order_of_rows() -> None:
    decoder = decoded({}, {"b": 1}, {"a": {"x": 1}, "kind": "a"}, {"b": [1]}, {"b": None})
    assert decoder.row.known == {"key", "kind"}
    assert decoder.row.others == {"b": True, "a": True}


def test_yields_nested_values_with_their_depth() -> None:
    decoder = Decoder(Row, items={"steps": Step})
    text = b'{"key": 1, "a": [1], "b": 2, "steps": [{"tool": "t"}, {"tool": "t", "c": {"d": 1}}]}'
    (row,) = decoder.rows(text)
    assert list(decoder.nested_values(row)) == [(b"[1]", 1), (b'{"d": 1}', 3)]


def test_a_member_that_may_stand_for_a_field_needs_it() -> None:
    instead = {"type": ("kind", "some")}
    decoded({"type": "x", "kind": "a"}, {"kind": "b"}, instead=instead)
    decoded({"type": "x", "some": ["a"]}, instead=instead)
    for rows in ([{"type": "x"}], [{"type": "x", "kind": None}], [{"kind": "a"}, {"type": "x"}]):
        with pytest.raises(NotDecoded):
            decoded(*rows, instead=instead)


def test_many_unknown_members_are_refused() -> None:
    decoded({f"x{n}": n for n in range(MAX_OTHERS)})
    with pytest.raises(NotDecoded, match="too many"):
        decoded({f"x{n}": n for n in range(MAX_OTHERS + 1)})
