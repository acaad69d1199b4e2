"""All assets and asset checks of a project."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.analysis.asset import findings
from assets.checks import table_checks
from assets.checks.gate_check import build_gate_checks
from assets.ingest import inputs
from assets.judging.asset import build_judgments
from assets.keys import LEADERBOARD, OWNERS, PREDICTIONS, PUBLISHED, QUESTIONS
from assets.leaderboard.asset import build_leaderboard
from assets.metadata import table_metadata
from assets.publishing.asset import published
from assets.scoring.asset import build_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project


def build_assets(project: Project) -> Sequence[dg.AssetsDefinition]:
    """Return the assets in the order in which they run."""
    judgments = build_judgments(project)
    with_tables = [
        inputs,
        *([] if judgments is None else [judgments]),
        build_scores(project),
        build_leaderboard(project),
        findings,
    ]

    def add_table(spec: dg.AssetSpec) -> dg.AssetSpec:
        stage = spec.key.path[0]
        table = "asks" if stage == "judgments" else stage
        return spec.merge_attributes(metadata=table_metadata(table, project.warehouse))

    every = [*dg.map_asset_specs(add_table, with_tables), published]
    return list(dg.map_asset_specs(lambda spec: _automate(spec, project), every))


def build_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """Return the checks of tables against their descriptions and of systems against baselines."""
    return [*table_checks.build_table_checks(project), *build_gate_checks(project)]


def _automate(spec: dg.AssetSpec, project: Project) -> dg.AssetSpec:
    """Add the owners, the automation condition and the freshness policy of an asset.

    Conditions have no effect until the sensor of declarative automation is enabled.
    """
    automation = project.automation
    condition: dg.AutomationCondition[Any]
    if spec.key in (QUESTIONS, PREDICTIONS):
        # Files are checked on a schedule; ingestion finds out whether they have changed.
        condition = dg.AutomationCondition.on_cron(automation.cron, automation.timezone)
    else:
        changed: dg.AutomationCondition[Any] = dg.AutomationCondition.code_version_changed()
        due: dg.AutomationCondition[Any] = dg.AutomationCondition.eager() | (
            changed.since_last_handled() & ~dg.AutomationCondition.in_progress()
        )
        condition = due & dg.AutomationCondition.all_deps_blocking_checks_passed()
    automated = spec.replace_attributes(automation_condition=condition, owners=OWNERS)
    if spec.key in (LEADERBOARD, PUBLISHED):
        window = timedelta(hours=automation.fresh_for_hours)
        policy = dg.FreshnessPolicy.time_window(fail_window=window)
        return automated.replace_attributes(freshness_policy=policy)
    return automated
