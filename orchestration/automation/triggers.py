"""Defines the schedule and the sensors of a project; all of them are off until you enable them."""

from __future__ import annotations

import json
import time
from functools import partial
from typing import TYPE_CHECKING

import dagster as dg

from assets.keys import upstream_keys
from orchestration import instance
from orchestration.automation import alerts
from orchestration.automation.file_watch import FileWatch
from orchestration.automation.upstream_assets import benchmarks_to_run, latest_materializations
from orchestration.jobs import EVALUATE, RANGE_END, RANGE_START, range_tags, run_requests

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from assets.project import Project

NIGHTLY = "nightly"
PREDICTION_FILES = "prediction_files"
UPSTREAM_ASSETS = "upstream_assets"
CONDITIONS = "declarative_automation"
ALERTS = "failure_alerts"
UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def build_schedules(project: Project) -> Sequence[dg.ScheduleDefinition]:
    """Return the schedules of a project."""

    @dg.schedule(
        name=project.namespace.name(NIGHTLY),
        job_name=project.namespace.name(EVALUATE),
        cron_schedule=project.automation.cron,
        execution_timezone=project.automation.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Runs all benchmarks. Unchanged samples are not scored again, and the judge "
        "spends at most what is left of the daily budget.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
        _prepare(context.instance, project)
        return run_requests(
            project, project.benchmarks, key=context.scheduled_execution_time.isoformat()
        )

    return [nightly]


def build_sensors(project: Project, keys: Collection[dg.AssetKey]) -> Sequence[dg.SensorDefinition]:
    """Return the sensors of a project.

    There is one for alerts only with a webhook, and one for upstream assets only with `deps`.

    Args:
        project: The project.
        keys: Its assets.
    """
    sensors: list[dg.SensorDefinition] = [_file_sensor(project), _condition_sensor(project, keys)]
    if upstream_keys(project):
        sensors.append(_upstream_sensor(project))
    if alerts.webhook_url(project.alerts) is not None:
        sensors.append(_alert_sensor(project, keys))
    return sensors


def _prepare(dagster_instance: dg.DagsterInstance, project: Project) -> None:
    """Make the benchmarks the partitions; static ones, in a code location of a team, are."""
    if not project.namespace.is_shared:
        instance.set_partitions(dagster_instance, list(project.benchmarks))


def _count_unfinished(dagster_instance: dg.DagsterInstance, project: Project) -> int:
    """Return the number of runs to wait for; in a team's instance only those of the own job."""
    namespace = project.namespace
    job = namespace.name(EVALUATE) if namespace.is_shared else None
    return dagster_instance.get_runs_count(dg.RunsFilter(job_name=job, statuses=UNFINISHED))


def _file_sensor(project: Project) -> dg.SensorDefinition:
    @dg.sensor(
        name=project.namespace.name(PREDICTION_FILES),
        job_name=project.namespace.name(EVALUATE),
        minimum_interval_seconds=project.automation.interval_s,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Runs the benchmarks whose files are new or have changed, after no file has "
        "changed for some seconds. Many changes start one run. A run that failed starts again, "
        "after longer and longer pauses.",
    )
    def prediction_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        now = time.time()
        unfinished = _count_unfinished(context.instance, project)
        known = FileWatch.from_cursor(context.cursor)
        if not unfinished:
            known = known.mark_ended(partial(_has_succeeded, context.instance, project), now)
        watch, ready, changing = known.update(project, now)
        if changing:
            skip_reason = f"still changing: {', '.join(changing)}"
        elif not ready:
            skip_reason = "no file is new or has changed"
        elif unfinished:
            skip_reason = f"{', '.join(ready)}: waiting for {unfinished} runs to end"
        else:
            _prepare(context.instance, project)
            # The key counts the failures, so that Dagster accepts a retry.
            requests = run_requests(project, ready, key=watch.to_cursor())
            watch = watch.mark_requested(ready, _benchmarks_of(project, requests))
            return dg.SensorResult(run_requests=requests, cursor=watch.to_cursor())
        # The cursor is kept, so that the waiting time continues at the next tick.
        return dg.SensorResult(skip_reason=skip_reason, cursor=watch.to_cursor())

    return prediction_files


def _benchmarks_of(
    project: Project, requests: Sequence[dg.RunRequest]
) -> dict[str, tuple[str, str]]:
    """Return for each benchmark of some requests the first and the last one of its run."""
    names = list(project.benchmarks)
    found: dict[str, tuple[str, str]] = {}
    for request in requests:
        first, last = request.tags[RANGE_START], request.tags[RANGE_END]
        found |= dict.fromkeys(names[names.index(first) : names.index(last) + 1], (first, last))
    return found


def _has_succeeded(
    dagster_instance: dg.DagsterInstance, project: Project, benchmarks: Sequence[str]
) -> bool | None:
    """Return whether the last run of a range of benchmarks succeeded; None if none has ended.

    A canceled run counts as a success: it was stopped on purpose.
    """
    last = dagster_instance.get_runs(
        dg.RunsFilter(job_name=project.namespace.name(EVALUATE), tags=range_tags(*benchmarks)),
        limit=1,
    )
    if not last or not last[0].is_finished:
        return None
    return last[0].status is not dg.DagsterRunStatus.FAILURE


def _upstream_sensor(project: Project) -> dg.SensorDefinition:
    @dg.sensor(
        name=project.namespace.name(UPSTREAM_ASSETS),
        job_name=project.namespace.name(EVALUATE),
        minimum_interval_seconds=project.automation.interval_s,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Runs the benchmarks whose upstream assets (`deps`) were materialized. Many "
        "materializations start one run.",
    )
    def upstream_assets(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        latest = latest_materializations(context.instance, project)
        names = benchmarks_to_run(project, latest, context.cursor)
        if not names:
            return dg.SensorResult(skip_reason="no upstream asset was materialized")
        unfinished = _count_unfinished(context.instance, project)
        if unfinished:
            waiting = f"{', '.join(names)}: waiting for {unfinished} runs to end"
            return dg.SensorResult(skip_reason=waiting)
        _prepare(context.instance, project)
        cursor = json.dumps(latest)
        return dg.SensorResult(run_requests=run_requests(project, names, key=cursor), cursor=cursor)

    return upstream_assets


def _condition_sensor(project: Project, keys: Collection[dg.AssetKey]) -> dg.SensorDefinition:
    return dg.AutomationConditionSensorDefinition(
        project.namespace.name(CONDITIONS),
        target=dg.AssetSelection.assets(*keys),
        default_status=dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=project.automation.interval_s,
        description="Materializes each asset when its automation condition holds: inputs on the "
        "schedule, other assets when an upstream asset has changed and its checks pass. Use it "
        "instead of the schedule and the file sensor.",
    )


def _alert_sensor(project: Project, keys: Collection[dg.AssetKey]) -> dg.SensorDefinition:
    @dg.run_failure_sensor(
        name=project.namespace.name(ALERTS),
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Posts a message to the configured webhook when a run fails.",
    )
    def failure_alerts(context: dg.RunFailureSensorContext) -> None:
        if project.namespace.is_shared and not _concerns(context.dagster_run, project, keys):
            return
        url = alerts.webhook_url(project.alerts)
        if url is None:
            raise ValueError(
                f"alerts: the environment variable {project.alerts.webhook_env} is not set"
            )
        failed_steps = context.get_step_failure_events()
        alerts.post_alert(
            url,
            alerts.Failure(
                project=str(project.home),
                job=context.dagster_run.job_name,
                run_id=context.dagster_run.run_id,
                steps=[str(event.step_key) for event in failed_steps],
                message=context.failure_event.message or "",
            ),
        )

    return failure_alerts


def _concerns(run: dg.DagsterRun, project: Project, keys: Collection[dg.AssetKey]) -> bool:
    """Return whether a run in a team's code location is about assets of the project."""
    selected = run.asset_selection or frozenset()
    return run.job_name == project.namespace.name(EVALUATE) or not selected.isdisjoint(keys)
