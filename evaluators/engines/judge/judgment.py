"""Judgments: how the text of a judge becomes one, and how it becomes the reply of a flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from calls.call import CallStatus
from calls.usage import MAX_REASON
from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.outcome import JudgeError, ParseFailure, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from calls.call import Call, Outcome, StoredReply
    from calls.usage import CallUsage
    from evaluators.flows.reply import Reply
    from evaluators.flows.requests import Ask

    Parser: TypeAlias = Callable[[str], Reply | InvalidReply]

TRUNCATED = "truncated"
REFUSAL = "refusal"
FILTERED = "content_filter"
EMPTY = "empty"

_NOT_PARSED = (TRUNCATED, REFUSAL, FILTERED, EMPTY)
"""Prefixes of errors that do not depend on the reply's text, so parsing it again cannot help."""


def parse_judgment(
    usage: CallUsage, call: Call, text: str, parser: Parser, error: str | None = None
) -> Outcome:
    """Parse a reply that cannot be repaired, and make its judgment.

    Args:
        usage: The usage of the call.
        call: The judge call.
        text: The reply.
        parser: Parses the reply.
        error: The error that the judge's own judgment had, if any.
    """
    if error is not None and error.startswith(_NOT_PARSED):
        return usage.outcome(call, CallStatus.PARSE_FAILURE, text, error)
    result = parser(text)
    if isinstance(result, InvalidReply):
        return usage.outcome(call, CallStatus.PARSE_FAILURE, text, result.reason)
    return usage.outcome(call, CallStatus.SCORED, text)


def to_reply(stored: StoredReply | Outcome, request: Ask[Any]) -> Reply | Unscored:
    """Convert a judgment to the reply, or the reason, that the flow receives.

    The text is parsed again where possible, so a changed parser needs no new judge call.
    """
    error = stored.error or ""
    if stored.status == CallStatus.JUDGE_ERROR:
        return JudgeError(error)
    if stored.reply is None or error.startswith(_NOT_PARSED):
        return ParseFailure(error)
    result = parse_reply(stored.reply, request)
    return ParseFailure(result.reason[:MAX_REASON]) if isinstance(result, InvalidReply) else result


def complete(future: Future[Any], result: Reply | Unscored) -> None:
    """Set a reply as the result of a future, or a reason as its exception."""
    if isinstance(result, Unscored):
        future.set_exception(result)
    else:
        future.set_result(result)
