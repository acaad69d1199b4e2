"""`scoreline dev` with its daemon on a project, asked over GraphQL."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from orchestration import starter
from orchestration.config import load
from orchestration.jobs import EVALUATE, range_tags
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE_S = 240.0
REPOSITORY = {"repositoryName": "__repository__", "repositoryLocationName": "scoreline"}
LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchRun(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on PythonError { message }
  }
}"""
STEPS = """
query Steps($run: ID!) { runOrError(runId: $run) {
  ... on Run { stepStats { stepKey startTime endTime } }
} }"""
RUNS = "{ runsOrError { ... on Runs { results { runId status tags { key value } } } } }"
LOADED = """{ workspaceOrError { ... on Workspace { locationEntries {
  name locationOrLoadError { __typename }
} } } }"""
EVENTS = """
query Events($run: ID!) { logsForRun(runId: $run) {
  ... on EventConnection { events { ... on MessageEvent { message } } }
} }"""
BACKFILL = """
mutation Launch($params: LaunchBackfillParams!) {
  launchPartitionBackfill(backfillParams: $params) {
    __typename
    ... on LaunchBackfillSuccess { backfillId }
    ... on PythonError { message }
  }
}"""
BACKFILLS = """{ partitionBackfillsOrError {
  ... on PartitionBackfills { results { id status } }
} }"""
START_SENSOR = """
mutation Start($sensor: SensorSelector!) {
  startSensor(sensorSelector: $sensor) { __typename ... on PythonError { message } }
}"""
TICKS = """
query Ticks($sensor: SensorSelector!) {
  sensorOrError(sensorSelector: $sensor) {
    ... on Sensor { sensorState { ticks(limit: 20) { status skipReason error { message } } } }
  }
}"""


@dataclass
class Interface:
    """A running interface.

    Attributes:
        folder: The project.
        port: Where it listens.
        group: The group of its processes; None unless it has one of its own.
    """

    folder: Path
    port: int
    group: int | None = None

    @property
    def address(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def query(self, text: str, **variables: Any) -> Any:
        """The data of a GraphQL query."""
        body = json.dumps({"query": text, "variables": variables}).encode()
        request = urllib.request.Request(  # noqa: S310 - the address is its own
            f"{self.address}/graphql", data=body, headers={"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as reply:  # noqa: S310
            answer = json.load(reply)
        assert "errors" not in answer, answer["errors"]
        return answer["data"]

    def runs(self) -> list[dict[str, Any]]:
        """All runs, the latest first, with their tags as a mapping."""
        found = self.query(RUNS)["runsOrError"]["results"]
        return [{**run, "tags": {t["key"]: t["value"] for t in run["tags"]}} for run in found]

    def status(self, run: str) -> str:
        """The status of a run."""
        return next(str(each["status"]) for each in self.runs() if each["runId"] == run)

    def steps(self, run: str) -> dict[str, tuple[float, float | None]]:
        """Return the start and end times of the started steps of a run, in seconds."""
        found = self.query(STEPS, run=run)["runOrError"]["stepStats"]
        begun = [each for each in found if each["startTime"] is not None]
        return {each["stepKey"]: (each["startTime"], each["endTime"]) for each in begun}

    def kill(self) -> None:
        """Kill all its processes at once, as in a crash of the machine."""
        assert self.group is not None
        os.killpg(self.group, signal.SIGKILL)

    def process(self, run: str) -> int:
        """Return the process that executes a run; 0 before it has one."""
        events = self.query(EVENTS, run=run)["logsForRun"]["events"]
        messages = "\n".join(event.get("message") or "" for event in events)
        found = re.search(r"Started process for run \(pid: (\d+)\)", messages)
        return int(found[1]) if found else 0

    def backfills(self) -> list[dict[str, Any]]:
        """All backfills, the latest first."""
        found = self.query(BACKFILLS)["partitionBackfillsOrError"]["results"]
        return [dict(each) for each in found]

    def backfill(self, assets: list[list[str]], partitions: list[str]) -> str:
        """Launch a backfill of some assets and benchmarks."""
        params = {
            "assetSelection": [{"path": path} for path in assets],
            "partitionNames": partitions,
        }
        launched = self.query(BACKFILL, params=params)["launchPartitionBackfill"]
        assert launched["__typename"] == "LaunchBackfillSuccess", launched
        return str(launched["backfillId"])

    def launch(self, first: str, last: str, assets: list[list[str]] | None = None) -> str:
        """Queue a run, and return its id.

        Args:
            first: Its first benchmark.
            last: Its last benchmark.
            assets: The assets to materialize; all unless given.
        """
        selector: dict[str, Any] = {**REPOSITORY, "jobName": EVALUATE}
        if assets is not None:
            selector["assetSelection"] = [{"path": path} for path in assets]
        tags = [{"key": key, "value": name} for key, name in range_tags(first, last).items()]
        params = {"selector": selector, "executionMetadata": {"tags": tags}}
        launched = self.query(LAUNCH, params=params)["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched
        return str(launched["run"]["runId"])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """The result of a query on the warehouse."""
        project = load.load_config(self.folder / "scoreline.yaml").project
        return Warehouse(project.warehouse).fetch(sql).rows()


def until(what: str, found: Callable[[], Any]) -> Any:
    """Wait until a function returns a true value, and return that value."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        try:
            value = found()
        except OSError:
            value = None
        if value:
            return value
        time.sleep(0.5)
    raise TimeoutError(f"waited {PATIENCE_S:g} s for {what}")


def three_benchmarks(folder: Path, **more: Any) -> None:
    """Write the starter project with three copies of its benchmark."""
    starter.write_starter(folder)
    file = folder / "scoreline.yaml"
    document = yaml.safe_load(file.read_text(encoding="utf-8"))
    ((name, given),) = document["benchmarks"].items()
    data = folder / str(given["questions"]).split("/", maxsplit=1)[0]
    benchmarks = {}
    for each in ("north", "middle", "south"):
        shutil.copytree(data, folder / each)
        paths = {
            key: str(given[key]).replace(data.name, each, 1)
            for key in ("questions", "documents", "predictions")
            if key in given
        }
        benchmarks[each] = {**given, **paths}
    assert name not in benchmarks
    text = yaml.safe_dump({**document, "benchmarks": benchmarks, **more}, sort_keys=False)
    file.write_text(text, encoding="utf-8")


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop the interface as Ctrl-C does."""
    process.send_signal(signal.SIGINT)
    process.wait(timeout=120)


COMMAND = (sys.executable, "-m", "orchestration.cli")


@contextmanager
def interface(folder: Path, command: tuple[str, ...] = COMMAND) -> Iterator[Interface]:
    """Start the interface of a project with its daemon, and stop it at the end."""
    port = free_port()
    process = subprocess.Popen(
        [*command, "dev", "--port", str(port)],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    running = Interface(folder, port, process.pid)

    def answers() -> bool:
        assert process.poll() is None, "the interface ended"
        return bool(running.query(LOADED)["workspaceOrError"]["locationEntries"])

    try:
        until("the interface", answers)
        yield running
    finally:
        stop(process)
