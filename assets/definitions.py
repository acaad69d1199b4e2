"""All assets and asset checks of a project."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets.analysis.asset import build_findings
from assets.checks import table_checks
from assets.checks.gate_check import build_gate_checks
from assets.inputs.answers import build_answers
from assets.inputs.asset import build_inputs
from assets.judging.asset import build_judgments
from assets.keys import LEADERBOARD, OWNERS, PREDICTIONS, PUBLISHED, QUESTIONS, upstream_keys
from assets.leaderboard.asset import build_leaderboard
from assets.metadata import table_metadata
from assets.publishing.asset import build_published
from assets.scoring.asset import build_scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from assets.project import Project


def build_assets(project: Project) -> Sequence[dg.AssetsDefinition]:
    """Return the assets in the order in which they run."""
    optional = [build_answers(project), build_judgments(project)]
    with_tables = [
        build_inputs(project),
        *(each for each in optional if each is not None),
        build_scores(project),
        build_leaderboard(project),
        build_findings(project),
    ]

    def add_table(spec: dg.AssetSpec) -> dg.AssetSpec:
        stage = spec.key.path[0]
        table = "asks" if stage == "judgments" else stage
        return spec.merge_attributes(metadata=table_metadata(table, project.warehouse))

    every = [*dg.map_asset_specs(add_table, with_tables), build_published(project)]
    automated = dg.map_asset_specs(lambda spec: _automate(spec, project), every)
    return [_add_upstream(asset, project) for asset in _add_prefix(automated, project)]


def build_checks(project: Project) -> Sequence[dg.AssetChecksDefinition]:
    """Return the checks of tables against their descriptions and of systems against baselines."""
    return [*table_checks.build_table_checks(project), *build_gate_checks(project)]


def _add_prefix(
    assets: Iterable[dg.AssetsDefinition], project: Project
) -> Sequence[dg.AssetsDefinition]:
    """Add the prefix of the project to the keys of its assets, also where they are upstream."""
    assets = list(assets)
    if not project.namespace.key_prefix:
        return assets
    full_keys = {key: project.namespace.key(key) for asset in assets for key in asset.keys}
    return [asset.with_attributes(asset_key_replacements=full_keys) for asset in assets]


def _add_upstream(asset: dg.AssetsDefinition, project: Project) -> dg.AssetsDefinition:
    """Add the assets that write the files of the project to those upstream of the inputs."""
    upstream = upstream_keys(project)
    inputs = {project.namespace.key(key) for key in (QUESTIONS, PREDICTIONS)}
    if not upstream or inputs.isdisjoint(asset.keys):
        return asset
    # Their partitions, if they have any, are not benchmarks.
    every = dg.AllPartitionMapping()
    deps = [dg.AssetDep(key, partition_mapping=every) for key in upstream]
    return asset.map_asset_specs(lambda spec: spec.replace_attributes(deps=[*spec.deps, *deps]))


def _automate(spec: dg.AssetSpec, project: Project) -> dg.AssetSpec:
    """Add the owners, the full group, the automation condition and the freshness policy.

    Conditions have no effect until the sensor of declarative automation is enabled.
    """
    automation = project.automation
    condition: dg.AutomationCondition[Any]
    if spec.key in (QUESTIONS, PREDICTIONS):
        condition = _when_files_may_have_changed(project)
    else:
        changed: dg.AutomationCondition[Any] = dg.AutomationCondition.code_version_changed()
        due: dg.AutomationCondition[Any] = dg.AutomationCondition.eager() | (
            changed.since_last_handled() & ~dg.AutomationCondition.in_progress()
        )
        condition = due & dg.AutomationCondition.all_deps_blocking_checks_passed()
    automated = spec.replace_attributes(
        automation_condition=condition,
        owners=OWNERS,
        group_name=None if spec.group_name is None else project.namespace.group(spec.group_name),
    )
    if spec.key in (LEADERBOARD, PUBLISHED):
        window = timedelta(hours=automation.fresh_for_hours)
        policy = dg.FreshnessPolicy.time_window(fail_window=window)
        return automated.replace_attributes(freshness_policy=policy)
    return automated


def _when_files_may_have_changed(project: Project) -> dg.AutomationCondition[Any]:
    """Return the condition of the inputs: on the schedule, or when their files are written.

    Ingestion finds out whether they have changed.
    """
    automation = project.automation
    on_cron = dg.AutomationCondition.on_cron(automation.cron, automation.timezone)
    upstream = upstream_keys(project)
    if not upstream:
        return on_cron
    updated: dg.AutomationCondition[Any] = dg.AutomationCondition.any_deps_updated()
    written = (
        updated.since_last_handled()
        & ~dg.AutomationCondition.any_deps_in_progress()
        & ~dg.AutomationCondition.in_progress()
        & dg.AutomationCondition.all_deps_blocking_checks_passed()
    )
    # The schedule does not wait for assets that are materialized at other times.
    theirs = dg.AssetSelection.assets(*upstream)
    return on_cron.ignore(theirs) | written.allow(theirs)
