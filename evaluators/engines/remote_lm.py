"""Remote language models: log-probabilities of given texts, by LiteLLM's text completion.

This needs a server that echoes the prompt with its log-probabilities. Many servers accept the
request and answer something else, so every endpoint is probed first.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from evaluators.engines.cache import AnswerCache, CachedModel
from evaluators.engines.echo_calls import PREFIX, EchoCalls, Endpoint
from evaluators.engines.echo_logprobs import Echo, find_fault
from evaluators.engines.local.causal_lm import CAUSAL_LM
from evaluators.engines.roles import Readiness
from evaluators.errors import Unavailable
from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import JudgeError, NotApplicable, Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from calls.call import Ledger
    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Likelihood
    from evaluators.outcome import Unscored

_PROBE = "The capital of France is"
_FLUENT = " Paris, a city on the river Seine."
_SCRAMBLED = " river the a Seine on Paris, city."
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


class RemoteLanguageModel(CachedModel):
    """A language model behind an endpoint; see `protocols.Model`."""

    def __init__(self, role: str, endpoint: Endpoint, cache: AnswerCache, options: Options) -> None:
        """Set the endpoint; it is not called before the first request."""
        label = f"models.{role}: {PREFIX}{endpoint.model}"
        super().__init__(label, CAUSAL_LM, cache, options.progress)
        self.truncated_count = 0
        self._endpoint = endpoint
        self._calls: EchoCalls | None = None
        self._offline = options.offline
        self._unavailable: str | None = None
        self._probed = False

    def with_ledger(self, ledger: Ledger) -> RemoteLanguageModel:
        """Return a model that stores its calls in a ledger, which also pays for the probe once."""
        model = copy(self)
        model._calls = EchoCalls(self._endpoint, ledger)  # noqa: SLF001 - a copy of itself
        return model

    @property
    def identity(self) -> str:
        """The model and its address; a server does not report its revision."""
        return self._endpoint.identity

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
        start = NotApplicable("a remote model is given no start token", of_run=True)
        sent = [at for at, request in enumerate(requests) if not request.start]
        yield from ((at, start) for at, request in enumerate(requests) if request.start)
        texts = [requests[at].prefix + requests[at].continuation for at in sent]
        for at, echo in zip(sent, self._echo(texts), strict=True):
            yield at, _scored(echo, requests[at])

    def _echo(self, texts: Sequence[str], *, again: bool = False) -> Iterator[Echo | JudgeError]:
        if self._calls is None:
            raise RuntimeError("a remote model needs a ledger: its calls are paid for")
        return self._calls.echo(texts, again=again)

    def _probe(self) -> str | None:
        fault = self._find_fault()
        if fault is None or self._calls is None or not self._calls.is_stored(_PROBE + _FLUENT):
            return fault
        # The server may have changed since its echoes were stored.
        return self._find_fault(again=True)

    def _find_fault(self, *, again: bool = False) -> str | None:
        echoes: list[tuple[str, Echo]] = []
        texts = (_FLUENT, _SCRAMBLED)
        # Both are awaited, since both are paid for, before a fault of one ends the probe.
        answers = list(self._echo([_PROBE + each for each in texts], again=again))
        for text, echo in zip(texts, answers, strict=True):
            if isinstance(echo, JudgeError):
                return f"{self.label}: {echo.reason}"
            echoes.append((text, echo))
        fault = find_fault(_PROBE, *echoes)
        return None if fault is None else f"{self.label}: cannot score given texts: {fault}"


def _scored(echo: Echo | JudgeError, request: Likelihood) -> TokenLikelihood | Unscored:
    if isinstance(echo, JudgeError):
        return echo
    try:
        return TokenLikelihood(echo.scored(request.prefix, request.continuation))
    except (JudgeError, Undefined) as reason:
        return reason
