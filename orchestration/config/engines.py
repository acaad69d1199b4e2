"""Build engine settings from the configuration; no model loads and no server is contacted."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from evaluators.engines.judge.settings import RECORDED, JudgeSettings
from evaluators.flows.protocols import Repeats
from evaluators.flows.requests import JUDGE
from orchestration.runs.progress import show_judge_progress, show_model_progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from assets.engines import RunEngines
    from evaluators.engines.judge.budget import BudgetReport
    from evaluators.engines.judge.dry_run import DryRunJudge
    from evaluators.engines.judge.judgment import Ledger
    from evaluators.engines.models import ModelSettings
    from evaluators.flows.protocols import Judge as JudgeEngine
    from orchestration.config.schema import Judge, Models
    from warehouse.storage.location import Location

HUMAN = "human"
"""The judge model that stands for human labels."""

_REPEATED_TEMPERATURE = 0.5
"""At temperature 0 repeated calls mostly get equal replies and add no information."""


def judge_settings(judge: Judge, home: Path) -> JudgeSettings:
    """Convert the judge's keys to engine settings; paths of recordings are relative to `home`."""
    model = judge.model
    if model.startswith(RECORDED):
        model = f"{RECORDED}{home / model.removeprefix(RECORDED)}"
    repeated = max(judge.replicates, judge.escalate_to) > 1
    temperature = judge.temperature
    if temperature is None:
        temperature = _REPEATED_TEMPERATURE if repeated else 0.0
    shared = judge.model_dump(exclude={"replicates", "escalate_to", "escalate_within"})
    return JudgeSettings(**{**shared, "model": model, "temperature": temperature})


def judge_repeats(judge: Judge | None) -> Repeats:
    """Return how often a sample is judged."""
    if judge is None:
        return Repeats()
    return Repeats(
        count=judge.replicates, escalated=judge.escalate_to, margin=judge.escalate_within
    )


def model_settings(models: Models, home: Path, warehouse: Location) -> ModelSettings:
    """Convert the keys of the other models to engine settings."""
    from evaluators.engines.models import ROLES, ModelSettings
    from evaluators.engines.roles import Options

    named = {role: getattr(models, role, None) for role in ROLES}
    return ModelSettings(
        names={role: name for role, name in named.items() if name is not None},
        home=home,
        options=Options(
            device=models.device,
            dtype=models.dtype,
            batch_size=models.batch_size,
            offline=models.offline,
            progress=show_model_progress,
        ),
        store=warehouse.parent / "encodings",
        store_bytes=models.store_mb * 1_000_000,
        api_base=models.api_base,
        api_key=None if models.api_key_env is None else os.environ.get(models.api_key_env),
    )


@dataclass(frozen=True, slots=True)
class EngineIdentities:
    """The identities of the configured engines, which are a part of evaluator signatures.

    Attributes:
        judge: The judge, if one is configured.
        home: The folder of the configuration file.
        engines: The engines of the project.
    """

    judge: Judge | None
    home: Path
    engines: RunEngines

    def by_role(self, roles: frozenset[str]) -> Mapping[str, str]:
        """Return the identity of each configured engine among `roles`.

        Raises:
            EvaluatorError: The judge replays a file that does not exist.
        """
        models = self.engines.models
        identities = {role: models[role].identity for role in roles & models.keys()}
        if JUDGE in roles and self.judge is not None:
            identities[JUDGE] = self._judge_identity(self.judge)
        return identities

    def _judge_identity(self, judge: Judge) -> str:
        if judge.model == HUMAN:
            return HUMAN
        repeats = judge_repeats(judge)
        suffix = "" if repeats.count == repeats.escalated == 1 else f" {repeats}"
        return judge_settings(judge, self.home).identity + suffix


def build_engines(
    judge: Judge | None, models: Models, home: Path, warehouse: Location
) -> RunEngines:
    """Build the engines of a project."""
    from assets.engines import RunEngines
    from evaluators.engines.models import build_models

    built, absent = build_models(model_settings(models, home, warehouse))
    is_human = judge is not None and judge.model == HUMAN
    factory = None if judge is None or is_human else LlmJudgeFactory(judge_settings(judge, home))
    return RunEngines(
        judge_factory=factory,
        uses_human_labels=is_human,
        repeats=judge_repeats(judge),
        models=built,
        absent=absent,
    )


class LlmJudgeFactory:
    """Creates the configured judge."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._spent_usd = 0.0
        self._refused_usd: float | None = None

    @property
    def budget(self) -> BudgetReport | None:
        """What the run has spent, as of its last judge; None without a budget."""
        from evaluators.engines.judge.budget import BudgetReport

        limits = (self.settings.budget_usd, self.settings.daily_budget_usd)
        if limits == (None, None):
            return None
        return BudgetReport(
            total_usd=min(limit for limit in limits if limit is not None),
            spent_usd=self._spent_usd,
            refused_usd=self._refused_usd,
        )

    @contextmanager
    def live(self, ledger: Ledger) -> Iterator[JudgeEngine]:
        """Yield a judge that calls the model for every reply that the ledger lacks."""
        from evaluators.engines.judge.ledger_judge import LedgerJudge

        with LedgerJudge(self.settings, ledger, progress=show_judge_progress) as judge:
            try:
                yield judge
            finally:
                self._spent_usd = ledger.spent_usd()
                self._refused_usd = judge.refused_usd

    def replay(self, ledger: Ledger) -> JudgeEngine:
        """Return a judge that reads its replies from the ledger and never calls the model."""
        from evaluators.engines.judge.ledger_judge import ReplayJudge

        return ReplayJudge(self.settings, ledger)

    def dry_run(self, ledger: Ledger, counted: set[str]) -> DryRunJudge:
        """Return a judge that records the calls it would make, except those in `counted`."""
        from evaluators.engines.judge.dry_run import DryRunJudge

        return DryRunJudge(self.settings, ledger, counted)

    def with_daily_budget(self, budget_usd: float) -> LlmJudgeFactory:
        """Return a factory whose judges also share a budget for 24 hours with all other runs."""
        return LlmJudgeFactory(replace(self.settings, daily_budget_usd=budget_usd))
