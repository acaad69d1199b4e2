"""The judge budget of automated runs, and the retries of their failed judging steps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import dagster as dg

from warehouse.ledger.open import open_ledger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.engines import RunEngines
    from assets.project import Project
    from warehouse.store import Warehouse

AUTOMATED_TAGS = (
    "dagster/schedule_name",
    "dagster/sensor_name",
    "dagster/from_automation_condition",
)
"""The Dagster tags that mark automated runs."""

RETRIES = 3
FIRST_PAUSE_S = 30.0


def is_automated(tags: Mapping[str, str]) -> bool:
    """Return whether a schedule, a sensor or an automation condition started the run."""
    return any(tag in tags for tag in AUTOMATED_TAGS)


def engines_within_budget(
    project: Project, warehouse: Warehouse, tags: Mapping[str, str]
) -> tuple[RunEngines, str | None]:
    """Return the engines that a run may use, and why they have no judge if it may not be called.

    An optional judge needs its key. Manual runs have the budget of the judge. Automated runs also
    share the daily budget with all runs; without a daily budget they call no judge.
    """
    engines = project.engines
    if engines.judge_factory is None:
        return engines, None
    skipped = engines.judge_factory.skip_reason()
    if skipped is not None:
        return replace(engines, judge_factory=None), skipped
    if not is_automated(tags):
        return engines, None
    daily = project.automation.daily_budget_usd
    if daily is None:
        return replace(engines, judge_factory=None), (
            "this automated run calls no judge: set judge.budget_usd or automation.daily_budget_usd"
        )
    with open_ledger(warehouse, "budget") as ledger:
        spent = ledger.spent_last_day_usd()
    if spent >= daily:
        return replace(engines, judge_factory=None), (
            f"this automated run calls no judge: the budget of {daily:g} USD for 24 hours is spent"
        )
    return replace(engines, judge_factory=engines.judge_factory.with_daily_budget(daily)), None


def retry_request(tags: Mapping[str, str], retry: int) -> dg.RetryRequested | None:
    """Return the retry of a step after a transient error, with exponential backoff.

    Manual runs get None: they fail at once, since a user is waiting.

    Args:
        tags: The Dagster tags of the run.
        retry: The number of retries so far.
    """
    if not is_automated(tags):
        return None
    return dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=FIRST_PAUSE_S * 2**retry)
