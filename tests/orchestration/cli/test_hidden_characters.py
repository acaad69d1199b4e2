"""No page, table or message shows a hidden character raw, and names that look alike are named."""

from __future__ import annotations

import base64
import json
import re
import time
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from rich.progress import Progress as Bars

from orchestration.cli import output
from orchestration.cli.program import program
from orchestration.runs import progress
from tests.orchestration.conftest import Ended, scoreline
from warehouse.foreign_text import HIDDEN, show_hidden_isolated

if TYPE_CHECKING:
    from collections.abc import Iterator

REVERSED = "north\u202eriaf"
BENCHMARK = "bench"
HOLLOW = "south\u200b"
SYSTEMS = [REVERSED, HOLLOW, "south", "South "]
QUESTIONS = ["caf\u00e9", "cafe\u0301", "q\u2067", *(f"q{number}" for number in range(9))]
DATA_FILE = re.compile(r'scoreline\.give\("(?!scores-)[^"]*","([^"]*)"\)')
"""A file with data; those of scores are not JSON."""

CONFIG = """
benchmarks:
  bench:
    questions: questions.jsonl
    predictions: predictions.jsonl
    evaluators: [classification]
    thresholds: {classification.accuracy: 0.9}
    slices: [topic]
gates:
  - {benchmark: bench, system: "north\\u202eriaf", baseline: south, metrics: [classification.accuracy]}
"""  # noqa: E501


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose names have hidden characters."""
    folder = tmp_path_factory.mktemp("hidden")
    asked = [
        {
            "question_id": name,
            "question": f"Is it {name}?",
            "expected_label": "yes\u202e",
            "tags": {"topic": "a\u2069" if at % 2 else "a"},
        }
        for at, name in enumerate(QUESTIONS)
    ]
    given = [
        {"question_id": name, "system": system, "answer": "yes\u202e" if at % 3 else "no\u2060"}
        for at, name in enumerate(QUESTIONS)
        for system in SYSTEMS
    ]
    for name, rows in (("questions", asked), ("predictions", given)):
        (folder / f"{name}.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    (folder / "scoreline.yaml").write_text(CONFIG, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def first(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Ended, str]]:
    """The first run, and the summary of its step."""
    summary = tmp_path_factory.mktemp("step") / "summary.md"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_STEP_SUMMARY", str(summary))
        yield run(project, "run"), summary.read_text(encoding="utf-8")


def run(folder: Path, *arguments: str) -> Ended:
    config = ["--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, [*arguments, *config], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_a_run_and_its_summary(first: tuple[Ended, str]) -> None:
    ended, summary = first
    assert ended.code == 0, ended
    for text in (ended.out, ended.err, summary):
        assert not HIDDEN.findall(text)
    assert "north\\u202eriaf" in ended.out
    assert "north\\u202eriaf" in summary


@pytest.mark.parametrize(
    "arguments",
    [
        ["leaderboard"],
        ["leaderboard", "--format", "md"],
        ["problems"],
        ["compare", REVERSED, "south", "--benchmark", BENCHMARK],
        ["compare", REVERSED, "south", "--benchmark", BENCHMARK, "--format", "md"],
        ["gate", "--benchmark", BENCHMARK, "--system", REVERSED, "--baseline", "south"],
        ["gate", "--benchmark", BENCHMARK, "--min", "classification.accuracy=0.99"],
        ["show", BENCHMARK, "q\u2067"],
        ["sql", "SELECT DISTINCT system FROM predictions"],
        ["history", "--benchmark", BENCHMARK],
        ["plan"],
        ["compare", REVERSED, "nobody\u202e", "--benchmark", BENCHMARK],
        ["leaderboard", "--benchmark", "unknown\u202e"],
    ],
)
@pytest.mark.usefixtures("first")
def test_commands(project: Path, arguments: list[str]) -> None:
    ended = run(project, *arguments)
    assert ended.out or ended.err
    assert not HIDDEN.findall(ended.out + ended.err)


@pytest.mark.usefixtures("first")
def test_programs_get_the_names_as_they_are(project: Path) -> None:
    found = json.loads(run(project, "leaderboard", "--format", "json").out)
    assert {row["system"] for row in found} == set(SYSTEMS)
    assert REVERSED in run(project, "leaderboard", "--format", "csv").out


@pytest.mark.usefixtures("first")
def test_junit(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "gates.xml"
    run(project, "gate", "--benchmark", BENCHMARK, "--system", REVERSED, "--baseline", "south",
        "--junit", str(path))  # fmt: skip
    text = path.read_text(encoding="utf-8")
    assert "north\\u202eriaf" in text
    assert not HIDDEN.findall(text)


@pytest.mark.usefixtures("first")
def test_the_report(project: Path) -> None:
    folder = project / "published" / "report"
    pages = [path.read_text(encoding="utf-8") for path in folder.rglob("*.html")]
    for path in folder.rglob("*.js"):
        found = re.findall(
            r'scoreline\.give\("(?!scores-)[^"]*","([^"]*)"\)', path.read_text("utf-8")
        )
        for code in found:
            pages += [zlib.decompress(base64.b64decode(code), wbits=31).decode()]
    assert len(pages) > 2
    assert any("north\\u202eriaf" in page for page in pages)
    assert any("north\\\\u202eriaf" in page for page in pages)
    for page in pages:
        # Pages themselves put names between U+2068 and U+2069.
        assert show_hidden_isolated(page) == page


@pytest.mark.usefixtures("first")
def test_names_that_look_alike_are_problems(project: Path) -> None:
    query = "SELECT kind, message FROM problems WHERE kind LIKE 'similar%'"
    found = json.loads(run(project, "sql", query, "--format", "json").out)
    messages = {row["kind"]: row["message"] for row in found}
    assert messages.keys() == {"similar_systems", "similar_questions", "similar_slices"}
    assert "'South ' and 'south'" in messages["similar_systems"]
    assert r"'cafe\u0301' and 'caf\xe9'" in messages["similar_questions"]
    assert r"'topic=a' and 'topic=a\u2069'" in messages["similar_slices"]


@pytest.mark.usefixtures("first")
def test_an_unknown_name_with_a_twin(project: Path) -> None:
    ended = run(project, "compare", "SOUTH", REVERSED, "--benchmark", BENCHMARK)
    assert ended.code == 2
    assert "differ only in case, spaces, composed letters or characters" in ended.err


def test_an_unknown_question_with_a_twin(project: Path, tmp_path: Path) -> None:
    for name in ("questions.jsonl", "scoreline.yaml"):
        (tmp_path / name).write_text((project / name).read_text("utf-8"), encoding="utf-8")
    row = {"question_id": "q1\u200b", "system": "a", "answer": "yes"}
    (tmp_path / "predictions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    ended = run(tmp_path, "run")
    assert ended.code == 2
    assert r"did you mean 'q1'? 'q1\u200b' and 'q1' differ only in case" in ended.err


SPEAKING = """
import sys

def answer(question):
    print("standard\\u202e output")
    print("standard\\u200b error", file=sys.stderr)
    return "yes"
"""


def test_log_lines_of_systems(tmp_path: Path) -> None:
    (tmp_path / "speaking.py").write_text(SPEAKING, encoding="utf-8")
    row = {"question_id": "q", "question": "Is it?", "expected_label": "yes"}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    benchmark = "{questions: questions.jsonl, systems: [north], evaluators: [classification]}"
    (tmp_path / "scoreline.yaml").write_text(
        f"systems: {{north: {{python: 'speaking.py:answer'}}}}\nbenchmarks: {{b: {benchmark}}}\n",
        encoding="utf-8",
    )
    ended = scoreline(tmp_path, "run")
    assert ended.code == 0, ended.err
    assert "standard\\u202e output" in ended.err
    assert "standard\\u200b error" in ended.err
    assert not HIDDEN.findall(ended.err)


def test_progress(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)
    with progress.show_progress(quiet=False, lines=True) as shown:
        progress.show_model_progress("a\u202emodel\n", 1, 2)
        time.sleep(0.1)
    assert "a\\u202emodel\\n: 1 of 2" in capfd.readouterr().err
    bar = progress.ProgressBar(Bars(disable=True))
    bar.describe("a\u202emodel")
    assert [each.description for each in bar.bars.tasks] == ["a\\u202emodel"]
    assert shown.text == "a\\u202emodel\\n: 1 of 2"


def test_tracebacks(project: Path) -> None:
    ended = scoreline(project, "--debug", "compare", REVERSED, "nobody\u202e")
    assert "Traceback" in ended.err
    assert not HIDDEN.findall(ended.err)


def test_commands_write_by_one_function() -> None:
    folder = Path(output.__file__).parent
    raw = [
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if path != Path(output.__file__)
        and re.search(r"click\.echo\(|\bprint\(", path.read_text("utf-8"))
    ]
    assert raw == ["commands/completion.py"]
