"""`dg scaffold defs scoreline.dagster.ScorelineProject` writes what `dg check defs` accepts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from dagster.components.component_scaffolding import scaffold_object

from scoreline.dagster import build_defs
from tests.scoreline.test_dagster import write_project
from tests.support.services import takes_minutes

TYPE = "scoreline.dagster.ScorelineProject"
PROJECT = """\
[project]
name = "team"
version = "0.1.0"

[tool.dg]
directory_type = "project"

[tool.dg.project]
root_module = "team"
"""
"""What `create-dagster project team` writes, as far as it matters here."""

DEFINITIONS = """\
from pathlib import Path

from dagster import definitions, load_from_defs_folder


@definitions
def defs():
    return load_from_defs_folder(path_within_project=Path(__file__).parent)
"""


def scaffold(root: Path, style: str = "yaml", **options: str) -> Path:
    folder = root / "src" / "team" / "defs" / "quality"
    scaffold_object(folder, TYPE, json.dumps(options), style, root)
    return folder


def attributes(folder: Path) -> dict[str, str]:
    written = yaml.safe_load((folder / "defs.yaml").read_text("utf-8"))
    assert written["type"] == TYPE
    found: dict[str, str] = written["attributes"]
    return found


def test_without_a_configuration_a_small_project_is_written(tmp_path: Path) -> None:
    folder = scaffold(tmp_path)
    assert attributes(folder) == {"config": "scoreline.yaml"}
    keys = build_defs(folder / "scoreline.yaml").resolve_all_asset_keys()
    assert ["leaderboard"] in [list(key.path) for key in keys]


def test_the_configuration_in_the_root_is_named(tmp_path: Path) -> None:
    write_project(tmp_path / "root")
    folder = scaffold(tmp_path / "root", key_prefix="quality")
    expected = {"config": "{{ project_root }}/scoreline.yaml", "key_prefix": "quality"}
    assert attributes(folder) == expected
    assert [path.name for path in folder.iterdir()] == ["defs.yaml"]


def test_the_command_may_name_the_configuration(tmp_path: Path) -> None:
    write_project(tmp_path / "evaluation")
    folder = scaffold(tmp_path, config="evaluation/scoreline.yaml", group_prefix="rag")
    assert attributes(folder) == {
        "config": "{{ project_root }}/evaluation/scoreline.yaml",
        "group_prefix": "rag",
    }
    with pytest.raises(ValueError, match=r"missing\.yaml' does not exist"):
        scaffold(tmp_path, config="missing.yaml")


def dg(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = root.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {**os.environ, "DAGSTER_HOME": str(home), "DAGSTER_DISABLE_TELEMETRY": "yes"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(root / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    environment.pop("SCORELINE_CONFIG", None)
    command = [str(Path(sys.executable).with_name("dg")), *arguments]
    return subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=False
    )


@takes_minutes
@pytest.mark.parametrize("style", ["yaml", "python"])
def test_dg_accepts_what_it_has_scaffolded(tmp_path: Path, style: str) -> None:
    pytest.importorskip("dagster_dg_cli")
    root = tmp_path / "team"
    (root / "src" / "team" / "defs").mkdir(parents=True)
    (root / "pyproject.toml").write_text(PROJECT, "utf-8")
    for name in ("__init__.py", "defs/__init__.py"):
        (root / "src" / "team" / name).write_text("", "utf-8")
    (root / "src" / "team" / "definitions.py").write_text(DEFINITIONS, "utf-8")
    done = dg(root, "scaffold", "defs", TYPE, "quality", "--format", style, "--key-prefix", "desk")
    assert done.returncode == 0, done.stdout + done.stderr
    done = dg(root, "check", "defs")
    assert done.returncode == 0, done.stdout + done.stderr
    done = dg(root, "list", "defs", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    listed = json.loads(done.stdout[done.stdout.index("{") :])
    assert {"desk/questions", "desk/leaderboard"} <= {e["asset_key"] for e in listed["assets"]}
