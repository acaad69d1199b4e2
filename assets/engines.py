"""The engines of a run: the judge over the ledger, human labels, and local models."""

from __future__ import annotations

import json
from asyncio import wrap_future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Protocol

from calls.call import CallStatus, Holder, StoredReply
from evaluators.flows.protocols import Engines, PaidModel, Repeats
from evaluators.flows.requests import JUDGE
from evaluators.outcome import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from calls.budget import BudgetReport
    from calls.call import Ledger as JudgeLedger
    from calls.call import Origin, Outcome
    from calls.ledger.ledger import Ledger, Reply
    from evaluators.engines.judge.dry_run import DryRunJudge
    from evaluators.flows.protocols import Judge, Model, Panel
    from warehouse.store import Warehouse

NO_JUDGE = "no judge is configured: set judge.model in scoreline.yaml"


class JudgeFactory(Protocol):
    """Creates the configured judge."""

    @property
    def identity(self) -> str:
        """The model and the parameters on which verdicts depend, a part of signatures."""

    @property
    def panel(self) -> Panel | None:
        """The panel, if there are several judges."""

    @property
    def budget(self) -> BudgetReport | None:
        """What the judges of this factory have spent; None without a budget."""

    def skip_reason(self) -> str | None:
        """Return why the judge is optional and not called now; None if it is called."""

    def require_reachable(self) -> None:
        """Check that the judge can be called, as far as that can be known without paying.

        Raises:
            JudgeFailure: It cannot: a key is not set, or no server listens at its address.
        """

    def live(self, ledger: JudgeLedger) -> AbstractContextManager[Judge]:
        """Return a judge that calls the model for every reply that the ledger lacks.

        All judges of one run share one budget.
        """

    def replay(self, ledger: JudgeLedger) -> Judge:
        """Return a judge that reads its replies from the ledger and never calls the model."""

    def dry_run(self, ledger: JudgeLedger, counted: set[str]) -> Sequence[DryRunJudge]:
        """Return the judge, or all members of a panel, for a dry run.

        They record the calls that they would make, except those in `counted`.
        """

    def with_daily_budget(self, budget_usd: float) -> JudgeFactory:
        """Return a factory whose judges also share a budget for 24 hours with all other runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEngines:
    """The engines of a project. They load and connect when an evaluator first needs them.

    Attributes:
        judge_factory: Creates the judge; None when no judge model is configured.
        uses_human_labels: Whether human labels replace the judge.
        repeats: How often a sample is judged.
        models: The local models by role.
        absent: Why an engine is not available, by role.
    """

    judge_factory: JudgeFactory | None = None
    uses_human_labels: bool = False
    repeats: Repeats = field(default_factory=Repeats)
    models: Mapping[str, Model] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def live(self, warehouse: Warehouse, run_id: str, ledger: Ledger) -> Iterator[Engines]:
        """Yield engines whose judge calls the model for every reply that the ledger lacks."""
        with self.paid_models(warehouse, run_id) as models:
            if self.judge_factory is None:
                yield self._engines(models, None)
                return
            with self.judge_factory.live(WarehouseLedger(ledger)) as judge:
                yield self._engines(models, judge)

    @contextmanager
    def replay(self, warehouse: Warehouse, run_id: str) -> Iterator[Engines]:
        """Yield engines that read judge replies from the ledger, or human labels."""
        with self.paid_models(warehouse, run_id) as models:
            if self.uses_human_labels:
                yield self._engines(models, None, HumanLabels(warehouse))
            elif self.judge_factory is None:
                yield self._engines(models, None)
            else:
                # Imports SQLAlchemy, which is not needed without a judge.
                from warehouse.ledger.open import open_ledger

                with open_ledger(warehouse, run_id) as ledger:
                    yield self._engines(models, self.judge_factory.replay(WarehouseLedger(ledger)))

    @contextmanager
    def paid_models(self, warehouse: Warehouse, run_id: str) -> Iterator[Mapping[str, Model]]:
        """Yield the models by role; the calls of those that are paid for go into the ledger."""
        with ExitStack() as stack:
            models = dict(self.models)
            for role, model in self.models.items():
                if isinstance(model, PaidModel):
                    # What it spends counts against no budget of judges.
                    spender = f"{run_id}/{model.identity}"
                    ledger = stack.enter_context(_filling_ledger(warehouse, run_id, spender))
                    models[role] = model.with_ledger(WarehouseLedger(ledger))
            yield models

    def _engines(
        self,
        models: Mapping[str, Model],
        judge: Judge | None,
        labels: HumanLabels | None = None,
    ) -> Engines:
        return Engines(
            judge=judge,
            labels=labels,
            repeats=self.repeats,
            panel=None if self.judge_factory is None else self.judge_factory.panel,
            models=models,
            absent={JUDGE: NO_JUDGE, **self.absent},
        )


@contextmanager
def _filling_ledger(warehouse: Warehouse, run_id: str, spender: str) -> Iterator[Ledger]:
    """Open the ledger; fill the tables from it at the end if a call was made."""
    from warehouse.ledger.open import open_ledger

    with open_ledger(warehouse, run_id, spender) as ledger:
        try:
            yield ledger
        finally:
            if ledger.has_written:
                ledger.flush()


class HumanLabels:
    """Human labels as an engine; reads each benchmark and evaluator from the warehouse once.

    Several annotators' values for one sample and metric give their median. For an odd number of
    pass/fail labels this is the majority.
    """

    identity = "human"

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self._loaded: tuple[str, str] | None = None
        self._labels: dict[tuple[str, str], dict[str, list[float]]] = {}

    def of(self, origin: Origin) -> Mapping[str, float]:
        """Return the label of a sample, by metric.

        Raises:
            NotApplicable: The sample has no label.
        """
        key = (origin.benchmark, origin.evaluator)
        if key != self._loaded:
            self._loaded, self._labels = key, self._load(*key)
        labels = self._labels.get((origin.system, origin.question_id))
        if labels is None:
            raise NotApplicable("no human label for this sample")
        return {metric: float(median(values)) for metric, values in labels.items()}

    def _load(
        self, benchmark: str, evaluator: str
    ) -> dict[tuple[str, str], dict[str, list[float]]]:
        rows = self._warehouse.fetch(
            "SELECT system, question_id, metric, value FROM labels "
            "WHERE benchmark = $benchmark AND evaluator = $evaluator",
            {"benchmark": benchmark, "evaluator": evaluator},
        )
        labels: dict[tuple[str, str], dict[str, list[float]]] = {}
        for system, question, metric, value in rows.iter_rows():
            labels.setdefault((system, question), {}).setdefault(metric, []).append(value)
        return labels


class WarehouseLedger:
    """The warehouse's ledger, as the judge uses it: judgments become rows."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, digest: str) -> StoredReply | None:
        """Return the stored reply to a call, or None."""
        found = self._ledger.find(digest)
        if found is None:
            return None
        return _stored(found)

    async def claim(self, digest: str, known: int) -> StoredReply | Holder | None:
        """Claim a call, unless there is a reply or another process makes it."""
        from calls.ledger.ledger import Reply  # SQLAlchemy, which most commands do not need

        found = await wrap_future(self._ledger.claim(digest, known))
        if found is None or isinstance(found, Reply):
            return None if found is None else _stored(found)
        return Holder(*found)

    def release(self, digest: str) -> None:
        """End a claim without a judgment."""
        self._ledger.release(digest)

    async def reserve(self, **amounts: float | None) -> tuple[str, float] | bool:
        """Set aside the cost of a call; see `Quota`."""
        return await wrap_future(self._ledger.reserve(**amounts))

    def settle(self, reservation: str | None, usd: float) -> None:
        """Record the cost of a call."""
        self._ledger.settle(reservation, usd)

    async def start(self, rate: str, per_minute: float, amount: float) -> float:
        """Take units of a rate, or return the seconds to wait."""
        return await wrap_future(self._ledger.start(rate, per_minute, amount))

    def spent_usd(self) -> float:
        """Return what the run has spent in US dollars."""
        return self._ledger.spent_usd()

    async def store(self, judgment: Outcome, known: int = -1) -> None:
        """Store a judgment durably, so that a killed process does not lose it."""
        question = judgment.call
        stored = self._ledger.record_judgment(
            {
                "digest": question.digest,
                "model": question.model,
                "parameters": _json(dict(question.parameters)),
                "messages": _json(list(question.messages)),
                "reply_schema": _json(dict(question.reply_schema)),
                "replicate": question.replicate,
                "reply": judgment.reply,
                "status": judgment.status.value,
                "error": judgment.error,
                "attempts": judgment.attempts,
                "tokens_in": judgment.tokens_in,
                "tokens_out": judgment.tokens_out,
                "cost_usd": judgment.cost_usd,
                "latency_s": judgment.latency_s,
                "judged_at": judgment.judged_at.isoformat(timespec="microseconds"),
            },
            known,
        )
        await wrap_future(stored)

    def record_call(self, origin: Origin, digest: str) -> None:
        """Record which sample needed the call."""
        self._ledger.record_ask({**origin._asdict(), "digest": digest})


class UntrackedLedger(WarehouseLedger):
    """Stores judgments without linking them to samples, since no score is computed from them.

    Attributes:
        digests: The calls that were needed, made or stored before.
    """

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.digests: set[str] = set()

    def record_call(self, origin: Origin, digest: str) -> None:  # noqa: ARG002 - not a sample's
        """Count a call: `asks` holds only the calls behind the scores."""
        self.digests.add(digest)


def _stored(found: Reply) -> StoredReply:
    return StoredReply(found.reply, CallStatus(found.status), found.error, found.number)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
