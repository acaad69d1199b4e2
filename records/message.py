"""Messages of a conversation, the tools that a system may call, and the calls."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping  # noqa: TC003 - pydantic evaluates the annotations
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    field_validator,
    model_validator,
)

from records import fields
from records.error_messages import found
from records.record import Amount, Id, Integer, Name, Record

Tokens = Annotated[Integer, Field(ge=0, le=2**53)]
"""A number of tokens."""


def seconds_since_1970(value: object) -> object:
    """Return a time as ISO 8601 writes it, with its zone, in seconds since 1970; else the value.

    Raises:
        ValueError: A text is not a time, or has no zone.
    """
    if not isinstance(value, str):
        return value
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise ValueError(
            f"expected a time with its zone, such as 2026-01-31T09:30:00Z, found {found(value)}"
        )
    return time.timestamp()


Time = Annotated[
    float,
    BeforeValidator(seconds_since_1970, json_schema_input_type=float | str),
    Field(allow_inf_nan=False),
]
"""A time in seconds since 1970; texts as in ISO 8601, with a zone, are read as it."""


_TEXT_PARTS: Final = frozenset({"text", "input_text", "output_text"})
"""The types of parts that are text, as different APIs name them."""


def _text_of_part(part: object) -> str | None:
    """Return the text of a part of a content; null if it is not text."""
    if isinstance(part, str):
        return part
    text = part.get("text") if isinstance(part, dict) else None
    is_text = isinstance(part, dict) and part.get("type") in _TEXT_PARTS
    return text if is_text and isinstance(text, str) else None


def _text_of_parts(value: object) -> object:
    """Return a content in parts as text: parts that are not text as `[image]` and the like."""
    if not isinstance(value, list):
        return value
    texts = []
    for part in value:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("type"), str):
            text = _text_of_part(part)
            texts.append(f"[{part['type'].removesuffix('_url')}]" if text is None else text)
        else:
            reason = f"expected text or parts with a type, found {found(part)}"
            raise ValueError(reason)  # noqa: TRY004 - pydantic reports it
    return "\n".join(texts)


Content = Annotated[str, BeforeValidator(_text_of_parts, json_schema_input_type=str | list[Any])]
"""The text of a message, or its parts."""


def empty_as_null(value: object) -> object:
    """Return null for an empty text, and other values unchanged."""
    return None if value == "" else value


def _arguments(value: object) -> object:
    if value is None or isinstance(value, (str, dict)):
        return value
    raise ValueError(f"expected an object, or its JSON as text, found {found(value)}")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is not a finite number")
    return value


def _parsed_arguments(value: object) -> object:
    """Return the object that a JSON text holds, and other values unchanged."""
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value, parse_constant=_finite, parse_float=_finite)
        # Half of a surrogate pair is not a character.
        json.dumps(parsed, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict):
        raise ValueError(  # noqa: TRY004 - pydantic reports it
            f"expected an object, or its JSON as text, found {found(value)}"
        )
    return parsed


class MessagePart(Record):
    """A record of a conversation, whose unknown members are kept.

    A null member is absent. What chat APIs have in a member `function` is taken out of it.
    """

    model_config = ConfigDict(extra="allow")

    other_names: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The field by what other APIs call it."""

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        members = {name: each for name, each in given.items() if each is not None}
        function = members.get("function")
        if isinstance(function, dict) and "function" not in cls.model_fields:
            del members["function"]
            if members.get("type") == "function":
                del members["type"]
            outer = {name: each for name, each in members.items() if each != ""}
            members = {name: each for name, each in function.items() if each is not None} | outer
        for other, name in cls.other_names.items():
            if other in members and name not in members:
                members[name] = members.pop(other)
        return members


_ARGUMENTS: Final = MappingProxyType({"args": "arguments", "input": "arguments"})


class ToolCall(MessagePart):
    """A call of a tool."""

    id: Id | None = fields.answer("The id of the call, to which its result refers.")
    name: Name = fields.answer("The tool.", ...)
    arguments: Annotated[
        Any, BeforeValidator(_arguments, json_schema_input_type=dict[str, Any] | str)
    ] = fields.answer(
        "The arguments: an object, or the JSON text that the model sent, kept as it was sent; "
        "`args` and `input` are read as it."
    )

    other_names = _ARGUMENTS

    _without_empty = field_validator("id", mode="before")(empty_as_null)


_ROLES: Final = {"developer": "system", "function": "tool"}
"""Roles that some APIs name differently."""


def _role(value: object) -> object:
    return _ROLES.get(value, value) if isinstance(value, str) else value


class Message(MessagePart):
    """A message of a conversation."""

    role: Annotated[Literal["system", "user", "assistant", "tool"], BeforeValidator(_role)] = (
        fields.answer("Who speaks; `developer` is read as `system`, and `function` as `tool`.", ...)
    )
    content: Content | None = fields.answer(
        "Its text. Parts of the types `text`, `input_text` and `output_text` are joined; others "
        "are kept as `[image]` and the like."
    )
    name: Name | None = fields.answer("The name of the speaker, or of the tool.")
    tool_calls: list[ToolCall] | None = fields.answer("The calls of tools that it asks for.")
    tool_call_id: Id | None = fields.answer("The call of which it is the result.")
    contexts: list[str] | None = fields.answer("The texts that were retrieved for it.")
    agent: Name | None = fields.answer("The agent that wrote it.")
    error: str | None = fields.measured("The error with which it failed.")
    latency_s: Amount | None = fields.measured("The time that it took in seconds.")
    tokens_in: Tokens | None = fields.measured("Its input tokens.")
    tokens_out: Tokens | None = fields.measured("Its output tokens.")
    cost_usd: Amount | None = fields.measured("Its cost in US dollars.")

    _is_text: bool = PrivateAttr(default=True)

    _without_empty = field_validator("tool_call_id", mode="before")(empty_as_null)

    @model_validator(mode="wrap")
    @classmethod
    def _mark_text(cls, given: Any, validate: ModelWrapValidatorHandler[Self]) -> Self:
        message = validate(given)
        content = given.get("content") if isinstance(given, dict) else None
        if isinstance(content, list):
            is_text = any((_text_of_part(part) or "").strip() for part in content)
            message._is_text = is_text  # noqa: SLF001 - its own
        return message

    @property
    def text(self) -> str | None:
        """The content if it is more than spaces and names of parts that are not text."""
        is_text = self.content is not None and self._is_text and self.content.strip()
        return self.content if is_text else None


class Tool(MessagePart):
    """A tool that a system may call."""

    name: Name = fields.given("Its name.", ...)
    description: str | None = fields.given("What it does.")
    parameters: dict[str, Any] | None = fields.given("Its parameters, as a JSON schema.")


class ExpectedCall(MessagePart):
    """A call of a tool that is expected."""

    name: Name = fields.gold("The tool.", ...)
    arguments: (
        Annotated[
            dict[str, Any],
            BeforeValidator(_parsed_arguments, json_schema_input_type=dict[str, Any] | str),
        ]
        | None
    ) = fields.gold(
        "The arguments, an object or its JSON as text. A value may be `{any_of: [...]}`, "
        "`{tolerance: x, value: y}` or `{ignore: true}`."
    )
    optional: bool = fields.gold("Whether it may be left out.", False)

    other_names = _ARGUMENTS


def last_answer(messages: list[Message] | None) -> str | None:
    """Return the text of the last message of the assistant that has one."""
    said = [each.text for each in messages or () if each.role == "assistant"]
    return next((text for text in reversed(said) if text is not None), None)


def _number(value: object) -> object:
    try:
        is_valid = isinstance(value, (bool, int, float)) and math.isfinite(value)
    except OverflowError:  # a whole number that is larger than any float
        is_valid = False
    if not is_valid:
        raise ValueError(f"expected a finite number, true or false, found {found(value)}")
    return value


Reported = Annotated[Any, BeforeValidator(_number)]
"""What another tool scored: a number, or true or false."""
