"""A rerun with nothing changed loads nothing heavy, and notices every change."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assets.fingerprints.installed_code import PACKAGES
from orchestration.runs.unchanged import digest_settings, find_unchanged
from tests.orchestration.conftest import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
HEAVY = ("dagster", "polars", "pydantic", "numpy", "pyarrow")
PROGRAM = f"""
import atexit, sys

def show():
    print("HEAVY", [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)

atexit.register(show)
from orchestration.cli import main
main()
"""


def is_unchanged(project: Path) -> bool:
    config = project / "scoreline.yaml"
    return find_unchanged(config, digest_settings(config)) is not None


@pytest.fixture
def recorded(own_project: Path) -> Path:
    """A project in whose folder a run has found that nothing has changed."""
    assert not is_unchanged(own_project)
    ended = scoreline(own_project, "run")
    assert (ended.code, "nothing has changed" in ended.err) == (0, True), ended.err
    assert is_unchanged(own_project)
    return own_project


def run(project: Path) -> tuple[int, str, str, str]:
    """Run the project in a process of its own; the last text says what it has loaded."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, "run"],
        capture_output=True,
        text=True,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    *said, heavy = ended.stderr.splitlines()
    return ended.returncode, ended.stdout, "\n".join(said), heavy


@takes_minutes
def test_the_record_says_what_the_comparison_says(own_project: Path) -> None:
    gates = "gates:\n  - {benchmark: harbour, system: keyword, metrics: [citation.f1], min: 0.95}\n"
    file = own_project / "scoreline.yaml"
    head = file.read_text(encoding="utf-8").partition("\ngates:\n")[0]
    file.write_text(f"{head}\n{gates}", encoding="utf-8")
    scoreline(own_project, "run")
    (own_project / ".scoreline" / "scoreline.yaml.unchanged.json").unlink()
    compared, found = run(own_project), run(own_project)
    assert compared[:3] == found[:3]
    assert (found[0], found[3]) == (1, "HEAVY []")
    assert "dagster" not in compared[3]
    assert "polars" in compared[3]
    assert "error: the gate failed" in found[2]


def append(name: str, text: str = "\n") -> Callable[[Path], None]:
    def change(project: Path) -> None:
        with (project / name).open("a", encoding="utf-8") as file:
            file.write(text)

    return change


def add_system(project: Path) -> None:
    data = project / "data"
    shutil.copy(data / "predictions_reader.jsonl", data / "predictions_third.jsonl")


def swap_systems(project: Path) -> None:
    reader, keyword, other = (
        project / "data" / f"predictions_{name}.jsonl" for name in ("reader", "keyword", "other")
    )
    reader.rename(other)
    keyword.rename(reader)
    other.rename(keyword)


CHANGES: dict[str, Callable[[Path], None]] = {
    "configuration": append("scoreline.yaml"),
    "questions": append("data/questions.jsonl"),
    "documents": append("data/documents.jsonl"),
    "predictions": append("data/predictions_reader.jsonl"),
    "a new system": add_system,
    "no system": lambda project: (project / "data" / "predictions_reader.jsonl").unlink(),
    "other systems": swap_systems,
    "published copy": lambda project: (project / "published" / "scoreline.duckdb").unlink(),
    "report": lambda project: (project / "published" / "index.html").unlink(),
    "warehouse": lambda project: (project / ".scoreline" / "warehouse.duckdb").unlink(),
    "record": append(".scoreline/scoreline.yaml.unchanged.json", "x"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_noticed(recorded: Path, change: str) -> None:
    CHANGES[change](recorded)
    assert not is_unchanged(recorded)


def test_a_moved_project_is_compared(recorded: Path) -> None:
    assert not is_unchanged(recorded.rename(recorded.with_name("moved")))


def test_another_environment_is_compared(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("SCORELINE_EXPECTATIONS", "another")
        assert not is_unchanged(recorded)
    assert is_unchanged(recorded)


def test_installed_packages_are_compared(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = tmp_path / "packages"
    monkeypatch.syspath_prepend(packages)
    (packages / "other-2.0.dist-info").mkdir(parents=True)
    assert not is_unchanged(recorded)
    metadata = packages / "other-2.0.dist-info"
    (metadata / "entry_points.txt").write_text("[scoreline.evaluators]\nown = other:Own\n")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    assert digest_settings(recorded / "scoreline.yaml") is None


def test_changed_code_is_noticed(own_project: Path, tmp_path: Path) -> None:
    code = tmp_path / "code"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, code / name, ignore=shutil.ignore_patterns("__pycache__"))
    program = (
        "import sys; from pathlib import Path\n"
        "from orchestration.runs.unchanged import digest_settings\n"
        f"print(digest_settings(Path({str(own_project / 'scoreline.yaml')!r})))"
    )

    def digest() -> str:
        return subprocess.run(
            [sys.executable, "-B", "-P", "-c", program],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(code)},
            check=True,
        ).stdout

    before = digest()
    assert before == digest()
    with (code / "evaluators" / "library" / "citations" / "citation.py").open("a") as file:
        file.write("\n")
    assert digest() not in {before, "None\n"}


@pytest.mark.parametrize(
    "more",
    ["plugins: [own.py]", "judge: {model: human}", "models: {offline: true}"],
)
def test_what_depends_on_more_files_is_not_recorded(own_project: Path, more: str) -> None:
    (own_project / "own.py").write_text(
        "import scoreline\n\n\n@scoreline.metric\n"
        "def length(answer: str) -> float:\n    '''Is it short?'''\n    return 1.0\n"
    )
    with (own_project / "scoreline.yaml").open("a", encoding="utf-8") as file:
        file.write(f"\n{more}\n")
    assert scoreline(own_project, "run").code == 0
    assert not is_unchanged(own_project)


@takes_minutes
def test_a_run_of_a_part_records_nothing(recorded: Path) -> None:
    file = recorded / ".scoreline" / "scoreline.yaml.unchanged.json"
    before = json.loads(file.read_text(encoding="utf-8"))
    assert scoreline(recorded, "run", "--evaluator", "citation", "--force").code == 0
    assert json.loads(file.read_text(encoding="utf-8")) == before
    # The same scores were computed again, so the record still says what is published.
    assert is_unchanged(recorded)


def remove_page(project: Path) -> None:
    (folder,) = (project / "published" / "report").glob("harbour-*")
    (folder / "index.html").unlink()


def shorten_data(project: Path) -> None:
    (folder,) = (project / "published" / "report").glob("harbour-*")
    next(path for path in (folder / "data").iterdir() if path.is_file()).write_bytes(b"")


def remove_style(project: Path) -> None:
    next((project / "published" / "report").glob("*.css")).unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "report folder": lambda project: shutil.rmtree(project / "published" / "report"),
    "a page": remove_page,
    "data of a page": shorten_data,
    "a style sheet": remove_style,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_writes_again_what_is_missing_in_the_report(recorded: Path, damage: str) -> None:
    published = recorded / "published"
    report = {
        path: path.stat().st_size
        for path in [published / "index.html", *(published / "report").rglob("*")]
        if path.is_file()
    }
    DAMAGES[damage](recorded)
    assert not is_unchanged(recorded)
    ended = scoreline(recorded, "run")
    assert (ended.code, "nothing has changed" in ended.err) == (0, False), ended.err
    for path, size in report.items():
        assert path.is_file(), path
        if path.suffix in (".html", ".css", ".js", ".json") and path.name != "index.html":
            assert path.stat().st_size == size or path.name.startswith("."), path
    assert "nothing has changed" in scoreline(recorded, "run").err


@pytest.mark.parametrize("content", [b"", b"garbage" * 9_000, b"\0" * 500_000])
def test_a_damaged_warehouse_is_named_and_rebuilt(recorded: Path, content: bytes) -> None:
    warehouse = recorded / ".scoreline" / "warehouse.duckdb"
    query = "SELECT system, metric, mean, ci_low FROM leaderboard ORDER BY ALL"
    before = scoreline(recorded, "sql", query, "--format", "json").out
    warehouse.write_bytes(content)
    assert not is_unchanged(recorded)
    ended = scoreline(recorded, "run")
    assert ended.code == 2, ended.err
    assert "nothing has changed" not in ended.err
    assert f"{str(warehouse)!r} is not a DuckDB database. Delete it and run again" in ended.err
    warehouse.unlink()
    assert scoreline(recorded, "run").code == 0
    assert scoreline(recorded, "sql", query, "--format", "json").out == before


def test_the_published_copy_may_take_the_place_of_a_damaged_warehouse(recorded: Path) -> None:
    warehouse = recorded / ".scoreline" / "warehouse.duckdb"
    warehouse.write_bytes(b"")
    shutil.copyfile(recorded / "published" / "scoreline.duckdb", warehouse)
    ended = scoreline(recorded, "run")
    assert (ended.code, "nothing has changed" in ended.err) == (0, True), ended.err
