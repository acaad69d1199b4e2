"""Automated runs: schedule, file sensor, automation conditions, and their budget."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from assets.judging.budget import engines_within_budget, retry_request
from assets.keys import BENCHMARKS
from assets.project import Automation
from orchestration import definitions, starter
from orchestration.automation import triggers
from orchestration.automation.file_watch import FileWatch
from orchestration.automation.triggers import NIGHTLY
from orchestration.config import load
from orchestration.jobs import EVALUATE
from tests.support.services import takes_minutes
from tests.warehouse.ledger.rows import judgment
from warehouse.ledger.open import open_ledger
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assets.project import Project

AUTOMATED = {"dagster/sensor_name": "prediction_files"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    starter.write_starter(tmp_path)
    found = load.load_config(tmp_path / "scoreline.yaml").project
    return replace(found, automation=Automation(settle_s=10))


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.instance_for_test() as made:
        yield made


class Clock:
    """The clock of the sensor."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def time(self) -> float:
        """Now."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(triggers, "time", made)
    return made


class Sensor:
    """The sensor of files, evaluated by Dagster itself, tick after tick."""

    def __init__(
        self, project: Project, instance: dg.DagsterInstance, cursor: str | None = None
    ) -> None:
        self.repository = definitions.build_definitions(project).get_repository_def()
        self.instance = instance
        self.cursor = cursor

    def tick(self) -> Any:
        """Evaluate the sensor once."""
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, repository_def=self.repository
        )
        sensor = self.repository.get_sensor_def(triggers.PREDICTION_FILES)
        result = sensor.evaluate_tick(context)
        self.cursor = result.cursor
        return result


def answers(project: Project) -> list[Path]:
    (benchmark,) = project.benchmarks.values()
    return sorted(benchmark.predictions.parent.glob("*"))


def test_schedules_and_sensors_are_off_by_default(project: Project) -> None:
    repository = definitions.build_definitions(project).get_repository_def()
    assert {each.name for each in repository.sensor_defs} == {
        triggers.PREDICTION_FILES,
        triggers.CONDITIONS,
    }
    stopped = dg.DefaultSensorStatus.STOPPED
    assert all(each.default_status is stopped for each in repository.sensor_defs)
    (nightly,) = repository.schedule_defs
    assert nightly.default_status is dg.DefaultScheduleStatus.STOPPED


@takes_minutes
def test_the_nightly_schedule_runs_every_benchmark(
    project: Project, instance: dg.DagsterInstance
) -> None:
    repository = definitions.build_definitions(project).get_repository_def()
    schedule = repository.get_schedule_def(NIGHTLY)
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("0 2 * * *", "UTC")
    when = datetime(2026, 11, 20, 2, tzinfo=UTC)
    context = dg.build_schedule_context(
        instance=instance, scheduled_execution_time=when, repository_def=repository
    )
    (request,) = schedule.evaluate_tick(context).run_requests or ()
    assert request.tags["dagster/asset_partition_range_start"] == "harbour"
    assert instance.get_dynamic_partitions(str(BENCHMARKS.name)) == list(project.benchmarks)
    done = repository.get_job(EVALUATE).execute_in_process(
        instance=instance, tags=dict(request.tags)
    )
    assert done.success
    assert Warehouse(project.warehouse).fetch("SELECT count(*) FROM leaderboard").item() > 0


def test_files_must_settle(project: Project, instance: dg.DagsterInstance, clock: Clock) -> None:
    sensor = Sensor(project, instance)
    assert "still changing: harbour" in sensor.tick().skip_message
    clock.now += 9
    assert "still changing" in sensor.tick().skip_message
    clock.now += 1
    (request,) = sensor.tick().run_requests
    assert request.tags["dagster/asset_partition_range_end"] == "harbour"
    clock.now += 60
    assert "no file is new" in sensor.tick().skip_message

    # A file that is being written grows between ticks; a new system is a new file.
    first = answers(project)[0]
    (benchmark,) = project.benchmarks.values()
    fresh = Path(str(benchmark.predictions).replace("{system}", "fresh"))
    text = first.read_text(encoding="utf-8")
    for part in (10, 200, len(text)):
        fresh.write_text(text[:part], encoding="utf-8")
        clock.now += 30
        assert "still changing" in sensor.tick().skip_message
    clock.now += 10
    (request,) = sensor.tick().run_requests
    clock.now += 10
    assert sensor.tick().run_requests in (None, [])


def test_a_new_benchmark_is_registered_and_run_alone(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    sensor.tick()
    clock.now += 10
    assert sensor.tick().run_requests
    (known,) = project.benchmarks.values()
    more = {**project.benchmarks, "island": replace(known, name="island")}
    later = Sensor(replace(project, benchmarks=more), instance, sensor.cursor)
    assert "still changing: island" in later.tick().skip_message
    clock.now += 10
    (request,) = later.tick().run_requests
    assert request.tags["dagster/asset_partition_range_start"] == "island"
    assert request.tags["dagster/asset_partition_range_end"] == "island"
    assert instance.get_dynamic_partitions(str(BENCHMARKS.name)) == ["harbour", "island"]


def test_many_changes_are_one_run_after_the_current_one(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    sensor.tick()
    for at, path in enumerate(answers(project) * 3):
        path.write_bytes(path.read_bytes() + b"\n")
        os.utime(path, ns=(at, at))
        clock.now += 1
        sensor.tick()
    job = definitions.build_definitions(project).resolve_job_def(EVALUATE)
    running = instance.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED)
    clock.now += 10
    assert "waiting for 1 runs to end" in sensor.tick().skip_message
    instance.report_run_failed(running)
    assert len(sensor.tick().run_requests) == 1
    clock.now += 100
    assert "no file is new" in sensor.tick().skip_message


def test_a_clock_that_jumps_back_restarts_the_waiting_time(project: Project) -> None:
    watch, _, moving = FileWatch().update(project, 1_000)
    assert moving == ["harbour"]
    watch, ready, moving = watch.update(project, 500)
    assert (ready, moving) == ([], ["harbour"])
    watch, ready, _ = watch.update(project, 510)
    assert ready == ["harbour"]
    assert FileWatch.from_cursor(watch.to_cursor()) == watch


def test_missing_files_are_not_ready(project: Project) -> None:
    watch = FileWatch().update(project, 0)[0]
    for path in answers(project):
        path.rename(path.with_suffix(".gone"))
    watch, ready, moving = watch.update(project, 100)
    assert (ready, moving) == ([], [])


@takes_minutes
@pytest.mark.filterwarnings("ignore:Parameter .include_sources.")  # Dagster's own use of it
def test_automation_conditions_request_the_inputs_at_night(
    project: Project, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions(str(BENCHMARKS.name), list(project.benchmarks))
    built = definitions.build_definitions(project)
    night = datetime(2026, 11, 20, 1, 59, tzinfo=UTC)
    before = dg.evaluate_automation_conditions(built, instance=instance, evaluation_time=night)
    assert before.total_requested == 0
    after = dg.evaluate_automation_conditions(
        built,
        instance=instance,
        cursor=before.cursor,
        evaluation_time=night + timedelta(minutes=2),
    )
    asked = {
        key.to_user_string()
        for key in built.resolve_asset_graph().get_all_asset_keys()
        if after.get_num_requested(key)
    }
    assert {"questions", "predictions"} <= asked
    fresh = built.resolve_asset_graph().get(dg.AssetKey("leaderboard")).freshness_policy
    assert fresh == dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=26))


class JudgeFactory:
    """A judge factory that only knows its budget."""

    def __init__(self, budget_usd: float | None = None) -> None:
        self.budget_usd = budget_usd

    def skip_reason(self) -> None:
        """Return None: the judge is called."""

    def with_daily_budget(self, budget_usd: float) -> JudgeFactory:
        """Return a factory with a daily budget."""
        return JudgeFactory(budget_usd)


def paid(project: Project, *ages_h: float) -> None:
    """Judgments of 1 USD each, so many hours ago."""
    with open_ledger(Warehouse(project.warehouse), "earlier") as ledger:
        for number, age in enumerate(ages_h):
            with pytest.MonkeyPatch.context() as clock:
                at = time.time() - age * 3600
                clock.setattr("calls.ledger.owners.time.time", lambda at=at: at)
                ledger.settle(None, 1.0)
                ledger.record_judgment(judgment(number)).result()


def test_automated_runs_share_one_budget(project: Project) -> None:
    warehouse = Warehouse(project.warehouse)
    judged: Any = JudgeFactory()
    asking = replace(project, engines=replace(project.engines, judge_factory=judged))
    manual, why = engines_within_budget(asking, warehouse, {})
    assert (manual.judge_factory, why) == (judged, None)
    automated, why = engines_within_budget(asking, warehouse, AUTOMATED)
    assert automated.judge_factory is None
    assert "set judge.budget_usd" in str(why)

    limited = replace(asking, automation=Automation(daily_budget_usd=5))
    # One long ago, two today, and one with the time of a clock that was ahead.
    paid(project, 25, 23, 1, -3)
    left: Any = engines_within_budget(limited, warehouse, AUTOMATED)[0].judge_factory
    assert left.budget_usd == 5
    assert engines_within_budget(limited, warehouse, {})[0].judge_factory is judged
    spent, why = engines_within_budget(
        replace(asking, automation=Automation(daily_budget_usd=3)), warehouse, AUTOMATED
    )
    assert spent.judge_factory is None
    assert "the budget of 3 USD for 24 hours is spent" in str(why)


def test_the_daily_budget_defaults_to_the_judge_budget(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    text = file.read_text(encoding="utf-8")
    file.write_text(f"judge: {{model: openai/x, budget_usd: 2.5}}\n{text}", encoding="utf-8")
    assert load.load_config(file).project.automation.daily_budget_usd == 2.5
    more = "automation: {daily_budget_usd: 1, cron: '30 3 * * 1', timezone: Europe/Berlin}\n"
    file.write_text(f"judge: {{model: openai/x, budget_usd: 2.5}}\n{more}{text}", encoding="utf-8")
    automation = load.load_config(file).project.automation
    assert (automation.daily_budget_usd, automation.cron) == (1, "30 3 * * 1")
    for wrong, message in (
        ("cron: daily", "expected a cron expression"),
        ("timezone: Berlin", "unknown time zone"),
    ):
        file.write_text(f"automation: {{{wrong}}}\n{text}", encoding="utf-8")
        with pytest.raises(load.SettingsError, match=message):
            load.load_config(file)


def test_only_automated_runs_retry() -> None:
    assert retry_request({}, 0) is None
    pauses = [retry_request(AUTOMATED, retry) for retry in range(3)]
    assert [each and each.seconds_to_wait for each in pauses] == [30, 60, 120]


class Runs:
    """Runs of what the sensor requests, which end as a test says."""

    def __init__(self, project: Project, sensor: Sensor) -> None:
        self.job = definitions.build_definitions(project).resolve_job_def(EVALUATE)
        self.sensor = sensor
        self.keys: set[str] = set()

    def end(self, request: dg.RunRequest, status: dg.DagsterRunStatus) -> None:
        """Start the run of a request, and end it after a tick."""
        assert request.run_key not in self.keys, "Dagster would not start it again"
        self.keys.add(str(request.run_key))
        instance = self.sensor.instance
        run = instance.create_run_for_job(
            self.job, tags=dict(request.tags), status=dg.DagsterRunStatus.STARTED
        )
        assert not self.sensor.tick().run_requests
        if status is dg.DagsterRunStatus.FAILURE:
            instance.report_run_failed(run)
        elif status is dg.DagsterRunStatus.CANCELED:
            instance.report_run_canceled(run)
        else:
            event = dg.DagsterEvent(dg.DagsterEventType.RUN_SUCCESS.value, self.job.name)
            instance.report_dagster_event(event, run.run_id)


def test_a_failed_run_starts_again_after_longer_and_longer_pauses(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    runs = Runs(project, sensor)
    sensor.tick()
    clock.now += 10
    (request,) = sensor.tick().run_requests
    for pause in (0, 60, 180, 420):
        runs.end(request, dg.DagsterRunStatus.FAILURE)
        if pause:
            assert not sensor.tick().run_requests
            clock.now += pause - 1
            assert not sensor.tick().run_requests
            clock.now += 1
        (request,) = sensor.tick().run_requests
    runs.end(request, dg.DagsterRunStatus.SUCCESS)
    assert not sensor.tick().run_requests
    clock.now += 1_000_000
    assert "no file is new" in sensor.tick().skip_message


@takes_minutes
def test_a_change_of_the_files_ends_the_pause(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    runs = Runs(project, sensor)
    sensor.tick()
    clock.now += 10
    (request,) = sensor.tick().run_requests
    for _ in range(5):
        runs.end(request, dg.DagsterRunStatus.FAILURE)
        found = sensor.tick().run_requests
        if not found:
            clock.now += 86_400
            found = sensor.tick().run_requests
        (request,) = found
    runs.end(request, dg.DagsterRunStatus.FAILURE)
    assert not sensor.tick().run_requests
    with answers(project)[0].open("a", encoding="utf-8") as file:
        file.write("\n")
    sensor.tick()
    clock.now += 10
    (request,) = sensor.tick().run_requests
    assert request.run_key not in runs.keys


@takes_minutes
def test_a_canceled_run_is_not_started_again(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    sensor.tick()
    clock.now += 10
    (request,) = sensor.tick().run_requests
    Runs(project, sensor).end(request, dg.DagsterRunStatus.CANCELED)
    clock.now += 1_000_000
    assert not sensor.tick().run_requests


def test_another_content_of_the_same_size_and_time_is_noticed(
    project: Project, instance: dg.DagsterInstance, clock: Clock
) -> None:
    sensor = Sensor(project, instance)
    sensor.tick()
    clock.now += 10
    (request,) = sensor.tick().run_requests
    Runs(project, sensor).end(request, dg.DagsterRunStatus.SUCCESS)
    file = answers(project)[0]
    before, content = file.stat(), file.read_bytes()
    file.write_bytes(content.replace(b"the", b"teh", 1))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert "still changing: harbour" in sensor.tick().skip_message
    clock.now += 10
    assert len(sensor.tick().run_requests) == 1
