"""Requests and flows: generators that yield requests, receive the answers, and perform no I/O.

A flow yields one request or a tuple of them, and receives one answer or a list in the same order.
If a request cannot be answered, the reason (`outcome.Unscored`) is thrown into the flow, which may
catch it; of `Each`, the reason is among the answers. A test drives a flow with `next` and `send`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np

    from evaluators.flows.prompt import Prompt
    from evaluators.flows.reply import Reply
    from evaluators.outcome import Unscored

R = TypeVar("R", bound="Reply")
T = TypeVar("T")

_STRIDE = 1_000
"""The numbers of replicates that one repetition of a flow may use itself."""

JUDGE = "judge"
EMBEDDING = "embedding"
ENTAILMENT = "entailment"
LANGUAGE_MODEL = "language_model"
SIMILARITY = "similarity"
HALLUCINATION = "hallucination"
TOXICITY = "toxicity"
FAIRNESS_BIAS = "fairness_bias"


def config_key(role: str) -> str:
    """Return the key of `scoreline.yaml` that configures the engine of a role."""
    return role if role == JUDGE else f"models.{role}"


@dataclass(frozen=True, slots=True)
class Ask(Generic[R]):
    """A judge call; the answer is an instance of `reply`.

    Attributes:
        reply: The reply's class, which gives the schema.
        prompt: The prompt.
        check: Lists the faults of a reply that matches the schema; an empty list if there are
            none. It must depend on the prompt alone, because equal prompts are sent once.
        replicate: The number of the repeat; equal prompts with different numbers are sent again.
        member: The number of the judge in a panel.
    """

    engine: ClassVar[str] = JUDGE

    reply: type[R]
    prompt: Prompt
    check: Callable[[R], Sequence[str]] | None = field(default=None, compare=False)
    replicate: int = 0
    member: int = 0


@dataclass(frozen=True, slots=True)
class Embed:
    """A text to embed; the answer is a float32 vector of length 1 (or 0 for a blank text)."""

    text: str
    engine: str = EMBEDDING


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts for a cross-encoder; the answer maps labels to probabilities.

    Entailment models give `entailment`, `neutral` and `contradiction` of the second text, given
    the first; cross-encoders with one output give `score`.
    """

    first: str
    second: str
    engine: str = ENTAILMENT


@dataclass(frozen=True, slots=True)
class Classify:
    """A text to classify; the answer maps labels to probabilities."""

    text: str
    engine: str


@dataclass(frozen=True, slots=True)
class Likelihood:
    """A continuation to score by the log-probabilities of its tokens, given a prefix.

    The answer is a `TokenLikelihood` of `evaluators.flows.protocols`.

    Attributes:
        prefix: The text before the continuation; may be empty.
        continuation: The text whose tokens are scored.
        engine: The role of the model.
        shorten: If the text exceeds the model's window, the part of the prefix (from, to, in
            characters) that is cut from its end. None: the prefix is cut from its beginning.
        stride: If the text exceeds the window, move the window by this many tokens instead.
        start: Whether the model's start token comes first, so that the first token counts too.
    """

    prefix: str
    continuation: str
    engine: str = LANGUAGE_MODEL
    shorten: tuple[int, int] | None = None
    stride: int | None = None
    start: bool = False


Request: TypeAlias = Ask[Any] | Embed | Pair | Classify | Likelihood


class Each(tuple[Request, ...]):
    """Requests of which some may fail: the answers have reasons in their places."""

    __slots__ = ()


Flow: TypeAlias = Generator[Request | tuple[Request, ...], Any, T]


def ask(
    reply: type[R], prompt: Prompt, *, check: Callable[[R], Sequence[str]] | None = None
) -> Flow[R]:
    """Call the judge once; see `Ask`.

    Raises:
        ParseFailure: The judge answered, but the reply is not usable.
        JudgeError: The judge could not be called, or did not answer.
    """
    answer: R = yield Ask(reply, prompt, check)
    return answer


def ask_all(reply: type[R], prompts: Sequence[Prompt]) -> Flow[list[R]]:
    """Call the judge with several prompts at once; the replies are in the order of the prompts."""
    if not prompts:
        return []
    answers: list[R] = yield tuple(Ask(reply, prompt) for prompt in prompts)
    return answers


def ask_each(reply: type[R], prompts: Sequence[Prompt]) -> Flow[list[R | Unscored]]:
    """Call the judge as `ask_all`; a call that fails has the reason in place of its reply."""
    if not prompts:
        return []
    answers: list[R | Unscored] = yield Each(Ask(reply, prompt) for prompt in prompts)
    return answers


def embed(texts: Sequence[str]) -> Flow[list[np.ndarray[Any, Any]]]:
    """Embed texts with the embedding model."""
    return (yield from _request_all([Embed(text) for text in texts]))


def entail(pairs: Sequence[tuple[str, str]]) -> Flow[list[Mapping[str, float]]]:
    """Classify how the second text of each pair follows from the first (entailment model)."""
    return (yield from _request_all([Pair(first, second) for first, second in pairs]))


def compare(pairs: Sequence[tuple[str, str]], engine: str) -> Flow[list[Mapping[str, float]]]:
    """Score each pair with a cross-encoder."""
    return (yield from _request_all([Pair(first, second, engine) for first, second in pairs]))


def classify(texts: Sequence[str], engine: str) -> Flow[list[Mapping[str, float]]]:
    """Classify each text."""
    return (yield from _request_all([Classify(text, engine) for text in texts]))


def as_replicate(flow: Flow[T], replicate: int) -> Flow[T]:
    """Return the same flow with its judge calls numbered as another replicate."""

    def numbered(request: Ask[Any]) -> Ask[Any]:
        return replace(request, replicate=request.replicate + _STRIDE * replicate)

    return (yield from with_judge_calls(flow, numbered))


def repetition_of(request: Ask[Any]) -> int:
    """Return which repetition of its flow a judge call belongs to; see `as_replicate`."""
    return request.replicate // _STRIDE


def with_judge_calls(flow: Flow[T], change: Callable[[Ask[Any]], Ask[Any]]) -> Flow[T]:
    """Return the same flow with its judge calls changed."""

    def changed(request: Request) -> Request:
        return change(request) if isinstance(request, Ask) else request

    answer: Any = None
    reason: Exception | None = None
    while True:
        try:
            wanted = flow.send(answer) if reason is None else flow.throw(reason)
        except StopIteration as end:
            result: T = end.value
            return result
        answer, reason = None, None
        try:
            answer = yield (
                type(wanted)(map(changed, wanted)) if isinstance(wanted, tuple) else changed(wanted)
            )
        except Exception as thrown:  # noqa: BLE001 - the flow decides what to do with it
            reason = thrown


def _request_all(requests: Sequence[Request]) -> Flow[list[Any]]:
    if not requests:
        return []
    answers: list[Any] = yield tuple(requests)
    return answers
