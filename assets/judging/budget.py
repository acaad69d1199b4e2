"""What a run may spend on judges, and when a failed judging step is retried."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import dagster as dg

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
"""The tags of runs that nobody started; a run that people start has none of them."""

RETRIES = 3
FIRST_PAUSE_S = 30.0


def is_automated(tags: Mapping[str, str]) -> bool:
    """Whether a run with these tags was started by a schedule, a sensor or a condition."""
    return any(tag in tags for tag in AUTOMATED_TAGS)


def spent_last_day_usd(warehouse: Warehouse) -> float:
    """What judges cost in the last 24 hours, in US dollars, whoever asked them.

    Replies that bear a later time than now count too: the clock may have jumped back.
    """
    since = datetime.now(UTC).replace(tzinfo=None) - timedelta(hours=24)
    spent = warehouse.fetch(
        "SELECT coalesce(sum(cost_usd), 0) FROM judgments WHERE judged_at > $since",
        {"since": since},
    )
    return float(spent.item())


def engines_within_budget(
    project: Project, warehouse: Warehouse, tags: Mapping[str, str]
) -> tuple[RunEngines, str | None]:
    """Who may be asked in a run, and why nobody may.

    People's own runs have the judge's budget. Runs that nobody started share what is left of the
    daily one, so that no number of them spends more; without one they ask no judge.

    Args:
        project: The project.
        warehouse: Where the ledger is.
        tags: The tags of the run.
    """
    answering = project.engines
    if answering.judge_factory is None or not is_automated(tags):
        return answering, None
    daily = project.automation.daily_budget_usd
    if daily is None:
        return replace(answering, judge_factory=None), (
            "no judge is asked by a run that nobody started: set judge.budget_usd or "
            "automation.daily_budget_usd"
        )
    left = daily - spent_last_day_usd(warehouse)
    if left <= 0:
        return replace(answering, judge_factory=None), (
            f"no judge is asked: the {daily:g} USD that automation may spend in 24 hours are spent"
        )
    return replace(answering, judge_factory=answering.judge_factory.limited(left)), None


def retry_request(tags: Mapping[str, str], retry: int) -> dg.RetryRequested | None:
    """How a step that failed for a passing reason is tried again; None in people's own runs.

    Whoever waits for a run is told at once. In one that nobody waits for, pauses double.

    Args:
        tags: The tags of the run.
        retry: How often it was tried again already.
    """
    if not is_automated(tags):
        return None
    return dg.RetryRequested(max_retries=RETRIES, seconds_to_wait=FIRST_PAUSE_S * 2**retry)
