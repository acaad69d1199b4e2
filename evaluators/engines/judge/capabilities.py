"""What a model accepts, learned from one small request and from its refusals."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from evaluators.engines.judge.asker import CallUsage
from evaluators.engines.judge.errors import (
    CallFailure,
    JudgeRefused,
    JudgeUnreachable,
    TransientFailure,
    UnsupportedRequest,
)
from evaluators.engines.judge.litellm_call import CallOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from evaluators.engines.judge.litellm_call import Completion
    from evaluators.engines.judge.settings import JudgeSettings

_LOG = logging.getLogger(__name__)

T = TypeVar("T")

_MESSAGES = [
    {
        "role": "user",
        "content": 'Reply with this JSON object and with nothing else: {"ready": true}',
    }
]
_SCHEMA = {
    "type": "object",
    "properties": {"ready": {"type": "boolean"}},
    "required": ["ready"],
    "additionalProperties": False,
}
_ROOM = 64
_TRIES = 2


class CapabilityProbe:
    """What a model takes: learned from its refusals, at start and for each schema.

    LiteLLM's list of what models can do lacks most of them, so that it is tried out instead.

    Attributes:
        manner: How the model is asked, as far as is known.
        silence: Why the probe got no answer, where that does not keep a run from asking.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self.manner = CallOptions("text" if settings.structured_output == "off" else "schema")
        self.silence: str | None = None
        self.served_by = ""
        self._of_schema: dict[str, CallOptions] = {}

    async def open(self, once: Callable[..., Awaitable[Completion]]) -> None:
        """Send the probe.

        Args:
            once: Sends messages once.

        Raises:
            JudgeRefused: Key, model or address is wrong, or it takes no request of ours.
            JudgeUnreachable: Nobody answers, or nobody who speaks the protocol.
        """

        async def attempt(manner: CallOptions) -> Completion:
            return await once(_MESSAGES, _SCHEMA, manner, CallUsage(), _ROOM, self._settings.seed)

        where = self._settings.where
        for left in reversed(range(_TRIES)):
            try:
                said = await self.agree(None, attempt)
            except UnsupportedRequest as failure:
                raise JudgeRefused(f"the judge {where} takes no request: {failure}") from None
            except TransientFailure as failure:
                if failure.unreachable or (failure.garbled and not left):
                    told = f"the judge {where} does not answer: {failure}"
                    raise JudgeUnreachable(told) from None
                if not left:
                    # Busy or slow, but there: whatever is asked has its own attempts.
                    self._stay_silent(failure)
            except CallFailure as failure:
                self._stay_silent(failure)
                return
            else:
                self.served_by = said.served_by
                return

    def _stay_silent(self, failure: CallFailure) -> None:
        self.silence = f"the judge {self._settings.where} did not answer the probe: {failure}"
        _LOG.warning("%s", self.silence)

    async def agree(
        self, schema: Mapping[str, Any] | None, attempt: Callable[[CallOptions], Awaitable[T]]
    ) -> T:
        """Do something in the manner that the model takes.

        Args:
            schema: The reply's; None when what is learned holds for all.
            attempt: What is done; raises `Unfit` when the model does not take the manner.
        """
        key = "" if schema is None else json.dumps(schema, sort_keys=True)
        manner = self._of_schema.get(key, self.manner)
        while True:
            try:
                done = await attempt(manner)
            except UnsupportedRequest as failure:
                other = _drop_rejected(manner, str(failure).lower())
                if other is None:
                    raise
                manner = other
            else:
                self._learn(key, manner)
                return done

    def _learn(self, key: str, manner: CallOptions) -> None:
        """Remember what worked, and only that: a refusal may have been the messages' fault."""
        if manner == self._of_schema.get(key, self.manner):
            return
        if not key:
            self.manner = manner
        self._of_schema[key] = manner
        _LOG.warning("the judge %s is asked in the manner %s", self._settings.where, manner)


def _drop_rejected(manner: CallOptions, complaint: str) -> CallOptions | None:
    """The manner without what a model complains of; None when there is nothing left to drop."""
    if manner.sampling and ("temperature" in complaint or "top_p" in complaint):
        return replace(manner, sampling=False)
    if manner.seeded and "seed" in complaint:
        return replace(manner, seeded=False)
    looser = manner.looser()
    if looser is not None:
        return looser
    if manner.seeded:
        return replace(manner, seeded=False)
    return replace(manner, sampling=False) if manner.sampling else None
