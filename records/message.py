"""Messages of a conversation, the tools that a system may call, and the calls."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

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


Time = Annotated[float, BeforeValidator(seconds_since_1970), Field(allow_inf_nan=False)]
"""A time in seconds since 1970; texts as in ISO 8601, with a zone, are read as it."""


def _text_of_parts(value: object) -> object:
    """Return a content in parts as text: parts that are not text as `[image]` and the like."""
    if not isinstance(value, list):
        return value
    texts = []
    for part in value:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("type"), str):
            is_text = part["type"] == "text" and isinstance(part.get("text"), str)
            texts.append(part["text"] if is_text else f"[{part['type'].removesuffix('_url')}]")
        else:
            reason = f"expected text or parts with a type, found {found(part)}"
            raise ValueError(reason)  # noqa: TRY004 - pydantic reports it
    return "\n".join(texts)


Content = Annotated[str, BeforeValidator(_text_of_parts, json_schema_input_type=str | list[Any])]
"""The text of a message, or its parts."""


def _arguments(value: object) -> object:
    if value is None or isinstance(value, (str, dict)):
        return value
    raise ValueError(f"expected an object, or its JSON as text, found {found(value)}")


class ToolCall(Record):
    """A call of a tool."""

    id: Id | None = fields.answer("The id of the call, to which its result refers.")
    name: Name = fields.answer("The tool.", ...)
    arguments: Annotated[Any, BeforeValidator(_arguments)] = fields.answer(
        "The arguments: an object, or the JSON text that the model sent, kept as it was sent."
    )

    @model_validator(mode="before")
    @classmethod
    def _flat(cls, given: Any) -> Any:
        """Take name and arguments out of `function`, where chat APIs have them."""
        if isinstance(given, dict) and isinstance(given.get("function"), dict):
            return given["function"] | {name: each for name, each in given.items() if each}
        return given


class Message(Record):
    """A message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"] = fields.answer("Who speaks.", ...)
    content: Content | None = fields.answer(
        "Its text. Parts of type `text` are joined; others are kept as `[image]` and the like."
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


class Tool(Record):
    """A tool that a system may call."""

    name: Name = fields.given("Its name.", ...)
    description: str | None = fields.given("What it does.")
    parameters: dict[str, Any] | None = fields.given("Its parameters, as a JSON schema.")


class ExpectedCall(Record):
    """A call of a tool that is expected."""

    name: Name = fields.gold("The tool.", ...)
    arguments: dict[str, Any] | None = fields.gold(
        "The arguments. A value may be `{any_of: [...]}`, `{tolerance: x, value: y}` or "
        "`{ignore: true}`."
    )
    optional: bool = fields.gold("Whether it may be left out.", False)


def last_answer(messages: list[Message] | None) -> str | None:
    """Return the text of the last message of the assistant that has one."""
    said = [each.content for each in messages or () if each.role == "assistant"]
    return next((text for text in reversed(said) if text), None)


def _number(value: object) -> object:
    is_valid = isinstance(value, (bool, int, float)) and math.isfinite(value)
    if not is_valid:
        raise ValueError(f"expected a finite number, true or false, found {found(value)}")
    return value


Reported = Annotated[Any, BeforeValidator(_number)]
"""What another tool scored: a number, or true or false."""
