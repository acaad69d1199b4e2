"""`scoreline dev`: the interface comes up on the project and shows the runs of the command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

QUERY = """{
  workspaceOrError { ... on Workspace { locationEntries {
    name locationOrLoadError { __typename }
  } } }
  runsOrError { ... on Runs { results { jobName status } } }
  assetsOrError { ... on AssetConnection { nodes { key { path } definition { partitionKeys } } } }
}"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def asked(port: int, process: subprocess.Popen[bytes], patience_s: float = 120.0) -> object:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/graphql",
        data=json.dumps({"query": QUERY}).encode(),
        headers={"content-type": "application/json"},
    )
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        assert process.poll() is None, "it ended by itself"
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
                return json.load(reply)["data"]
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.5)
    raise TimeoutError(f"nothing answers on port {port}")


def test_the_interface_shows_the_project(done_project: Path) -> None:
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
    process = subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli", "dev", "--port", str(port)],
        cwd=done_project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        data = asked(port, process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert isinstance(data, dict)
    assert data["workspaceOrError"]["locationEntries"] == [
        {"name": "scoreline", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
    ]
    assert data["runsOrError"]["results"] == [{"jobName": "evaluate", "status": "SUCCESS"}]
    partitions = {
        "/".join(node["key"]["path"]): node["definition"]["partitionKeys"]
        for node in data["assetsOrError"]["nodes"]
    }
    assert partitions["scores/citation"] == ["harbour"]
