"""Flows: generators that yield requests, are sent the answers, and never touch the world.

A flow yields one request or a tuple of them, and is sent one answer or a list in the same order.
Where a request cannot be answered, the reason (`outcome.Unscored`) is thrown into the flow, which
may catch it. A test drives a flow with `next` and `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from evaluators.flows.prompt import Prompt
    from evaluators.flows.reply import Reply

R = TypeVar("R", bound="Reply")
T = TypeVar("T")

JUDGE = "judge"
EMBEDDING = "embedding"
ENTAILMENT = "entailment"
LANGUAGE_MODEL = "language_model"
SIMILARITY = "similarity"
HALLUCINATION = "hallucination"
TOXICITY = "toxicity"
FAIRNESS_BIAS = "fairness_bias"


def config_key(role: str) -> str:
    """The key of `scoreline.yaml` that says who plays a role."""
    return role if role == JUDGE else f"models.{role}"


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """A question to the judge; the answer is a `reply`.

    Attributes:
        reply: The form of the reply.
        prompt: What is asked.
        check: Says what is wrong with a reply of the right form (nothing: an empty list). It must
            follow from the prompt alone: equal prompts are asked once.
        replicate: Which of several equal questions it is; each has an answer of its own.
    """

    engine: ClassVar[str] = JUDGE

    reply: type[R]
    prompt: Prompt
    check: Callable[[R], Sequence[str]] | None = field(default=None, compare=False)
    replicate: int = 0


@dataclass(frozen=True, slots=True)
class Embed:
    """A text whose vector is wanted: a NumPy array of float32 of length 1 (0 for no words)."""

    text: str
    engine: str = EMBEDDING


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts of which a model says how they relate: a mapping of label to probability.

    Entailment models give `entailment`, `neutral` and `contradiction` of the second text, given
    the first; cross-encoders with one output give `score`.
    """

    first: str
    second: str
    engine: str = ENTAILMENT


@dataclass(frozen=True, slots=True)
class Classify:
    """A text that a classifier labels: a mapping of label to probability."""

    text: str
    engine: str


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A continuation whose tokens' natural log-probabilities, given a prefix, are wanted.

    The answer is a `TokenLikelihood` of `evaluators.flows.protocols`.

    Attributes:
        prefix: What stands before the continuation; may be empty.
        continuation: The text whose tokens count.
        engine: The role of the model.
        shorten: The characters of the prefix, from and to, that give way from their end where all
            of it does not fit the model's window. None: the beginning of the prefix does.
        stride: Where the text does not fit, the tokens by which a window moves over it instead.
        start: Whether the model's start token comes first, so that the first token counts too.
    """

    prefix: str
    continuation: str
    engine: str = LANGUAGE_MODEL
    shorten: tuple[int, int] | None = None
    stride: int | None = None
    start: bool = False


Request: TypeAlias = Ask[Any] | Embed | Pair | Classify | Likelihood
Flow: TypeAlias = Generator[Request | tuple[Request, ...], Any, T]


def ask(
    reply: type[R], prompt: Prompt, *, check: Callable[[R], Sequence[str]] | None = None
) -> Flow[R]:
    """Ask the judge one thing; see `Ask`.

    Raises:
        ParseFailure: It answered, but nothing usable came of it.
        JudgeError: It could not be asked or did not answer.
    """
    answer: R = yield Ask(reply, prompt, check)
    return answer


def ask_all(reply: type[R], prompts: Sequence[Prompt]) -> Flow[list[R]]:
    """Ask the judge several things at once; the replies come in the order of the prompts."""
    if not prompts:
        return []
    answers: list[R] = yield tuple(Ask(reply, prompt) for prompt in prompts)
    return answers


def embed(texts: Sequence[str]) -> Flow[list[np.ndarray[Any, Any]]]:
    """The vectors of texts by the embedding model."""
    return (yield from _request_all([Embed(text) for text in texts]))


def entail(pairs: Sequence[tuple[str, str]]) -> Flow[list[Mapping[str, float]]]:
    """How the second text of each pair follows from the first, by the entailment model."""
    return (yield from _request_all([Pair(first, second) for first, second in pairs]))


def compare(pairs: Sequence[tuple[str, str]], engine: str) -> Flow[list[Mapping[str, float]]]:
    """What a pair scorer says of each pair."""
    return (yield from _request_all([Pair(first, second, engine) for first, second in pairs]))


def classify(texts: Sequence[str], engine: str) -> Flow[list[Mapping[str, float]]]:
    """What a classifier says of each text."""
    return (yield from _request_all([Classify(text, engine) for text in texts]))


def likelihood(spans: Sequence[tuple[str, str]]) -> Flow[list[Any]]:
    """The log-probabilities of continuations, given their prefixes, by the language model."""
    return (yield from _request_all([Likelihood(prefix, text) for prefix, text in spans]))


def as_replicate(flow: Flow[T], replicate: int) -> Flow[T]:
    """The same flow, whose questions to the judge are those of another replicate."""
    stride = 1_000  # flows may number questions of their own below it

    def numbered(request: Request) -> Request:
        if isinstance(request, Ask):
            return replace(request, replicate=request.replicate + stride * replicate)
        return request

    step: Callable[[], Any] = flow.__next__
    while True:
        try:
            wanted = step()
        except StopIteration as end:
            result: T = end.value
            return result
        many = isinstance(wanted, tuple)
        try:
            answer = yield tuple(map(numbered, wanted)) if many else numbered(wanted)
        except Exception as reason:  # noqa: BLE001 - handed on to the flow, whoever raised it
            step = _throwing(flow, reason)
        else:
            step = _sending(flow, answer)


def _throwing(flow: Flow[T], reason: Exception) -> Callable[[], Any]:
    return lambda: flow.throw(reason)


def _sending(flow: Flow[T], answer: Any) -> Callable[[], Any]:
    return lambda: flow.send(answer)


def _request_all(requests: Sequence[Request]) -> Flow[list[Any]]:
    if not requests:
        return []
    answers: list[Any] = yield tuple(requests)
    return answers
