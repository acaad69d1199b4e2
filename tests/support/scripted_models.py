"""Models whose answers a test writes down, for everything about a model but its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evaluators.flows.protocols import Engines, TokenLikelihood
from evaluators.scoring import score
from tests.support.samples import Outcome, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.flows.protocols import Model
    from evaluators.flows.requests import Embed, Likelihood, Pair, Request


class Answers:
    """Answers with what a function makes of a request, and keeps what it was asked."""

    identity = "written down"

    def __init__(self, answer: Callable[[Any], Any], obstacle: str | None = None) -> None:
        self._answer = answer
        self._obstacle = obstacle
        self.asked: list[Any] = []

    def unavailable_reason(self) -> str | None:
        """What the test says is in the way."""
        return self._obstacle

    def answer(self, requests: Sequence[Request]) -> Sequence[Any]:
        """Answer in the order of the requests."""
        self.asked += requests
        return [self._answer(request) for request in requests]


def vectors(table: Mapping[str, Sequence[float]]) -> Answers:
    """An encoder that knows these texts."""

    def vector(request: Embed) -> np.ndarray[Any, Any]:
        given = np.asarray(table[request.text], dtype=np.float32)
        return given / np.linalg.norm(given) if given.any() else given

    return Answers(vector)


def relations(table: Mapping[tuple[str, str], Mapping[str, float]]) -> Answers:
    """A pair scorer that knows these pairs."""

    def relation(request: Pair) -> Mapping[str, float]:
        return table[request.first, request.second]

    return Answers(relation)


def logprobs(table: Mapping[tuple[str, str], Sequence[float]]) -> Answers:
    """A language model that knows these continuations of these prefixes."""

    def likelihood(request: Likelihood) -> TokenLikelihood:
        return TokenLikelihood(table[request.prefix, request.continuation])

    return Answers(likelihood)


def graded(
    evaluator: Evaluator, row: Mapping[str, Any], **models: Model
) -> tuple[dict[str, Outcome], dict[str, Any]]:
    """The outcome of each metric of one sample, and the evidence."""
    import json

    long = score(evaluator, samples([row]), Engines(models=models)).long().rows(named=True)
    detail = long[0]["detail"]
    found = {
        each["metric"]: Outcome(each["value"], each["status"], each["reason"]) for each in long
    }
    return found, {} if detail is None else json.loads(detail)


def only(evaluator: Evaluator, row: Mapping[str, Any], **models: Model) -> Outcome:
    """The outcome of the first metric of one sample."""
    found, _ = graded(evaluator, row, **models)
    return next(iter(found.values()))
