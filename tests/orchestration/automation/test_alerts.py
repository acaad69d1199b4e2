"""Alerts of failed runs, and runs whose process was killed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError

import dagster as dg
import pytest

from assets.project import Alerts
from orchestration import definitions, starter
from orchestration import instance as instances
from orchestration.automation import alerts, triggers
from orchestration.config import load
from orchestration.jobs import EVALUATE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assets.project import Project


class Webhook:
    """A real server on loopback that keeps what is posted to it."""

    def __init__(self) -> None:
        received = self.received = list[dict[str, Any]]()
        self.status = 200
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.headers["Content-Type"] == "application/json"
                received.append(json.loads(body))
                self.send_response(webhook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_port}/hook"

    def close(self) -> None:
        """Stop."""
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    made = Webhook()
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    starter.write_starter(tmp_path)
    return load.load_config(tmp_path / "scoreline.yaml").project


def test_a_failed_run_is_posted(
    project: Project, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", webhook.address)
    configured = replace(project, alerts=Alerts(webhook_env="HOOK"))
    for benchmark in project.benchmarks.values():
        for path in benchmark.predictions.parent.glob("*"):
            path.write_text("{ not json", encoding="utf-8")
    repository = definitions.build_definitions(configured).get_repository_def()
    sensor = repository.get_sensor_def(triggers.ALERTS)
    assert sensor.default_status is dg.DefaultSensorStatus.STOPPED
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("benchmarks", list(project.benchmarks))
        failed = repository.get_job(EVALUATE).execute_in_process(
            instance=instance,
            raise_on_error=False,
            tags={
                "dagster/asset_partition_range_start": "harbour",
                "dagster/asset_partition_range_end": "harbour",
            },
        )
        assert not failed.success
        context = dg.build_run_status_sensor_context(
            sensor_name=triggers.ALERTS,
            dagster_event=failed.get_run_failure_event(),
            dagster_instance=instance,
            dagster_run=failed.dagster_run,
        ).for_run_failure()
        sensor(context)
    (posted,) = webhook.received
    assert posted["run_id"] == failed.run_id
    assert posted["job"] == EVALUATE
    assert posted["text"].startswith(f"Scoreline: run {failed.run_id[:8]} of evaluate failed")
    assert posted["project"] == str(project.home)


def test_a_webhook_that_refuses_is_an_error(webhook: Webhook) -> None:
    webhook.status = 500
    failure = alerts.Failure(project="p", job="j", run_id="r" * 32, message="m" * 10_000)
    with pytest.raises(HTTPError):
        alerts.post_alert(webhook.address, failure)
    assert len(webhook.received[0]["message"]) == alerts.MAX_MESSAGE_CHARS


def test_there_is_no_sensor_without_a_webhook(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOOK", raising=False)
    for none in (Alerts(), Alerts(webhook_env="HOOK")):
        assert alerts.webhook_url(none) is None
        built = definitions.build_definitions(replace(project, alerts=none)).get_repository_def()
        assert triggers.ALERTS not in {each.name for each in built.sensor_defs}


def test_a_run_whose_process_was_killed_is_reported_as_failed(project: Project) -> None:
    job = definitions.build_definitions(project).resolve_job_def(EVALUATE)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    own = instances.process_tags()
    host = own[instances.PROCESS].partition("@")[2]
    with dg.DagsterInstance.ephemeral() as instance:
        started = dg.DagsterRunStatus.STARTED
        runs = [
            instance.create_run_for_job(job, status=started, tags=tags)
            for tags in (
                {instances.PROCESS: f"{gone.pid}@{host}"},
                {instances.PROCESS: f"{gone.pid}@elsewhere"},
                own,
                {},
            )
        ]
        assert instances.fail_orphaned_runs(instance) == 1
        found = [instance.get_run_by_id(run.run_id) for run in runs]
        failed = dg.DagsterRunStatus.FAILURE
        assert [run and run.status for run in found] == [failed, started, started, started]
        # A re-execution has not started as long as it has the tag of its parent.
        ((first, failed_run), *_) = zip(runs, found, strict=True)
        assert failed_run is not None
        again = instance.create_run_for_job(
            job,
            status=started,
            tags=failed_run.tags,
            parent_run_id=first.run_id,
            root_run_id=first.run_id,
        )
        assert instances.fail_orphaned_runs(instance) == 0
        other = subprocess.Popen([sys.executable, "-c", ""])
        other.wait()
        instance.add_run_tags(again.run_id, {instances.PROCESS: f"{other.pid}@{host}"})
        instance.report_run_canceling(again)
        assert instances.fail_orphaned_runs(instance) == 1
        closed = instance.get_run_by_id(again.run_id)
        assert closed is not None
        assert closed.status is dg.DagsterRunStatus.CANCELED
