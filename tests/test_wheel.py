"""The wheel, installed into a fresh environment, in a folder whose names collide with our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.orchestration.daemon import LOADED, interface
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = takes_minutes

ROOT = Path(__file__).parents[1]
COLLIDING = (
    *("assets/__init__.py", "evaluators.py", "orchestration/__init__.py", "warehouse.py"),
    *("scoreline.py", "systems.py", "calls.py", "records.py", "dagster.py", "polars.py"),
)
"""Files of a user's own; each of them fails when it is imported."""

API = """
import scoreline

class Polite(scoreline.RowEvaluator):
    metrics = (scoreline.Metric(name="polite", summary="Whether the answer thanks.", primary=True),)
    reads = frozenset({"answer"})

    def grade(self, sample):
        return {"polite": float("thank" in sample.answer)}

print(scoreline.__version__, scoreline.__file__, Polite.__mro__[1].__module__)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` folder of an environment that holds the wheel and only what it requires.

    What it requires is linked from the environment of the tests: an installation takes minutes.
    """
    folder = tmp_path_factory.mktemp("wheel")
    build = ["-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    venv = ["-m", "venv", "--without-pip", str(folder / "venv")]
    subprocess.run([sys.executable, *venv], check=True)
    install = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, cwd=folder)
    (site,) = (folder / "venv").glob("lib/python3*/site-packages")
    (installed,) = distributions(name="scoreline", path=[str(site)])
    for found in required_by(installed):
        link_files(found, site)
    return python.parent


def required_by(package: Distribution) -> Iterator[Distribution]:
    """Yield the distributions that a package requires, and those that they require."""
    waiting, seen = [(package, "")], set()
    while waiting:
        needing, extra = waiting.pop()
        for need in map(Requirement, needing.requires or []):
            if need.marker is not None and not need.marker.evaluate({"extra": extra}):
                continue
            for each in need.extras or {""}:
                key = (canonicalize_name(need.name), each)
                if key not in seen:
                    seen.add(key)
                    found = distribution(need.name)
                    waiting += [(found, each), (found, "")] if each else [(found, "")]
                    yield found


def link_files(found: Distribution, site: Path) -> None:
    """Link the files of a distribution that are in `site-packages`."""
    for file in found.files or []:
        target = site / file
        if ".." not in file.parts and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(str(found.locate_file(file)))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with modules of a user's own."""
    for name in COLLIDING:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise RuntimeError(f'imported {__file__}')\n", "utf-8")
    return tmp_path


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, without the variables of this process."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("DAGSTER_HOME", "PYTHON", "SCORELINE"))
    }
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "imported" not in done.stderr
    return done


def test_one_package_is_installed(environment: Path) -> None:
    (site,) = environment.parent.glob("lib/python3*/site-packages")
    (record,) = site.glob("scoreline-*.dist-info/RECORD")
    rows = [line.partition(",")[0] for line in record.read_text("utf-8").splitlines()]
    tops = {row.partition("/")[0] for row in rows if ".dist-info/" not in row}
    assert tops == {"scoreline", ".."}
    assert [row for row in rows if row.startswith("..")] == ["../../../bin/scoreline"]
    below = ("assets", "evaluators", "systems", "calls", "warehouse", "records")
    assert not [name for name in below if (site / name).exists()]


def test_the_commands_work_beside_colliding_modules(environment: Path, project: Path) -> None:
    scoreline = str(environment / "scoreline")
    run([scoreline, "init"], project)
    assert "citation" in run([scoreline, "run"], project).stdout
    assert "nothing has changed" in run([scoreline, "run"], project).stderr
    # The first run had all steps in one process.
    file = project / "scoreline.yaml"
    kept = file.read_text("utf-8")
    file.write_text(f"{kept}\nexecution: {{executor: multiprocess}}\n", "utf-8")
    run([scoreline, "run", "--force"], project)
    file.write_text(kept, "utf-8")
    query = "select count(*) as n from scores where status = 'scored'"
    (row,) = json.loads(run([scoreline, "sql", query, "--format", "json"], project).stdout)
    assert row["n"] > 0
    systems = ["--system", "reader", "--baseline", "keyword", "--tolerance", "0.5"]
    gate = run([scoreline, "gate", "--benchmark", "harbour", *systems], project)
    assert "citation" in gate.stdout
    with interface(project, command=(scoreline,)) as running:
        assert running.query(LOADED)["workspaceOrError"]["locationEntries"] == [
            {"name": "scoreline", "locationOrLoadError": {"__typename": "RepositoryLocation"}}
        ]


def test_the_python_api_works_beside_colliding_modules(environment: Path, project: Path) -> None:
    script = project / "evaluate" / "polite.py"
    script.parent.mkdir()
    script.write_text(API, encoding="utf-8")
    version, path, module = run([str(environment / "python"), str(script)], project).stdout.split()
    assert version == "0.1.0"
    assert path.endswith("site-packages/scoreline/__init__.py")
    assert module == "scoreline.evaluators.kinds.row"
