"""The worked examples of `docs/adding-an-evaluator.md` run, and keep the catalogue's rules."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "adding-an-evaluator.md"
BLOCK = re.compile(r"^`([^`\n]+\.py)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The family's folder goes on in the temporary one, as if the new file stood there.
CONFTEST = """
from pathlib import Path
from evaluators.library import {family}
{family}.__path__.append(str(Path(__file__).parent / "library"))
"""
BLOCKS = {Path(path): text for path, text in BLOCK.findall(GUIDE.read_text(encoding="utf-8"))}
EVALUATORS, TESTS = list(BLOCKS)[::2], list(BLOCKS)[1::2]


@pytest.fixture(
    scope="module",
    params=zip(EVALUATORS, TESTS, strict=True),
    ids=[evaluator.stem for evaluator in EVALUATORS],
)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an example's evaluator and its test."""
    folder = tmp_path_factory.mktemp("example")
    evaluator, test = request.param
    assert evaluator.parts[:2] == ("evaluators", "library")
    assert test == Path("tests", "evaluators", evaluator.parts[2], f"test_{evaluator.name}")
    (folder / "library").mkdir()
    (folder / "library" / evaluator.name).write_text(BLOCKS[evaluator], encoding="utf-8")
    (folder / test.name).write_text(BLOCKS[test], encoding="utf-8")
    conftest = CONFTEST.format(family=evaluator.parts[2])
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    return folder


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A module of Python's as a process in the repository's folder."""
    return subprocess.run(
        [sys.executable, "-m", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_its_test_passes_and_so_do_those_of_the_catalogue(written: Path) -> None:
    (test,) = written.glob("test_*.py")
    name = test.stem.removeprefix("test_")
    rules = [f"tests/evaluators/test_catalogue_{part}.py" for part in ("rules", "properties")]
    options = ["-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "--rootdir", str(ROOT)]
    done = run("pytest", *options, "-k", name, str(test), *rules)
    assert done.returncode == 0, done.stdout + done.stderr
    own = len(re.findall(r"^def test_", test.read_text(encoding="utf-8"), re.MULTILINE))
    passed = re.search(r"(\d+) passed", done.stdout)
    # Beside its own tests there are a dozen rules and one test of all properties.
    assert passed is not None
    assert int(passed[1]) > own + 12


def test_it_is_written_in_the_style_of_the_repository(written: Path) -> None:
    for path in (*written.glob("test_*.py"), *written.glob("library/*.py")):
        folder = "tests/evaluators" if path.stem.startswith("test_") else "evaluators/library"
        named = f"{folder}/generation/{path.name}"
        given = ["--config", "pyproject.toml", "--no-cache", "--stdin-filename", named, "-"]
        for command in (["format", "--check"], ["check"]):
            done = subprocess.run(
                [sys.executable, "-m", "ruff", *command, *given],
                cwd=ROOT,
                input=path.read_text(encoding="utf-8"),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
