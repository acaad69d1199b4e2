"""Defines the schedule and the sensors of a project; all of them are off until you enable them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dagster as dg

from orchestration import instance
from orchestration.automation import alerts
from orchestration.automation.file_watch import FileWatch
from orchestration.jobs import EVALUATE, run_requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project

NIGHTLY = "nightly"
PREDICTION_FILES = "prediction_files"
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
        name=NIGHTLY,
        job_name=EVALUATE,
        cron_schedule=project.automation.cron,
        execution_timezone=project.automation.timezone,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Runs all benchmarks. Unchanged samples are not scored again, and the judge "
        "spends at most what is left of the daily budget.",
    )
    def nightly(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest]:
        instance.set_partitions(context.instance, list(project.benchmarks))
        return run_requests(
            project, project.benchmarks, key=context.scheduled_execution_time.isoformat()
        )

    return [nightly]


def build_sensors(project: Project) -> Sequence[dg.SensorDefinition]:
    """Return the sensors of a project; without a webhook there is none for alerts."""
    sensors: list[dg.SensorDefinition] = [_file_sensor(project), _condition_sensor(project)]
    if alerts.webhook_url(project.alerts) is not None:
        sensors.append(_alert_sensor(project))
    return sensors


def _file_sensor(project: Project) -> dg.SensorDefinition:
    @dg.sensor(
        name=PREDICTION_FILES,
        job_name=EVALUATE,
        minimum_interval_seconds=project.automation.interval_s,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Runs the benchmarks whose files are new or have changed, after no file has "
        "changed for some seconds. Many changes start one run.",
    )
    def prediction_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        watch, ready, changing = FileWatch.from_cursor(context.cursor).update(project, time.time())
        unfinished = context.instance.get_runs_count(dg.RunsFilter(statuses=UNFINISHED))
        if changing:
            skip_reason = f"still changing: {', '.join(changing)}"
        elif not ready:
            skip_reason = "no file is new or has changed"
        elif unfinished:
            skip_reason = f"{', '.join(ready)}: waiting for {unfinished} runs to end"
        else:
            instance.set_partitions(context.instance, list(project.benchmarks))
            cursor = watch.mark_requested(ready).to_cursor()
            return dg.SensorResult(
                run_requests=run_requests(project, ready, key=cursor), cursor=cursor
            )
        # The cursor is kept, so that the waiting time continues at the next tick.
        return dg.SensorResult(skip_reason=skip_reason, cursor=watch.to_cursor())

    return prediction_files


def _condition_sensor(project: Project) -> dg.SensorDefinition:
    return dg.AutomationConditionSensorDefinition(
        CONDITIONS,
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=project.automation.interval_s,
        description="Materializes each asset when its automation condition holds: inputs on the "
        "schedule, other assets when an upstream asset has changed and its checks pass. Use it "
        "instead of the schedule and the file sensor.",
    )


def _alert_sensor(project: Project) -> dg.SensorDefinition:
    @dg.run_failure_sensor(
        name=ALERTS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Posts a message to the configured webhook when a run fails.",
    )
    def failure_alerts(context: dg.RunFailureSensorContext) -> None:
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
