"""Build the judge, or the judges of a panel, from the configuration."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from evaluators.engines.judge.settings import RECORDED, JudgeKeys, JudgeSettings
from evaluators.flows.panel import JointProgress, PanelJudge, panel_identity
from evaluators.flows.protocols import Panel, Repeats
from orchestration.config.judge.schema import Judge
from orchestration.runs.progress import show_judge_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from calls.budget import BudgetReport
    from calls.call import Ledger
    from evaluators.engines.judge.dry_run import DryRunJudge
    from evaluators.flows.protocols import Judge as JudgeEngine

HUMAN = "human"
"""The judge model that stands for human labels."""

_REPEATED_TEMPERATURE = 0.5
"""At temperature 0 repeated calls mostly get equal replies and add no information."""

_TOGETHER = (
    {"api_base", "api_key_env"},
    {
        *("usd_per_million_in", "usd_per_million_out"),
        *("usd_per_million_cache_read", "usd_per_million_cache_write"),
    },
)
"""Keys that a member with one of them has alone: the key of one server is not sent to another, and
the price of one model is not that of another."""

_OF_ONE_MODEL = {*JudgeKeys.model_fields, "budget_usd", "optional"}


def judge_settings(judge: Judge, home: Path) -> list[JudgeSettings]:
    """Convert the judge's keys to engine settings: of one judge, or of the members of a panel.

    Paths of recordings are relative to `home`.
    """
    if judge.panel is None:
        return [_settings_of(judge, home)]
    members = [_settings_of(each, home) for each in _members(judge)]
    return [each.model_copy(update={"title": f"the judge {each.name!r}"}) for each in members]


def _members(judge: Judge) -> Iterator[Judge]:
    """Yield the keys of each member; it inherits those that it does not give itself."""
    shared = judge.model_dump(include=_OF_ONE_MODEL, exclude_unset=True)
    for member in judge.panel or ():
        own = member.model_dump(exclude_unset=True)
        left = {name for pair in _TOGETHER if pair & own.keys() for name in pair}
        inherited = {name: value for name, value in shared.items() if name not in left}
        yield Judge(**{**inherited, **own})


def _settings_of(judge: Judge, home: Path) -> JudgeSettings:
    model = judge.model or ""
    if model.startswith(RECORDED):
        model = f"{RECORDED}{home / model.removeprefix(RECORDED)}"
    repeated = max(judge.replicates, judge.escalate_to) > 1
    temperature = judge.temperature
    if temperature is None:
        temperature = _REPEATED_TEMPERATURE if repeated else 0.0
    keys: dict[str, Any] = judge.model_dump(include=_OF_ONE_MODEL)
    return JudgeSettings(**{**keys, "model": model, "temperature": temperature})


def judge_repeats(judge: Judge | None) -> Repeats:
    """Return how often a sample is judged."""
    if judge is None:
        return Repeats()
    return Repeats(
        count=judge.replicates, escalated=judge.escalate_to, margin=judge.escalate_within
    )


def build_judge(judge: Judge, home: Path) -> LlmJudgeFactory | PanelFactory:
    """Return what creates the judge, or the judges of a panel."""
    factories = [LlmJudgeFactory(each) for each in judge_settings(judge, home)]
    if judge.panel is None:
        return factories[0]
    panel = Panel(
        members=tuple(each.settings.name for each in factories),
        combine=judge.combine,
        escalate=judge.escalate,
        margin=judge.escalate_within,
    )
    return PanelFactory(panel, factories)


class LlmJudgeFactory:
    """Creates the configured judge."""

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._spent_usd = 0.0
        self._refused_usd: float | None = None

    @property
    def identity(self) -> str:
        """The model and the parameters on which verdicts depend."""
        return self.settings.identity

    @property
    def panel(self) -> None:
        """No panel: there is one judge."""

    @property
    def settings_of_members(self) -> Sequence[JudgeSettings]:
        """The settings of the only judge."""
        return [self.settings]

    @property
    def budget(self) -> BudgetReport | None:
        """What the run has spent, as of its last judge; None without a budget."""
        from calls.budget import BudgetReport

        limits = (self.settings.budget_usd, self.settings.daily_budget_usd)
        if limits == (None, None):
            return None
        return BudgetReport(
            total_usd=min(limit for limit in limits if limit is not None),
            spent_usd=self._spent_usd,
            refused_usd=self._refused_usd,
        )

    def skip_reason(self) -> str | None:
        """Return why the judge is optional and not called now; None if it is called."""
        from evaluators.engines.judge.reachable import skip_reason

        return skip_reason(self.settings)

    def require_reachable(self) -> None:
        """Check that the judge can be called, without a paid call."""
        from evaluators.engines.judge.reachable import require_reachable

        require_reachable(self.settings)

    @contextmanager
    def live(
        self,
        ledger: Ledger,
        *,
        progress: Callable[[int], None] = show_judge_progress,
    ) -> Iterator[JudgeEngine]:
        """Yield a judge that calls the model for every reply that the ledger lacks.

        See `LedgerJudge` for the arguments.
        """
        from evaluators.engines.judge.ledger_judge import LedgerJudge

        with LedgerJudge(self.settings, ledger, progress=progress) as judge:
            try:
                yield judge
            finally:
                self._spent_usd = ledger.spent_usd()
                self._refused_usd = judge.refused_usd

    def replay(self, ledger: Ledger) -> JudgeEngine:
        """Return a judge that reads its replies from the ledger and never calls the model."""
        from evaluators.engines.judge.replay import ReplayJudge

        return ReplayJudge(self.settings, ledger)

    def dry_run(self, ledger: Ledger, counted: set[str]) -> Sequence[DryRunJudge]:
        """Return a judge that records the calls it would make, except those in `counted`."""
        from evaluators.engines.judge.dry_run import DryRunJudge

        return [DryRunJudge(self.settings, ledger, counted)]

    def with_daily_budget(self, budget_usd: float) -> LlmJudgeFactory:
        """Return a factory whose judges also share a budget for 24 hours with all other runs."""
        settings = self.settings.model_copy(update={"daily_budget_usd": budget_usd})
        return LlmJudgeFactory(settings)


class PanelFactory:
    """Creates the judges of a panel; each call goes to the member that it names."""

    def __init__(self, panel: Panel, members: Sequence[LlmJudgeFactory]) -> None:
        self.panel = panel
        self.members = members

    @property
    def settings_of_members(self) -> Sequence[JudgeSettings]:
        """The settings of each member."""
        return [each.settings for each in self.members]

    @property
    def identity(self) -> str:
        """The members and how their verdicts are combined."""
        return panel_identity(self.panel, [each.identity for each in self.members])

    @property
    def budget(self) -> BudgetReport | None:
        """What all members have spent together; None without a budget."""
        from calls.budget import BudgetReport

        found = [report for each in self.members if (report := each.budget) is not None]
        if not found:
            return None
        refused = [each.refused_usd for each in found if each.refused_usd is not None]
        return BudgetReport(
            total_usd=found[0].total_usd,
            # Each report is about the whole run, as of the end of one member.
            spent_usd=max(each.spent_usd for each in found),
            refused_usd=min(refused, default=None),
        )

    def skip_reason(self) -> str | None:
        """Return why the panel is optional and not called now: the first missing key.

        A score by fewer members would not be that of the panel.
        """
        return next(filter(None, (each.skip_reason() for each in self.members)), None)

    def require_reachable(self) -> None:
        """Check the members that are certainly called; escalation may not call the others."""
        for each in self.members[: 2 if self.panel.escalate else None]:
            each.require_reachable()

    @contextmanager
    def live(self, ledger: Ledger) -> Iterator[JudgeEngine]:
        """Yield a judge whose members call their models for every reply that the ledger lacks."""
        progress = JointProgress(show_judge_progress, len(self.members))
        with ExitStack() as stack:
            judges = [
                stack.enter_context(member.live(ledger, progress=progress.of(at)))
                for at, member in enumerate(self.members)
            ]
            yield PanelJudge(judges, self.identity)

    def replay(self, ledger: Ledger) -> JudgeEngine:
        """Return a judge that reads the replies of all members from the ledger."""
        return PanelJudge([each.replay(ledger) for each in self.members], self.identity)

    def dry_run(self, ledger: Ledger, counted: set[str]) -> Sequence[DryRunJudge]:
        """Return a judge for each member, which records the calls that it would make."""
        return [judge for each in self.members for judge in each.dry_run(ledger, counted)]

    def with_daily_budget(self, budget_usd: float) -> PanelFactory:
        """Return a factory whose judges also share a budget for 24 hours with all other runs."""
        members = [each.with_daily_budget(budget_usd) for each in self.members]
        return PanelFactory(self.panel, members)
