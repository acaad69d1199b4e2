"""The pipeline: every asset and check of a project."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.analysis.asset import findings
from assets.checks import table_checks
from assets.checks.gate_check import gate_checks
from assets.ingest import inputs
from assets.judging.asset import judgments
from assets.keys import LEADERBOARD, PREDICTIONS, PUBLISHED, QUESTIONS
from assets.leaderboard.asset import leaderboard
from assets.metadata import table_metadata
from assets.publishing.asset import published
from assets.scoring.asset import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project

TABLES = {QUESTIONS: "questions", PREDICTIONS: "predictions", LEADERBOARD: "leaderboard"}
"""The tables that assets fill; all others but `published` fill that of their stage."""

TABLES_BY_STAGE = {"scores": "scores", "judgments": "asks"}


def assets(project: Project) -> Sequence[dg.AssetsDefinition]:
    """The stages in the order in which they run."""
    judging = judgments(project)
    asking = [] if judging is None else [judging]
    filling = [inputs, *asking, scores(project), leaderboard(project), findings]

    def described(spec: dg.AssetSpec) -> dg.AssetSpec:
        table = TABLES.get(spec.key, TABLES_BY_STAGE.get(spec.key.path[0], spec.key.path[0]))
        with_table = spec.merge_attributes(metadata=table_metadata(table, project.warehouse))
        return _automated(with_table, project)

    last = dg.map_asset_specs(lambda spec: _automated(spec, project), [published])
    return [*dg.map_asset_specs(described, filling), *last]


def checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """The checks that hold every table against its description, and systems against baselines."""
    return [*table_checks.checks(project), *gate_checks(project)]


def _automated(spec: dg.AssetSpec, project: Project) -> dg.AssetSpec:
    """An asset with the condition under which it is made, and how old it may become.

    Conditions do nothing before the sensor of declarative automation is switched on.
    """
    automation = project.automation
    nightly: dg.AutomationCondition[Any] = dg.AutomationCondition.on_cron(
        automation.cron, automation.timezone
    )
    if spec.key in (QUESTIONS, PREDICTIONS):
        # Files are looked at by the clock; whether they have changed, ingestion finds out.
        condition: dg.AutomationCondition[Any] = nightly
    else:
        changed: dg.AutomationCondition[Any] = dg.AutomationCondition.code_version_changed()
        due: dg.AutomationCondition[Any] = dg.AutomationCondition.eager() | (
            changed.since_last_handled() & ~dg.AutomationCondition.in_progress()
        )
        condition = due & dg.AutomationCondition.all_deps_blocking_checks_passed()
    described = spec.replace_attributes(automation_condition=condition)
    if spec.key in (LEADERBOARD, PUBLISHED):
        window = timedelta(hours=automation.fresh_for_hours)
        policy = dg.FreshnessPolicy.time_window(fail_window=window)
        return described.replace_attributes(freshness_policy=policy)
    return described
