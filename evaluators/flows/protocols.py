"""Protocols of engines (judges and models), and the set of engines of a run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from evaluators.errors import Unavailable
from evaluators.flows.requests import JUDGE
from evaluators.outcome import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future

    from calls.call import Ledger, Origin
    from evaluators.flows.requests import Ask, Request
    from evaluators.outcome import Unscored


class TokenLikelihood(NamedTuple):
    """The natural log-probabilities of the tokens of a text, in their order.

    Attributes:
        logprobs: One number for each token of the continuation that has a probability.
        truncated: Whether the prefix was cut to fit the model's window.
    """

    logprobs: Sequence[float]
    truncated: bool = False


class Judge(Protocol):
    """Answers many judge calls concurrently."""

    @property
    def identity(self) -> str:
        """Model and parameters: scores by judges of the same identity are comparable."""

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Start a judge call.

        Returns:
            A future of the reply. It raises `ParseFailure` or `JudgeError`; any other exception
            ends the run.
        """


class Model(Protocol):
    """Answers batches of requests."""

    @property
    def identity(self) -> str:
        """Name, revision and dtype: equal identities give comparable numbers."""

    def unavailable_reason(self) -> str | None:
        """Return why the model cannot answer, with what to install or to configure, or None.

        Called before an evaluator's first sample. It downloads missing weights, but loads nothing.
        """

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """Answer distinct requests, in their order.

        Raises:
            Unavailable: The model cannot be loaded.
        """


@runtime_checkable
class PaidModel(Protocol):
    """A model whose calls are paid for, since a server computes it."""

    def with_ledger(self, ledger: Ledger) -> Model:
        """Return the model with a ledger, which finds and stores its calls."""


class Labels(Protocol):
    """Human labels that replace the judge."""

    @property
    def identity(self) -> str:
        """The identity of human labels."""

    def of(self, origin: Origin) -> Mapping[str, float]:
        """Return a sample's human labels by metric; raise `NotApplicable` if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How many times a sample is judged.

    Attributes:
        count: The number of times for every sample; odd, so that there is a majority.
        escalated: The number of times for a sample near its threshold; odd.
        margin: The largest distance from the threshold that counts as near, on the primary
            metric's scale.
    """

    count: int = 1
    escalated: int = 1
    margin: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Several judges that judge each sample.

    Attributes:
        members: The names of the judges, in the order in which they are called.
        combine: How their values become one: `majority` takes the middle one, `mean` the mean.
        escalate: Whether only the first two judge every sample, and the others where these two
            disagree.
        margin: The largest difference at which two values of the primary metric agree.
    """

    members: tuple[str, ...]
    combine: Literal["majority", "mean"] = "majority"
    escalate: bool = False
    margin: float = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """The engines of a run.

    Attributes:
        judge: The judge, if there is one.
        labels: Human labels that replace the judge, if any.
        repeats: How many times a sample is judged.
        panel: The judges, if there are several; `judge` then calls the member that a request
            names.
        models: The other models by role (`embedding`, `entailment`, `language_model`, ...).
        absent: Why an engine is missing, by role: what to configure or to install.
    """

    judge: Judge | None = None
    labels: Labels | None = None
    repeats: Repeats = Repeats()
    panel: Panel | None = None
    models: Mapping[str, Model] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    def missing_reason(self, roles: Iterable[str]) -> str | None:
        """Return why the first of these roles that is missing is missing; None if all are there."""
        for role in sorted(roles):
            if role == JUDGE:
                is_there = self.judge is not None or self.labels is not None
            else:
                # Human labels give the score itself; no model is needed.
                is_there = role in self.models or self.labels is not None
            if not is_there:
                return self.absent.get(role, f"no {role} model is configured")
            if self.labels is None and role in self.models:
                reason = self.models[role].unavailable_reason()
                if reason is not None:
                    return reason
        return None

    def without(self, role: str, reason: str) -> Engines:
        """Return engines in which one role answers every request with a reason."""
        models = {**self.models, role: _MissingModel(reason)}
        return replace(self, models=models, absent={**self.absent, role: reason})

    def tolerate_missing_models(self) -> Engines:
        """Return engines in which a model that fails to load ends only the flows that call it."""
        return replace(
            self, models={role: _TolerantModel(model) for role, model in self.models.items()}
        )


@dataclass(frozen=True, slots=True)
class _TolerantModel:
    """A model that answers with the reason if it cannot be loaded."""

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
            return [NotApplicable(str(reason), of_run=True)] * len(requests)


@dataclass(frozen=True, slots=True)
class _MissingModel:
    """A missing model; it answers with the reason."""

    reason: str
    identity: str = "none"

    def unavailable_reason(self) -> str:
        return self.reason

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        return [NotApplicable(self.reason, of_run=True)] * len(requests)


NO_ENGINES = Engines()
