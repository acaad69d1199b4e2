"""The services of `deploy/compose.yaml` as processes of this machine, and a run through them all.

The webserver is asked for a run, the daemon takes it from the queue, the code location leads it, a
worker carries out its steps, and PostgreSQL and Redis stand in between.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestration import starter
from orchestration.automation.partition_ranges import range_tags
from tests import services
from tests.orchestration.daemon import Interface, free_port, until

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[1] / "deploy"
LAUNCH = """
mutation Launch($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) { __typename }
}"""
JOB = {
    "repositoryLocationName": "scoreline",
    "repositoryName": "__repository__",
    "pipelineName": "evaluate",
}

pytestmark = services.takes_longest


def commands(ports: dict[str, str]) -> dict[str, list[str]]:
    """What Compose starts from our image, with addresses of this machine."""
    document = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    found = {}
    for name in ("code", "worker", "webserver", "daemon"):
        words = document["services"][name]["command"]
        if words[:2] == ["sh", "-c"]:
            words = words[2].partition(" && exec ")[2].split()
        moved = [ports.get(word, word).replace("0.0.0.0", "127.0.0.1") for word in words]  # noqa: S104
        program = {"scoreline": [sys.executable, "-m", "orchestration.cli"]}.get(
            moved[0], [str(Path(sys.executable).with_name(moved[0]))]
        )
        found[name] = [*program, *moved[1:]]
    return found


@contextmanager
def started(folder: Path, ports: dict[str, str], environment: dict[str, str]) -> Iterator[None]:
    running = []
    try:
        for name, command in commands(ports).items():
            with (folder / f"{name}.log").open("wb") as log:
                running.append(
                    subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
                )
        yield
    finally:
        # The code location last: it waits for those who are connected to it.
        for each in reversed(running):
            each.terminate()
            try:
                each.wait(timeout=30)
            except subprocess.TimeoutExpired:
                each.kill()
                each.wait()


@pytest.mark.timeout(600)
def test_a_run_goes_through_all_services(tmp_path: Path) -> None:
    starter.write(tmp_path)
    with (tmp_path / "scoreline.yaml").open("a", encoding="utf-8") as more:
        more.write("\nexecution: {executor: celery}\n")
    home = tmp_path / ".scoreline" / "dagster"
    home.mkdir(parents=True)
    shutil.copy(DEPLOY / "dagster.yaml", home)
    ports = {"4000": str(free_port()), "3000": str(free_port())}
    workspace = (DEPLOY / "workspace.yaml").read_text(encoding="utf-8")
    here = workspace.replace("host: code", "host: 127.0.0.1").replace("4000", ports["4000"])
    (home / "workspace.yaml").write_text(here, encoding="utf-8")
    with services.database() as database:
        environment = {
            **os.environ,
            "DAGSTER_HOME": str(home),
            "DAGSTER_POSTGRES_HOST": services.POSTGRES["host"],
            "DAGSTER_POSTGRES_USER": services.POSTGRES["user"],
            "DAGSTER_POSTGRES_DB": database,
            "DAGSTER_POSTGRES_PASSWORD": "none",
            "SCORELINE_BROKER": services.redis(),
            "SCORELINE_CONFIG": str(tmp_path / "scoreline.yaml"),
        }
        ready = [sys.executable, "-m", "orchestration.instance", "scoreline.yaml"]
        subprocess.run(ready, cwd=tmp_path, env=environment, check=True)
        with started(tmp_path, ports, environment):
            web = Interface(tmp_path, int(ports["3000"]))
            tags = [{"key": k, "value": v} for k, v in range_tags("harbour", "harbour").items()]
            params: dict[str, Any] = {
                "selector": JOB,
                "runConfigData": {},
                "executionMetadata": {"tags": tags},
            }

            def launched() -> bool:
                told = web.query(LAUNCH, params=params)["launchPipelineExecution"]
                return bool(told["__typename"] == "LaunchRunSuccess")

            until("the code location", launched)
            until("the run", lambda: web.runs()[0]["status"] in ("SUCCESS", "FAILURE"))
            assert [run["status"] for run in web.runs()] == ["SUCCESS"]
            assert len(web.rows("SELECT DISTINCT system FROM leaderboard")) == 2
    assert b"succeeded" in (tmp_path / "worker.log").read_bytes()
