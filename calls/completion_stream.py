"""Streamed completions: their chunks, joined to one response."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from calls.errors import TransientFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


_FINISH = re.compile(rb'(?<!\\)"(?:finish_reason|stop_reason|finishReason)"\s*:\s*"')
_USAGE = re.compile(rb'(?<!\\)"(?:usage|usageMetadata)"\s*:\s*\{')
_MODEL = re.compile(rb'(?<!\\)"(?:model|modelVersion)"\s*:\s*"([^"\\]{1,200})"')
"""What OpenAI, Anthropic and Google, and those who follow them, call these fields."""


async def join_chunks(stream: Any, events: bytearray | None) -> tuple[Any, float | None]:
    """Return a response of the form of one that was not streamed, and when its first text came.

    LiteLLM ends each stream with `stop`, also one that broke off, estimates token counts that are
    not reported, and repeats the name of the model that was asked for: so these are looked up.

    Args:
        stream: LiteLLM's stream.
        events: The provider's events, complete when the stream has ended; None if it sent none.

    Returns:
        The response, and the time of the first text by the monotonic clock; None without a text.

    Raises:
        TransientFailure: The stream ended before the completion.
    """
    try:
        joined, first = await _join(stream)
    finally:
        await stream.aclose()
    if events is not None:
        if not _FINISH.search(events):
            raise TransientFailure("transport: the stream ended early", billed=True)
        if not _USAGE.search(events):
            joined.usage = None
        model = _MODEL.search(events)
        joined.model = None if model is None else model[1].decode("utf-8", "replace")
    return joined, first


async def _join(stream: AsyncIterator[Any]) -> tuple[Any, float | None]:
    joined = SimpleNamespace(choices=[], usage=None, model=None, system_fingerprint=None)
    texts: list[str] = []
    refusals: list[str] = []
    positions: list[Any] = []
    finish = first = None
    async for chunk in stream:
        joined.model = getattr(chunk, "model", None) or joined.model
        fingerprint = getattr(chunk, "system_fingerprint", None)
        joined.system_fingerprint = fingerprint or joined.system_fingerprint
        joined.usage = getattr(chunk, "usage", None) or joined.usage
        for choice in chunk.choices[:1]:
            refusal = getattr(choice.delta, "refusal", None)
            for pieces, piece in ((texts, choice.delta.content), (refusals, refusal)):
                if piece:
                    pieces.append(piece)
                    first = time.monotonic() if first is None else first
            positions += getattr(getattr(choice, "logprobs", None), "content", None) or ()
            finish = choice.finish_reason or finish
    message = SimpleNamespace(
        content="".join(texts) if texts else None,
        provider_specific_fields={"refusal": "".join(refusals) or None},
    )
    logprobs = SimpleNamespace(content=positions)
    joined.choices = [SimpleNamespace(message=message, finish_reason=finish, logprobs=logprobs)]
    return joined, first
