"""The protocol of the clients that ask systems: requests, answers and failures.

An answer that does not arrive (a time-out, a rate limit, a lost connection, a dead process) is a
`TransientFailure`: it is tried again in this run, and by the next one.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

from calls.errors import CallFailure, CallsError
from records.prediction import Prediction
from records.question import Question
from records.record import fields_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

GOLD_FIELDS: Final = frozenset(fields_of(Question, "gold"))
"""Fields of a question that say what is right. An answer does not depend on them: a corrected
expected answer does not ask again."""

USAGE_FIELDS: Final = ("tokens_in", "tokens_out")
"""What a system may return of its usage, which is stored with the call."""

ANSWER_FIELDS: Final = tuple(
    name for name in fields_of(Prediction, "answer", "measured") if name not in USAGE_FIELDS
)
"""The other fields of a prediction that a system may return."""

_REQUIRED_FIELDS: Final = fields_of(Prediction, "answer")
"""Those of which it returns at least one."""

MAX_TOKENS: Final = 10**12


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a system.

    Attributes:
        sent: What the client sends: a question, a rendered body, or messages.
        key: The part of it that determines the answer, as JSON values; it contains no secrets. Two
            requests of one system version with equal keys are the same call.
        calls: How many calls it takes: one for each order of the options, for example.
    """

    sent: Any
    key: Any
    calls: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a system returned to one request.

    Attributes:
        fields: Values by the names of `ANSWER_FIELDS`; only their names have been checked.
        tokens_in: The input tokens; None if unknown.
        tokens_out: The output tokens; None if unknown.
        first_token_s: Seconds until the first token, if it was streamed.
        served_by: What the provider says of the model that answered.
        seconds: How long the answer took, if the client measures it better than its caller.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: int | None = None
    tokens_out: int | None = None
    first_token_s: float | None = None
    served_by: str | None = None
    seconds: float | None = field(default=None, compare=False)


class ReturnedError(CallFailure):
    """The system answered with an error, which stays until its version changes."""

    billed = True


class WrongShape(CallFailure):
    """The answer is not what an answer may be; the message says what came and what was expected.

    The first answer of a system ends the run with it; later ones become failed answers.
    """

    billed = True


class SystemRefused(CallsError):  # noqa: N818 - a reason that ends the run
    """Every request would fail: a wrong key, a function or a program that does not exist.

    Attributes:
        billed: Whether a part of the refused request may be billed.
    """

    billed = False


class SystemClient(Protocol):
    """Asks one system; used on one event loop. Making one starts and contacts nothing."""

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the request for a question, given by the names of canonical fields.

        Raises:
            SystemRefused: The templates of the system cannot be rendered.
        """

    def most_usd(self, request: Request) -> float | None:
        """Return the highest possible cost of a request in US dollars; None if unknown."""

    def missing_key(self) -> str | None:
        """Return which environment variable is not set; None if none is missing."""

    async def open(self) -> None:
        """Start what is needed.

        Raises:
            SystemRefused: The system cannot be called.
        """

    async def ask(self, request: Request, repeat: int) -> Answer:
        """Send a request once, and wait at most `timeout_s` for the answer.

        What has to start first has a limit of its own.

        Args:
            request: The request.
            repeat: The number of the answer to the same question, from 0.

        Raises:
            TimeoutError: The limit has passed.
            CallFailure: There is no answer.
            SystemRefused: No request will get one.
        """

    async def close(self) -> None:
        """Close connections and end processes; no other call follows."""


async def timed(call: Awaitable[Answer], timeout_s: float, started: float | None = None) -> Answer:
    """Await an answer, and measure how long it takes.

    A process that has to be started first, or that is busy, is not latency of the system.

    Args:
        call: The call.
        timeout_s: How long it may take, in seconds.
        started: When it began by the monotonic clock, if that was earlier.

    Raises:
        TimeoutError: The limit has passed.
    """
    started = time.monotonic() if started is None else started
    async with asyncio.timeout(timeout_s):
        answer = await call
    return replace(answer, seconds=time.monotonic() - started)


def as_answer(returned: object) -> Answer:
    """Convert what a system returned: a text, or an object with fields of a prediction.

    Raises:
        WrongShape: It is neither, or has an unknown field.
        ReturnedError: It has an `error`.
    """
    from records.similar_names import did_you_mean

    if isinstance(returned, str):
        return Answer(fields={"answer": returned})
    if not isinstance(returned, dict):
        raise WrongShape(
            "expected a text or an object with fields of a prediction, found "
            f"{type(returned).__name__}: {_short(returned)}"
        )
    known = (*ANSWER_FIELDS, *USAGE_FIELDS, "question_id", "system")
    for name in returned:
        if name not in known:
            raise WrongShape(
                f"unknown field {str(name)!r}{did_you_mean(str(name), known)}: expected some of "
                f"{', '.join((*ANSWER_FIELDS, *USAGE_FIELDS))}; others go under `extra`"
            )
    if has_error(returned.get("error")):
        raise ReturnedError(_one_line(str(returned["error"])))
    if all(returned.get(name) is None for name in _REQUIRED_FIELDS):
        raise WrongShape(
            f"expected at least one of {', '.join(_REQUIRED_FIELDS)}, found {_short(returned)}"
        )
    usage = {name: whole_number(returned.get(name)) for name in USAGE_FIELDS}
    for name, count in usage.items():
        if count is not None and (isinstance(count, bool) or not isinstance(count, int)):
            raise WrongShape(f"{name}: expected a whole number, found {_short(count)}")
        if count is not None and not 0 <= count <= MAX_TOKENS:
            raise WrongShape(f"{name}: expected 0 to {MAX_TOKENS:,}, found {_short(count)}")
    fields = {
        name: returned[name]
        for name in ANSWER_FIELDS
        if name != "error" and returned.get(name) is not None
    }
    return Answer(fields=fields, **usage)


def has_error(value: object) -> bool:
    """Return whether a field `error` says that the system failed; an empty value does not."""
    return bool(value.strip() if isinstance(value, str) else value)


def whole_number(value: Any) -> Any:
    """Return 4 for 4.0, which JSON Schema calls an integer, and other values unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_SHOWN = 200


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_SHOWN]
