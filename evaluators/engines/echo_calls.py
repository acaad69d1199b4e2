"""Echo calls: a text is sent to a model that returns it with the log-probabilities of its tokens.

They are a kind of paid call: claimed, sent within limits, retried, settled and stored like others.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from calls.budget import Claim, Granted
from calls.call import Call, CallStatus
from calls.claims import ClaimedCalls
from calls.errors import CallFailure, ModelRefused
from calls.http.loop_thread import LoopThread
from calls.litellm_model import CalledModel, reported_usage
from calls.prices import Prices, count_tokens
from calls.rate_limit import CallLimits
from calls.sender import CallKind, Sender
from calls.usage import Bill, CallUsage
from evaluators.engines.echo_logprobs import Echo
from evaluators.outcome import JudgeError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from calls.call import Ledger, Outcome, StoredReply

PREFIX: Final = "litellm:"
"""The prefix of the names of remote models, in the configuration and in `judgments.model`."""

_OPTIONS: Final = {"echo": True, "logprobs": 1, "max_tokens": 1, "temperature": 0}
_COUNT_MARGIN: Final = 1.25
"""Texts may have a quarter more tokens than counted."""
_ATTEMPTS: Final = 3
_FIRST_PAUSE_S: Final = 1.0
_MOST_PAUSE_S: Final = 30.0
_TIMEOUT_S: Final = 120.0
_MOST_MB: Final = 100.0
"""The largest size of an answer, which repeats each token with three numbers, in megabytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server of text completions.

    Attributes:
        model: The model's name in LiteLLM.
        api_base: The server's address; None for the provider's default.
        api_key: The key; it appears in no message.
        concurrency: The most requests in flight.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    concurrency: int = 8

    @property
    def identity(self) -> str:
        """The model and its address; a server does not report its revision."""
        return f"{PREFIX}{self.model}@{self.api_base or 'provider'}"


class EchoKind(CallKind[str, Any]):
    """The requests to one endpoint: each is a text."""

    refusals = (ModelRefused,)

    def __init__(self, endpoint: Endpoint) -> None:
        self._model = CalledModel(
            name=endpoint.model,
            api_base=endpoint.api_base,
            secret=endpoint.api_key,
            timeout_s=_TIMEOUT_S,
            max_reply_mb=_MOST_MB,
            section="models",
            title=f"{PREFIX}{endpoint.model}",
        )
        self._prices = Prices.listed(endpoint.model)

    def claim(self, request: str) -> Claim:
        """Return the cost of a text and one further token; 0 if no price is known."""
        if not self._prices.known:
            return Claim(tokens_usd=0.0, least=0.0, enough=0.0, most=0.0)
        counted = count_tokens(self._model.name, [{"role": "user", "content": request}])
        usd = self._prices.most_usd(math.ceil(counted * _COUNT_MARGIN), 1) or 0.0
        return Claim(tokens_usd=usd, least=usd, enough=usd, most=usd)

    async def send(self, request: str, granted: Granted) -> Any:  # noqa: ARG002 - one token
        """Send a text once; return LiteLLM's response."""
        return await self._model.complete_text(request, _OPTIONS)

    def bill(self, request: str, answer: Any) -> Bill:  # noqa: ARG002 - part of the protocol
        """Return what a response has cost."""
        usage = reported_usage(answer)
        usd = self._prices.charged(usage)
        return Bill(
            tokens_in=getattr(usage, "prompt_tokens", None),
            tokens_out=getattr(usage, "completion_tokens", None),
            usd=usd,
            settled_usd=usd,
        )


class EchoCalls:
    """The calls to one endpoint, each distinct text once."""

    def __init__(self, endpoint: Endpoint, ledger: Ledger) -> None:
        """Set the calls up; nothing is imported or sent."""
        self._endpoint = endpoint
        self._ledger = ledger
        self._limits = CallLimits(
            where=endpoint.identity,
            concurrency=endpoint.concurrency,
            attempts=_ATTEMPTS,
            first_pause_s=_FIRST_PAUSE_S,
            most_pause_s=_MOST_PAUSE_S,
        )

    def echo(self, texts: Sequence[str], *, again: bool = False) -> Iterator[Echo | JudgeError]:
        """Yield the echo of each text, in their order, or the reason why there is none.

        Args:
            texts: The texts.
            again: Whether to send also those whose echo is stored.
        """
        kind = EchoKind(self._endpoint)
        claimed = ClaimedCalls(self._ledger, self._limits.concurrency, "log-probabilities")
        sender = Sender(kind, self._limits, self._ledger)

        async def find_or_send(text: str) -> Echo | JudgeError:
            call = self._call(text)
            stored = self._ledger.find(call.digest)
            if stored is not None and not stored.is_lost and not again:
                return _read(stored)
            return _read(
                await claimed.make(call.digest, stored, lambda: self._send(sender, call, text))
            )

        thread = LoopThread("echo")
        try:
            # Within one process, equal calls are not kept apart by claims.
            answers = {text: thread.submit(find_or_send(text)) for text in dict.fromkeys(texts)}
            for text in texts:
                yield answers[text].result()
        finally:
            thread.stop()

    async def _send(self, sender: Sender[str, Any], call: Call, text: str) -> Outcome:
        """Send a text; what is no echo of it is stored as a failure, which the next run repeats."""
        usage = CallUsage()
        try:
            echo = Echo.of(await sender.send(text, usage))
        except (CallFailure, ModelRefused) as failure:
            reason = f"{self._endpoint.model}: {failure}"
        except JudgeError as fault:
            reason = fault.reason
        else:
            if echo.text(len(text)) == text:
                return usage.outcome(call, CallStatus.SCORED, json.dumps(echo))
            reason = f"{self._endpoint.model}: sent back another text than it was given"
        return usage.outcome(call, CallStatus.JUDGE_ERROR, error=reason)

    def is_stored(self, text: str) -> bool:
        """Return whether the echo of a text is stored."""
        stored = self._ledger.find(self._call(text).digest)
        return stored is not None and not stored.is_lost

    def _call(self, text: str) -> Call:
        return Call(
            model=f"{PREFIX}{self._endpoint.model}",
            parameters={**_OPTIONS, "api_base": self._endpoint.api_base},
            messages=[{"role": "user", "content": text}],
            reply_schema={},
        )


def _read(outcome: Outcome | StoredReply) -> Echo | JudgeError:
    if outcome.status != CallStatus.SCORED or outcome.reply is None:
        return JudgeError(outcome.error or "no log-probabilities")
    return Echo(*json.loads(outcome.reply))
