"""Capabilities of a model, learned from one small request and from rejected requests."""

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
    WrongAddress,
)
from evaluators.engines.judge.litellm_call import CallOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from evaluators.engines.completion import Completion
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
_MAX_TOKENS = 64
_TRIES = 2


class CapabilityProbe:
    """Learns which options a model supports, at the start and for each schema.

    LiteLLM's table of capabilities lacks most models, so this class tries them.

    Attributes:
        call_options: The options that the model supports, as far as is known.
        probe_failure: Why the probe failed, if the run may continue all the same.
        served_by: The provider's model name and fingerprint.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self.call_options = CallOptions("text" if settings.structured_output == "off" else "schema")
        self.probe_failure: str | None = None
        self.served_by = ""
        self._by_schema: dict[str, CallOptions] = {}

    async def open(self, once: Callable[..., Awaitable[Completion]]) -> None:
        """Send the probe.

        Args:
            once: Sends messages once.

        Raises:
            JudgeRefused: The key, the model or the address is wrong, or every request is rejected.
            JudgeUnreachable: No server answers, or it does not speak the protocol.
        """

        async def attempt(options: CallOptions) -> Completion:
            return await once(
                _MESSAGES, _SCHEMA, options, CallUsage(), _MAX_TOKENS, self._settings.seed
            )

        where = self._settings.where
        for left in reversed(range(_TRIES)):
            try:
                completion = await self.call_with_supported_options(None, attempt)
            except UnsupportedRequest as failure:
                raise JudgeRefused(f"the judge {where} rejects every request: {failure}") from None
            except WrongAddress as failure:
                raise JudgeUnreachable(f"the judge {where} cannot be called: {failure}") from None
            except TransientFailure as failure:
                if failure.unreachable or (failure.garbled and not left):
                    reason = f"the judge {where} does not answer: {failure}"
                    raise JudgeUnreachable(reason) from None
                if not left:
                    # The server is busy or slow but reachable: each call has its own retries.
                    self._record_probe_failure(failure)
            except CallFailure as failure:
                self._record_probe_failure(failure)
                return
            else:
                self.served_by = completion.served_by
                return

    def _record_probe_failure(self, failure: CallFailure) -> None:
        self.probe_failure = f"the judge {self._settings.where} did not answer the probe: {failure}"
        _LOG.warning("%s", self.probe_failure)

    async def call_with_supported_options(
        self, schema: Mapping[str, Any] | None, attempt: Callable[[CallOptions], Awaitable[T]]
    ) -> T:
        """Make a call with the options that the model supports.

        Args:
            schema: The schema of the reply; None if the options hold for all schemas.
            attempt: Makes the call; raises `UnsupportedRequest` if the model rejects the options.
        """
        key = "" if schema is None else json.dumps(schema, sort_keys=True)
        options = self._by_schema.get(key, self.call_options)
        while True:
            try:
                result = await attempt(options)
            except UnsupportedRequest as failure:
                other = _drop_rejected(options, str(failure).lower())
                if other is None:
                    raise
                options = other
            else:
                self._learn(key, options)
                return result

    def _learn(self, key: str, options: CallOptions) -> None:
        """Remember options that worked; a rejection alone may be due to the messages."""
        if options == self._by_schema.get(key, self.call_options):
            return
        if not key:
            self.call_options = options
        self._by_schema[key] = options
        _LOG.warning("calls to the judge %s now use %s", self._settings.where, options)


def _drop_rejected(options: CallOptions, complaint: str) -> CallOptions | None:
    """Return the options without the rejected one, or None if there is nothing left to drop."""
    if options.sampling and ("temperature" in complaint or "top_p" in complaint):
        return replace(options, sampling=False)
    if options.seeded and "seed" in complaint:
        return replace(options, seeded=False)
    looser = options.looser()
    if looser is not None:
        return looser
    if options.seeded:
        return replace(options, seeded=False)
    return replace(options, sampling=False) if options.sampling else None
