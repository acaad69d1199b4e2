"""Answering: who answers the evaluators of a run, and how a run gets at them."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from assets.engines.human_labels import PeoplesLabels
from assets.engines.ledger_adapter import WarehouseLedger
from evaluators.flows.protocols import Engines, Repeats
from evaluators.flows.requests import JUDGE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evaluators.engines.judge.dry_run import PlanningJudge
    from evaluators.engines.judge.judgment import Ledger
    from evaluators.flows.protocols import Judge, Model
    from warehouse.ledger.ledger import Ledger as Tables
    from warehouse.store import Warehouse

NO_JUDGE = "no judge is configured: set judge.model in scoreline.yaml"


class JudgeMaker(Protocol):
    """Makes the judge that the configuration names."""

    def live(self, ledger: Ledger) -> AbstractContextManager[Judge]:
        """A judge that answers from the ledger and asks what is missing there.

        All that are made share one budget.
        """

    def replay(self, ledger: Ledger) -> Judge:
        """A judge that answers from the ledger alone."""

    def planning(self, ledger: Ledger, counted: set[str]) -> PlanningJudge:
        """A judge that takes note of what would be asked and is not `counted` already."""

    def limited(self, budget_usd: float) -> JudgeMaker:
        """The same with a budget of its own, which is no greater than the configured one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answering:
    """The engines of a project; nothing is loaded or reached before an evaluator asks.

    Attributes:
        maker: Makes the judge; None when none is configured, or when people judge.
        people: Whether people's labels stand in for the judge.
        repeats: How often a sample is judged.
        models: The other models by role.
        absent: Why a model is not there, by role.
    """

    maker: JudgeMaker | None = None
    people: bool = False
    repeats: Repeats = field(default_factory=Repeats)
    models: Mapping[str, Model] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def asking(self, tables: Tables) -> Iterator[Engines]:
        """The engines that may ask the judge what the ledger does not hold."""
        if self.maker is None:
            yield self._engines(None)
            return
        with self.maker.live(WarehouseLedger(tables)) as judge:
            yield self._engines(judge)

    def replaying(self, tables: Tables, warehouse: Warehouse) -> Engines:
        """The engines that know of the judge what the ledger holds, and what people said."""
        if self.people:
            return self._engines(None, PeoplesLabels(warehouse))
        return self._engines(
            None if self.maker is None else self.maker.replay(WarehouseLedger(tables))
        )

    def _engines(self, judge: Judge | None, labels: PeoplesLabels | None = None) -> Engines:
        return Engines(
            judge=judge,
            labels=labels,
            repeats=self.repeats,
            models=self.models,
            absent={JUDGE: NO_JUDGE, **self.absent},
        )
