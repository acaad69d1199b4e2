"""The engines of a project, as the configuration names them; nothing is loaded or reached here."""

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
    from evaluators.engines.judge.dry_run import DryRunJudge
    from evaluators.engines.judge.judgment import Ledger
    from evaluators.engines.models import ModelSettings
    from evaluators.flows.protocols import Judge as JudgeEngine
    from orchestration.config.engine_schema import Judge, Models
    from warehouse.storage.location import Location

HUMAN = "human"
"""The judge's model where people's labels are the verdicts."""

_REPEATED_TEMPERATURE = 0.5
"""Equal questions at temperature 0 mostly get equal replies, which would say nothing new."""


def judge_settings(judge: Judge, home: Path) -> JudgeSettings:
    """The judge's settings in the form that the engine takes; recordings relative to `home`."""
    model = judge.model
    if model.startswith(RECORDED):
        model = f"{RECORDED}{home / model.removeprefix(RECORDED)}"
    repeated = max(judge.replicates, judge.escalate_to) > 1
    return JudgeSettings(
        model=model,
        api_key_env=judge.api_key_env,
        api_base=judge.api_base,
        concurrency=judge.concurrency,
        requests_per_minute=judge.requests_per_minute,
        tokens_per_minute=judge.tokens_per_minute,
        budget_usd=judge.budget_usd,
        temperature=(
            judge.temperature if judge.temperature is not None else _REPEATED_TEMPERATURE * repeated
        ),
        max_tokens=judge.max_tokens,
        timeout_s=judge.timeout_s,
        max_attempts=judge.max_attempts,
        usd_per_million_in=judge.usd_per_million_in,
        usd_per_million_out=judge.usd_per_million_out,
        structured_output=judge.structured_output,
    )


def repeats(judge: Judge | None) -> Repeats:
    """How often a sample is judged."""
    if judge is None:
        return Repeats()
    return Repeats(
        count=judge.replicates, escalated=judge.escalate_to, margin=judge.escalate_within
    )


def model_choices(models: Models, home: Path, warehouse: Location) -> ModelSettings:
    """The other models in the form that their engines take."""
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
class Identities:
    """Who answers, for the signatures of evaluators; looked up only for what is asked.

    Attributes:
        judge: The judge, if one is configured.
        home: The folder of the configuration file.
        answering: Who answers.
    """

    judge: Judge | None
    home: Path
    answering: RunEngines

    def of(self, roles: frozenset[str]) -> Mapping[str, str]:
        """The identity of each engine that is configured, by role.

        Raises:
            EvaluatorError: The judge replays a file that is not there.
        """
        return dict(self._each(roles))

    def _each(self, roles: frozenset[str]) -> Iterator[tuple[str, str]]:
        if JUDGE in roles and self.judge is not None:
            if self.judge.model == HUMAN:
                yield JUDGE, HUMAN
            else:
                often = repeats(self.judge)
                told = "" if often.count == often.escalated == 1 else f" {often}"
                yield JUDGE, judge_settings(self.judge, self.home).identity + told
        models = self.answering.models
        yield from ((role, models[role].identity) for role in roles & models.keys())


def answering(judge: Judge | None, models: Models, home: Path, warehouse: Location) -> RunEngines:
    """Who answers the evaluators of a project."""
    from assets.engines import RunEngines
    from evaluators.engines.models import build_models as made

    found, absent = made(model_choices(models, home, warehouse))
    people = judge is not None and judge.model == HUMAN
    maker = None if judge is None or people else Maker(judge_settings(judge, home))
    return RunEngines(
        judge_factory=maker,
        uses_human_labels=people,
        repeats=repeats(judge),
        models=found,
        absent=absent,
    )


class Maker:
    """Makes the configured judge; all that it makes share one budget."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._spent_usd = 0.0

    @contextmanager
    def live(self, ledger: Ledger) -> Iterator[JudgeEngine]:
        """A judge that asks what the ledger does not hold."""
        from evaluators.engines.judge.ledger_judge import LedgerJudge

        budget = self.settings.budget_usd
        left = None if budget is None else max(0.0, budget - self._spent_usd)
        settings = replace(self.settings, budget_usd=left)
        with LedgerJudge(settings, ledger, progress=show_judge_progress) as judge:
            try:
                yield judge
            finally:
                self._spent_usd += judge.spent_usd

    def replay(self, ledger: Ledger) -> JudgeEngine:
        """A judge that answers from the ledger alone."""
        from evaluators.engines.judge.ledger_judge import ReplayJudge

        return ReplayJudge(self.settings, ledger)

    def dry_run(self, ledger: Ledger, counted: set[str]) -> DryRunJudge:
        """A judge that takes note of what would be asked."""
        from evaluators.engines.judge.dry_run import DryRunJudge

        return DryRunJudge(self.settings, ledger, counted)

    def with_budget(self, budget_usd: float) -> Maker:
        """The same with a budget of its own, which is no greater than the configured one."""
        configured = self.settings.budget_usd
        least = budget_usd if configured is None else min(budget_usd, configured)
        return Maker(replace(self.settings, budget_usd=least))
