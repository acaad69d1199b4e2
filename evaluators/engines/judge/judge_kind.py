"""Judge calls as a kind of call: how one request is sent, what it may cost and what it has cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from calls.budget import UsageHistory, reply_limit
from calls.sender import CallKind
from calls.usage import Bill
from evaluators.engines.judge.errors import JudgeRefused
from evaluators.engines.judge.litellm_client import LitellmClient
from evaluators.engines.judge.prices import prices_of, require_price

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from calls.budget import Claim, Granted
    from calls.completion import Completion, Message
    from calls.errors import TransientFailure
    from evaluators.engines.judge.litellm_client import CallOptions
    from evaluators.engines.judge.settings import JudgeSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRequest:
    """One request to a judge.

    Attributes:
        messages: The messages.
        schema: The JSON schema of the reply.
        options: The options that the model supports.
        seed: The seed.
        tokens: The counted tokens of messages and schema; 0 if nothing needs them.
        max_tokens: The most tokens of the reply.
        longer_than: A length in tokens at which this reply was cut before.
    """

    messages: Sequence[Message]
    schema: Mapping[str, Any]
    options: CallOptions
    seed: int
    tokens: int
    max_tokens: int
    longer_than: int = 0


class JudgeReply(NamedTuple):
    """A completion, and the most tokens that it could have."""

    completion: Completion
    limit: int


class JudgeKind(CallKind[JudgeRequest, JudgeReply]):
    """The calls of one judge.

    Attributes:
        client: Sends messages.
        is_callable: Whether a call has shown that the judge can be called.
        served_by: The provider's model name and fingerprint in the last answer.
    """

    refusals = (JudgeRefused,)

    def __init__(self, settings: JudgeSettings) -> None:
        """Look up the key and the price.

        Raises:
            BadJudgeSettings: The key is not set, or there is a budget but no price.
        """
        self.client = LitellmClient(settings)
        self._prices = prices_of(settings)
        require_price(settings, self._prices)
        self._history = UsageHistory()
        self.is_callable = False
        self.served_by = ""

    def tokens(self, request: JudgeRequest) -> int:
        """Return the counted tokens of messages and schema."""
        return request.tokens

    def claim(self, request: JudgeRequest) -> Claim:
        """Return what a request may set aside, by the usage of recent ones with its schema."""
        return self._history.claim(
            self._prices, request.schema, request.tokens, request.max_tokens, request.longer_than
        )

    async def send(self, request: JudgeRequest, granted: Granted) -> JudgeReply:
        """Send messages once; the reply is as long as what is set aside pays for."""
        limit = reply_limit(self._prices, granted, request.max_tokens)
        completion = await self.client.call(
            request.messages, request.schema, request.options, max_tokens=limit, seed=request.seed
        )
        return JudgeReply(completion, limit)

    def bill(self, request: JudgeRequest, answer: JudgeReply) -> Bill:
        """Return what a completion has cost; without a price, all that is set aside counts."""
        completion = answer.completion
        self.is_callable = True
        self.served_by = completion.served_by
        price = self._prices.charged(completion.usage)
        tokens = completion.tokens_in, completion.tokens_out
        self._history.record(request.schema, request.tokens, *tokens)
        return Bill(*tokens, price, price)

    def is_worth_another(self, failure: TransientFailure, attempts: int) -> bool:
        """Return whether another attempt may succeed."""
        if self.is_callable:
            return True
        return not failure.unreachable and not (failure.garbled and attempts > 1)

    def is_lost(self, failure: TransientFailure) -> bool:
        """Return whether no server answers."""
        return failure.unreachable
