"""Remote language models: log-probabilities of given texts, by LiteLLM's text completion.

Only servers that echo the prompt with its log-probabilities can do that. Many accept the request
and answer something else, so that every endpoint is probed before it is believed.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from evaluators.engines.cache import AnswerCache, CachedModel
from evaluators.engines.echo_logprobs import Echo, find_fault
from evaluators.engines.judge.litellm_call import litellm
from evaluators.engines.local.causal_lm import pack, unpack
from evaluators.engines.roles import Readiness
from evaluators.errors import Unavailable
from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import JudgeError, NotApplicable, Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evaluators.engines.roles import Options, Progress
    from evaluators.flows.requests import Likelihood
    from evaluators.outcome import Unscored

PREFIX = "litellm:"
"""What the name of a remote model begins with."""
_PROBE = "The capital of France is"
_FLUENT = " Paris, a city on the river Seine."
_SCRAMBLED = " river the a Seine on Paris, city."
_ATTEMPTS = 3
_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server of text completions.

    Attributes:
        model: The model as LiteLLM names it.
        api_base: The server's address; None for the provider's own.
        api_key: The key; kept out of every message.
        concurrency: Requests that are under way at a time.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = None
    concurrency: int = 8

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self.model!r}, {self.api_base!r})"

    def echo(self, text: str) -> Echo:
        """Have a text sent back with the log-probabilities of its tokens.

        Raises:
            JudgeError: The server does not answer, or not in that form.
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
            # The base of all that LiteLLM raises; its text may repeat what was sent.
            raise JudgeError(f"{self.model}: {type(error).__name__}") from error
        return Echo.of(reply)


class RemoteLanguageModel(CachedModel):
    """A language model behind an endpoint; see `contract.Model`."""

    def __init__(self, role: str, endpoint: Endpoint, shelf: AnswerCache, options: Options) -> None:
        """Note the endpoint; nothing is asked before something is to be scored."""
        progress: Progress | None = options.progress
        super().__init__(f"models.{role}: {PREFIX}{endpoint.model}", shelf, progress)
        self.truncated_count = 0
        self._endpoint = endpoint
        self._offline = options.offline
        self._obstacle: str | None = None
        self._probed = False

    @property
    def identity(self) -> str:
        """The model and its address: a server does not tell which revision it runs."""
        return f"{PREFIX}{self._endpoint.model}@{self._endpoint.api_base or 'provider'}"

    @property
    def cache_namespace(self) -> str:
        """The identity; see there."""
        return f"likelihood,{self.identity}"

    @property
    def form(self) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
        """How an answer becomes bytes, and bytes an answer."""
        return pack, unpack

    def unavailable_reason(self) -> str | None:
        """Why the endpoint cannot score given texts; found out by the echo probe, once."""
        if not self._probed:
            self._probed = True
            look = self.readiness()
            self._obstacle = self._probe() if look.usable else look.message
        return self._obstacle

    @property
    def _local(self) -> bool:
        base = self._endpoint.api_base or ""
        return urlsplit(base).hostname in {"localhost", "127.0.0.1", "::1"}

    def readiness(self) -> Readiness:
        """What can be said of it before it is asked anything."""
        where = self._endpoint.api_base or "its provider"
        if self._offline and not self._local:
            return Readiness(usable=False, message=f"{self.label}: models.offline is set")
        return Readiness(
            usable=True, message=f"{self._endpoint.model} at {where}; probed when needed"
        )

    def get_network(self) -> RemoteLanguageModel:
        """Itself, once the probe was passed."""
        obstacle = self.unavailable_reason()
        if obstacle is not None:
            raise Unavailable(obstacle)
        return self

    def compute(
        self, requests: Sequence[Likelihood]
    ) -> Iterator[tuple[int, TokenLikelihood | Unscored]]:
        """Score each text by a request of its own, several at a time."""
        with ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            yield from enumerate(pool.map(self._one, requests))

    def _one(self, asked: Likelihood) -> TokenLikelihood | Unscored:
        if asked.start:
            return NotApplicable("a remote model is given no start token")
        try:
            return TokenLikelihood(self._scored(asked.prefix, asked.continuation))
        except (JudgeError, Undefined) as reason:
            return reason

    def _scored(self, prefix: str, continuation: str) -> list[float]:
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
