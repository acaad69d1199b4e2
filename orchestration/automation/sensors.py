"""The sensors: files that arrive, conditions of assets, and runs that fail. Off until enabled."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import dagster as dg

from orchestration import instance
from orchestration.automation import alerts
from orchestration.automation.file_watch import Watch
from orchestration.automation.partition_ranges import requests
from orchestration.jobs import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assets.project import Project

ARRIVALS = "prediction_files"
CONDITIONS = "declarative_automation"
ALERTS = "failure_alerts"
UNDER_WAY = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]


def sensors(project: Project) -> Sequence[dg.SensorDefinition]:
    """All sensors of a project; the one for alerts only where somebody is to be told."""
    made: list[dg.SensorDefinition] = [_arrivals(project), _conditions(project)]
    if alerts.address(project.alerts) is not None:
        made.append(_alerts(project))
    return made


def _arrivals(project: Project) -> dg.SensorDefinition:
    @dg.sensor(
        name=ARRIVALS,
        job_name=EVALUATE,
        minimum_interval_seconds=project.automation.interval_s,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Runs the benchmarks whose files are new or have changed, once they have been "
        "left alone for some seconds; many changes are one run.",
    )
    def prediction_files(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        watch, ready, moving = Watch.read(context.cursor).looked(project, time.time())
        busy = context.instance.get_runs_count(dg.RunsFilter(statuses=UNDER_WAY))
        if moving:
            why_not = f"still changing: {', '.join(moving)}"
        elif not ready:
            why_not = "no file is new or has changed"
        elif busy:
            why_not = f"{', '.join(ready)}: waiting for {busy} runs to end"
        else:
            instance.register(context.instance, list(project.benchmarks))
            asked = watch.asked(ready)
            return dg.SensorResult(
                run_requests=requests(project, ready, key=str(asked)), cursor=str(asked)
            )
        # What was seen is remembered, so that the waiting goes on.
        return dg.SensorResult(skip_reason=why_not, cursor=str(watch))

    return prediction_files


def _conditions(project: Project) -> dg.SensorDefinition:
    return dg.AutomationConditionSensorDefinition(
        CONDITIONS,
        target=dg.AssetSelection.all(),
        default_status=dg.DefaultSensorStatus.STOPPED,
        minimum_interval_seconds=project.automation.interval_s,
        description="Makes each asset when its own condition says so: inputs by the clock, what "
        "follows when something before it has changed and its checks hold. An alternative to the "
        "schedule and the sensor of files.",
    )


def _alerts(project: Project) -> dg.SensorDefinition:
    @dg.run_failure_sensor(
        name=ALERTS,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Posts a message to the configured webhook when a run has failed.",
    )
    def failure_alerts(context: dg.RunFailureSensorContext) -> None:
        address = alerts.address(project.alerts)
        if address is None:
            raise ValueError("alerts: the environment variable of the webhook is not set any more")
        failed = context.get_step_failure_events()
        alerts.post(
            address,
            alerts.Failure(
                project=str(project.home),
                job=context.dagster_run.job_name,
                run_id=context.dagster_run.run_id,
                steps=[str(event.step_key) for event in failed],
                message=context.failure_event.message or "",
            ),
        )

    return failure_alerts
