"""The services of `deploy/compose.yaml` as processes of this machine, and runs through all of them.

The webserver queues a run for each benchmark, the daemon starts them on the code location, and
PostgreSQL stores their events.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from orchestration.jobs import RANGE_START
from tests.orchestration.daemon import LOADED, Interface, free_port, three_benchmarks, until
from tests.support import services

if TYPE_CHECKING:
    from collections.abc import Iterator

DEPLOY = Path(__file__).parents[1] / "deploy"
pytestmark = services.takes_longest


def commands(ports: dict[str, str]) -> dict[str, list[str]]:
    """What Compose starts from our image, with addresses of this machine."""
    document = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    found = {}
    for name in ("code", "webserver", "daemon"):
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


@pytest.mark.timeout(900)
def test_a_backfill_is_one_run_per_benchmark_through_all_services(tmp_path: Path) -> None:
    three_benchmarks(tmp_path, execution={"run_per_benchmark": True})
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
            "SCORELINE_CONFIG": str(tmp_path / "scoreline.yaml"),
        }
        prepare = [sys.executable, "-m", "orchestration.cli", "dev", "--prepare"]
        subprocess.run(prepare, cwd=tmp_path, env=environment, check=True)
        with started(tmp_path, ports, environment):
            web = Interface(tmp_path, int(ports["3000"]))
            assets = [["questions"], ["predictions"], ["scores", "citation"]]
            loaded = [
                {"name": "scoreline", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
            ]
            until(
                "the code location",
                lambda: web.query(LOADED)["workspaceOrError"]["locationEntries"] == loaded,
            )
            web.backfill(assets, ["north", "south"])
            finished = {"SUCCESS", "FAILURE"}
            until("the runs", lambda: [r["status"] in finished for r in web.runs()] == [True, True])
            statuses = [run["status"] for run in web.runs()]
            assert statuses == ["SUCCESS", "SUCCESS"], (tmp_path / "code.log").read_text()
            partitions = {run["tags"][RANGE_START] for run in web.runs()}
            assert partitions == {"north", "south"}
            scored = web.rows("SELECT DISTINCT benchmark FROM scores ORDER BY ALL")
            assert scored == [("north",), ("south",)]
