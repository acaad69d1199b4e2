"""The composite action: its steps as GitHub runs them, on a project that becomes worse."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
import yaml

from orchestration import starter
from tests.support.documents import ROOT
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ACTION = ROOT / "deploy" / "github-action" / "action.yml"
INSTALLED = "Install"


class Job:
    """A job of GitHub Actions with the composite action as its only step."""

    def __init__(self, workspace: Path, given: Mapping[str, str]) -> None:
        action = yaml.safe_load(ACTION.read_text())
        self.workspace = workspace
        self.summary = workspace.parent / "summary.md"
        self.inputs = {name: each.get("default") for name, each in action["inputs"].items()}
        assert given.keys() <= self.inputs.keys()
        self.inputs |= given
        self.steps: list[dict[str, Any]] = action["runs"]["steps"]
        self.ended: dict[str, subprocess.CompletedProcess[str]] = {}

    def run(self) -> bool:
        """Run the steps that are commands until one fails; return whether all passed."""
        for step in self._commands():
            done = subprocess.run(
                # As GitHub starts `shell: bash`.
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                cwd=self.workspace,
                env={**os.environ, **self._variables(step)},
                capture_output=True,
                text=True,
                check=False,
            )
            self.ended[step["name"]] = done
            if done.returncode:
                return False
        return True

    def _commands(self) -> Iterator[dict[str, Any]]:
        for step in self.steps:
            if "run" not in step or step["name"] == INSTALLED:
                continue
            if step.get("if") == "inputs.gate-options != ''" and not self.inputs["gate-options"]:
                continue
            yield step

    def _variables(self, step: Mapping[str, Any]) -> dict[str, str]:
        assert "${{" not in step["run"]
        found = {
            name: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: self.inputs[m[1]], value)
            for name, value in step["env"].items()
        }
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {**found, "PATH": path, "GITHUB_STEP_SUMMARY": str(self.summary)}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    starter.write_starter(folder / "evaluation")
    return folder


@takes_minutes
def test_a_regression_fails_the_job(workspace: Path) -> None:
    given = {
        "config": "evaluation/scoreline.yaml",
        "gate-options": "--system reader --min citation.f1=0.5",
    }
    job = Job(workspace, given)
    assert job.run(), job.ended
    assert "# harbour" in job.summary.read_text()
    assert job.ended["Gate"].stderr.endswith("'reader' passes: 1 met\n")

    answers = workspace / "evaluation" / "data" / "predictions_reader.jsonl"
    rows = [
        json.loads(line) | {"cited_sentence_ids": []} for line in answers.read_text().splitlines()
    ]
    answers.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    job = Job(workspace, given)
    assert not job.run()
    assert job.ended["Run"].returncode == 0, job.ended["Run"].stderr
    assert job.ended["Gate"].returncode == 1
    (suite,) = ET.parse(workspace / "scoreline-gate.xml").getroot()  # noqa: S314 - ours
    assert suite.attrib["failures"] == "1"
    assert "| reader | citation.f1 | missed |" in job.summary.read_text()
    # The job has what the next one starts from.
    assert (workspace / "evaluation" / ".scoreline" / "warehouse.duckdb").is_file()


@takes_minutes
def test_a_problem_fails_the_run(workspace: Path) -> None:
    severe = {"config": "evaluation/scoreline.yaml", "run-options": "--fail-on high"}
    assert Job(workspace, severe).run()
    job = Job(workspace, severe | {"run-options": "--fail-on low"})
    assert not job.run()
    assert "problems" in job.ended["Run"].stderr.splitlines()[-1]


def test_options_are_not_part_of_the_script(workspace: Path) -> None:
    hostile = {
        "config": "evaluation/scoreline.yaml",
        "run-options": "--help; touch harm $(touch harm)",
    }
    job = Job(workspace, hostile)
    job.run()
    assert not (workspace / "harm").exists()
