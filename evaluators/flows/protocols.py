"""What every engine promises: the shape of judges and models, and the set of them a run has."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from evaluators.errors import Unavailable
from evaluators.flows.requests import JUDGE
from evaluators.outcome import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from evaluators.flows.requests import Ask, Request
    from evaluators.outcome import Unscored


class Origin(NamedTuple):
    """Where a question to the judge comes from.

    `step` counts the questions of one flow, from 0; those of a later replicate go on counting.
    """

    benchmark: str
    system: str
    question_id: str
    evaluator: str
    step: int


class TokenLikelihood(NamedTuple):
    """The natural log-probabilities of the tokens of a text, in their order.

    Attributes:
        logprobs: One for each token of the continuation that has one.
        truncated: Whether the prefix was shortened to fit the model's window.
    """

    logprobs: Sequence[float]
    truncated: bool = False


class Judge(Protocol):
    """Answers questions one by one, many at a time."""

    @property
    def identity(self) -> str:
        """Model and parameters: scores by judges of the same identity are comparable."""

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Put a question.

        Returns:
            What becomes the reply, or raises `ParseFailure` or `JudgeError`; anything else that it
            raises ends the run.
        """


class Model(Protocol):
    """Answers many requests at once."""

    @property
    def identity(self) -> str:
        """Name, revision and type of numbers: equal identities give comparable numbers."""

    def unavailable_reason(self) -> str | None:
        """Why it cannot answer: what to install or to configure; None as far as is known.

        It is asked before an evaluator's first sample, looks without loading anything, and
        fetches what is to be fetched.
        """

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """Answer different requests, in their order.

        Raises:
            Unavailable: It turns out that the model cannot be loaded.
        """


class Labels(Protocol):
    """What people said of samples, in the judge's place."""

    @property
    def identity(self) -> str:
        """Says that people judged."""

    def of(self, origin: Origin) -> Mapping[str, float]:
        """The number that people gave a sample, by metric; raises `NotApplicable` for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often a sample is judged.

    Attributes:
        count: Times that every sample is judged; odd, so that there is a majority.
        escalated: Times that a sample near its threshold is judged; odd.
        margin: How near is near, on the primary metric's scale.
    """

    count: int = 1
    escalated: int = 1
    margin: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """The engines that a run has.

    Attributes:
        judge: The judge, if there is one.
        labels: The people who judge in its place, if they do.
        repeats: How often a sample is judged.
        models: The other models by role (`embedding`, `entailment`, `language_model`, ...).
        absent: Why an engine is not there, by role: what to configure or to install.
    """

    judge: Judge | None = None
    labels: Labels | None = None
    repeats: Repeats = Repeats()
    models: Mapping[str, Model] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    def missing_reason(self, needs: Iterable[str]) -> str | None:
        """Why something cannot be computed: the first engine that is not there, or None."""
        for role in sorted(needs):
            if role == JUDGE:
                there = self.judge is not None or self.labels is not None
            else:
                # People give the number itself, so that nothing is computed from vectors.
                there = role in self.models or self.labels is not None
            if not there:
                return self.absent.get(role, f"no {role} model is configured")
            if self.labels is None and role in self.models:
                obstacle = self.models[role].unavailable_reason()
                if obstacle is not None:
                    return obstacle
        return None

    def without(self, role: str, reason: str) -> Engines:
        """The same engines but one, in whose place every request is answered with a reason."""
        models = {**self.models, role: _MissingModel(reason)}
        return replace(self, models=models, absent={**self.absent, role: reason})

    def tolerate_missing_models(self) -> Engines:
        """The same engines, but what keeps a model from being loaded ends no more than a flow."""
        return replace(
            self, models={role: _TolerantModel(model) for role, model in self.models.items()}
        )


@dataclass(frozen=True, slots=True)
class _TolerantModel:
    """A model that answers with the reason where it turns out that it cannot be had."""

    model: Model

    @property
    def identity(self) -> str:
        return self.model.identity

    def unavailable_reason(self) -> str | None:
        return self.model.unavailable_reason()

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        try:
            return self.model.answer(requests)
        except Unavailable as reason:
            return [NotApplicable(str(reason))] * len(requests)


@dataclass(frozen=True, slots=True)
class _MissingModel:
    """Stands where a model is not."""

    reason: str
    identity: str = "none"

    def unavailable_reason(self) -> str:
        return self.reason

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        return [NotApplicable(self.reason)] * len(requests)


NO_ENGINES = Engines()
