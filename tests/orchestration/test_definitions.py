"""The definitions: the graph of the starter project, and Dagster's validation."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import dagster as dg

from orchestration import definitions, starter
from orchestration.config import load
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = {
    "questions": ("inputs", set()),
    "predictions": ("inputs", {"questions"}),
    "scores/citation": ("citations", {"questions", "predictions"}),
    "scores/evidence_overlap": ("citations", {"questions", "predictions"}),
    "scores/document_retrieval": ("retrieval", {"questions", "predictions"}),
    "leaderboard": (
        "results",
        {"scores/citation", "scores/evidence_overlap", "scores/document_retrieval"},
    ),
    "calibration": ("results", {"leaderboard"}),
    "problems": ("results", {"leaderboard", "calibration"}),
    "insights": ("results", {"leaderboard"}),
    "published": ("results", {"leaderboard", "calibration", "problems", "insights"}),
}


def test_the_graph(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    built = definitions.build_definitions(load.load_config(tmp_path / "scoreline.yaml").project)
    dg.Definitions.validate_loadable(built)
    specs = list(built.resolve_all_asset_specs())
    found = {
        spec.key.to_user_string(): (
            spec.group_name,
            {dependency.asset_key.to_user_string() for dependency in spec.deps},
        )
        for spec in specs
    }
    assert found == GRAPH
    for spec in specs:
        assert spec.description, spec.key
        assert spec.owners, spec.key
        assert spec.code_version, spec.key
        assert spec.kinds, spec.key
    assert {job.name for job in built.jobs or ()} == {"evaluate"}


LOAD = """
import time
import dagster
alone = time.process_time()
from orchestration.definitions import defs
built = defs()
dg_names = sorted(key.to_user_string() for key in built.resolve_asset_graph().get_all_asset_keys())
print(alone, time.process_time(), len(dg_names))
"""


def with_config(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    starter.write_starter(folder)
    variables = {definitions.CONFIG_VARIABLE: str(folder / "scoreline.yaml")}
    environment = {**os.environ, **variables, "DAGSTER_HOME": str(folder)}
    (folder / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@takes_minutes
def test_dagster_validates_the_code_location(tmp_path: Path) -> None:
    arguments = ["-m", "dagster", "definitions", "validate", "-m", "orchestration.definitions"]
    done = with_config(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "All code locations passed validation" in done.stdout + done.stderr


@takes_minutes
def test_the_code_location_loads_in_under_4_times_the_time_of_dagster(tmp_path: Path) -> None:
    """That is under 3 seconds on a quiet machine, and a busy one makes both slower."""
    done = with_config(tmp_path, "-W", "error", "-c", LOAD)
    assert done.returncode == 0, done.stderr
    alone, seconds, assets = done.stdout.split()
    assert int(assets) == len(GRAPH)
    assert float(seconds) < 4 * float(alone)
