"""Remote language models: log-probabilities of given texts, by LiteLLM's text completion.

This needs a server that echoes the prompt with its log-probabilities. Many servers accept the
request and answer something else, so every endpoint is probed first.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from calls.litellm_model import litellm
from evaluators.engines.cache import AnswerCache, CachedModel
from evaluators.engines.echo_logprobs import Echo, find_fault
from evaluators.engines.local.causal_lm import CAUSAL_LM
from evaluators.engines.roles import Readiness
from evaluators.errors import Unavailable
from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import JudgeError, NotApplicable, Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Likelihood
    from evaluators.outcome import Unscored

PREFIX = "litellm:"
"""The prefix of the names of remote models."""
_PROBE = "The capital of France is"
_FLUENT = " Paris, a city on the river Seine."
_SCRAMBLED = " river the a Seine on Paris, city."
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_ATTEMPTS = 3
_TIMEOUT_S = 120


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
    api_key: str | None = None
    concurrency: int = 8

    def __repr__(self) -> str:
        """Leave out the key."""
        return f"Endpoint({self.model!r}, {self.api_base!r})"

    def echo(self, text: str) -> Echo:
        """Get a text back with the log-probabilities of its tokens.

        Raises:
            JudgeError: The server does not answer, or gives no log-probabilities.
        """
        import openai

        try:
            reply: Any = litellm().text_completion(
                model=self.model,
                prompt=text,
                api_base=self.api_base,
                api_key=self.api_key,
                echo=True,
                logprobs=1,
                max_tokens=1,
                temperature=0,
                timeout=_TIMEOUT_S,
                num_retries=_ATTEMPTS - 1,
            )
        except openai.OpenAIError as error:
            # The base class of LiteLLM's errors; the message may contain the prompt.
            raise JudgeError(f"{self.model}: {type(error).__name__}") from error
        return Echo.of(reply)


class RemoteLanguageModel(CachedModel):
    """A language model behind an endpoint; see `protocols.Model`."""

    def __init__(self, role: str, endpoint: Endpoint, cache: AnswerCache, options: Options) -> None:
        """Set the endpoint; it is not called before the first request."""
        label = f"models.{role}: {PREFIX}{endpoint.model}"
        super().__init__(label, CAUSAL_LM, cache, options.progress)
        self.truncated_count = 0
        self._endpoint = endpoint
        self._offline = options.offline
        self._unavailable: str | None = None
        self._probed = False

    @property
    def identity(self) -> str:
        """The model and its address; a server does not report its revision."""
        return f"{PREFIX}{self._endpoint.model}@{self._endpoint.api_base or 'provider'}"

    @property
    def cache_namespace(self) -> str:
        """The identity with the format of the answers."""
        return f"likelihood,{self.identity}"

    def unavailable_reason(self) -> str | None:
        """Return why the endpoint cannot score given texts; probe it the first time."""
        if not self._probed:
            self._probed = True
            readiness = self.readiness()
            self._unavailable = self._probe() if readiness.usable else readiness.message
        return self._unavailable

    def readiness(self) -> Readiness:
        """Return what is known without calling the endpoint."""
        where = self._endpoint.api_base or "its provider"
        if self._offline and urlsplit(where).hostname not in _LOCAL_HOSTS:
            return Readiness(usable=False, message=f"{self.label}: models.offline is set")
        return Readiness(
            usable=True, message=f"{self._endpoint.model} at {where}; probed when needed"
        )

    def get_network(self) -> RemoteLanguageModel:
        """Return the model itself, after the probe."""
        reason = self.unavailable_reason()
        if reason is not None:
            raise Unavailable(reason)
        return self

    def compute(
        self, requests: Sequence[Likelihood]
    ) -> Iterator[tuple[int, TokenLikelihood | Unscored]]:
        """Score each text with one request, several concurrently."""
        with ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            yield from enumerate(pool.map(self._answer_one, requests))

    def _answer_one(self, request: Likelihood) -> TokenLikelihood | Unscored:
        if request.start:
            return NotApplicable("a remote model is given no start token")
        try:
            return TokenLikelihood(self._score(request.prefix, request.continuation))
        except (JudgeError, Undefined) as reason:
            return reason

    def _score(self, prefix: str, continuation: str) -> list[float]:
        echo = self._endpoint.echo(prefix + continuation)
        if echo.text(len(prefix + continuation)) != prefix + continuation:
            raise JudgeError(f"{self._endpoint.model}: sent back another text than it was given")
        return echo.scored(prefix, continuation)

    def _probe(self) -> str | None:
        try:
            fluent = self._endpoint.echo(_PROBE + _FLUENT)
            scrambled = self._endpoint.echo(_PROBE + _SCRAMBLED)
        except JudgeError as error:
            return f"{self.label}: {error.reason}"
        fault = find_fault(_PROBE, (_FLUENT, fluent), (_SCRAMBLED, scrambled))
        return None if fault is None else f"{self.label}: cannot score given texts: {fault}"
