"""Unusable input: exit code 2, file and line, no traceback, an unchanged warehouse."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from orchestration.config import resources
from tests.support.services import takes_minutes
from warehouse.schema.tables import SCHEMA_VERSION, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CONFIGURATION = """\
warehouse: w.duckdb
publish: published
benchmarks:
  trial:
    questions: questions.jsonl
    predictions: "{system}.predictions.jsonl"
    evaluators: [citation]
  rows:
    questions: questions.jsonl
    predictions: rows.jsonl
    evaluators: [citation]
"""
QUESTIONS = [{"question_id": f"q{n}", "gold_sentence_ids": ["S1"]} for n in range(1, 9)]
PREDICTIONS = [{"question_id": f"q{n}", "cited_sentence_ids": ["S1"]} for n in range(1, 9)]
STORED = [name for name, table in TABLES.items() if table.view_of is None]


@dataclass(frozen=True)
class Ended:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Trial:
    """A finished project whose files a test then breaks."""

    folder: Path

    def run(self, *arguments: str) -> Ended:
        """Runs `scoreline run` in this process."""
        config = ["--config", str(self.folder / "scoreline.yaml")]
        result = CliRunner().invoke(program, ["run", *arguments, *config])
        return Ended(result.exit_code, result.stdout, result.stderr)

    def rows(self) -> dict[str, list[Any]]:
        """Every row of every table of the warehouse."""
        with duckdb.connect(self.folder / "w.duckdb", read_only=True) as connection:
            return {
                name: connection.execute(f'FROM "{name}" ORDER BY ALL').fetchall()
                for name in STORED
            }

    def published(self) -> bytes:
        """The published copy, byte by byte."""
        return (self.folder / "published" / "scoreline.duckdb").read_bytes()

    def put(self, name: str, at: int, line: str | bytes) -> None:
        """Puts a line of a file in the place of the one that stands there, or after the last."""
        path = self.folder / name
        lines = path.read_bytes().splitlines()
        lines[at - 1 : at] = [line.encode() if isinstance(line, str) else line]
        path.write_bytes(b"\n".join(lines) + b"\n")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trial") / "project"
    folder.mkdir()
    (folder / "scoreline.yaml").write_text(CONFIGURATION)
    write(folder / "questions.jsonl", QUESTIONS)
    for system in ("good", "poor"):
        write(folder / f"{system}.predictions.jsonl", PREDICTIONS)
    write(
        folder / "rows.jsonl",
        [{**row, "system": system} for system in ("alpha", "beta") for row in PREDICTIONS],
    )
    ended = Trial(folder).run()
    assert ended.code == 0, ended.err
    return folder


@pytest.fixture
def trial(done: Path, tmp_path: Path) -> Trial:
    return Trial(shutil.copytree(done, tmp_path / "project"))


QUESTION, PREDICTION = "questions.jsonl", "poor.predictions.jsonl"
LONG = '{"question_id": "q7", "answer": "' + "x" * (50 * 2**20) + '"}'

LINES: dict[str, tuple[str, str | bytes, str]] = {
    "broken JSON": (QUESTION, '{"question_id": "q7", ', "not JSON at column 23"),
    "broken JSON in an answer": (PREDICTION, '{"question_id": "q7"', "not JSON at column 21"),
    "wrong type": (
        PREDICTION,
        '{"question_id": "q7", "cited_sentence_ids": "S1"}',
        "cited_sentence_ids: expected a list, found the text 'S1'",
    ),
    "missing field": (QUESTION, '{"question": "Why?"}', "question_id: missing"),
    "missing field of an answer": (PREDICTION, '{"answer": "So."}', "question_id: missing"),
    "duplicate question": (
        QUESTION,
        '{"question_id": "q2"}',
        "question 'q2' occurs twice, first in ",
    ),
    "duplicate prediction": (
        PREDICTION,
        '{"question_id": "q2"}',
        "a second prediction of 'poor' for question 'q2', the first in ",
    ),
    "unknown question": (
        PREDICTION,
        '{"question_id": "q77"}',
        "there is no question 'q77'; did you mean 'q7'?",
    ),
    "another system than the file's": (
        PREDICTION,
        '{"question_id": "q7", "system": "good"}',
        "system: the row says 'good', its file's path 'poor'",
    ),
    "a long line": (PREDICTION, LONG, "the line is longer than 16 MiB"),
    "invalid UTF-8": (QUESTION, b'{"question_id": "\xff"}', "not UTF-8 at byte 18 of the line"),
    "NaN": (PREDICTION, '{"question_id": "q7", "cost_usd": NaN}', "NaN is not a JSON number"),
    "Infinity": (
        PREDICTION,
        '{"question_id": "q7", "latency_s": Infinity}',
        "Infinity is not a JSON number",
    ),
    "a number too large": (
        QUESTION,
        '{"question_id": "q7", "noise_ratio": 1e999}',
        "the number 1e999 is too large",
    ),
    "no system": ("rows.jsonl", '{"question_id": "q7"}', "system: missing"),
    "a system that cannot be shown": (
        "rows.jsonl",
        '{"question_id": "q7", "system": "a\\nb"}',
        "the system's name 'a\\nb' contains a control character",
    ),
}


def refused(trial: Trial, *arguments: str) -> str:
    """Return the errors of a run that must exit with code 2 and change nothing."""
    before = trial.rows(), trial.published()
    ended = trial.run(*arguments)
    assert (ended.code, ended.out) == (2, ""), ended.err
    assert "Traceback" not in ended.err
    assert (trial.rows(), trial.published()) == before
    return ended.err


@pytest.mark.parametrize("file", sorted({file for file, *_ in LINES.values()}))
def test_every_bad_line_is_reported(trial: Trial, file: str) -> None:
    bad = [(line, said) for name, line, said in LINES.values() if name == file]
    kept = (trial.folder / file).read_bytes().splitlines()[:6]
    lines = [line.encode() if isinstance(line, str) else line for line, _ in bad]
    (trial.folder / file).write_bytes(b"\n".join([*kept, *lines]) + b"\n")
    told = refused(trial).removeprefix("error: ").splitlines()
    for at, (_, said) in enumerate(bad, start=7):
        (one,) = [each for each in told if each.startswith(f"{trial.folder / file}:{at}: ")]
        assert said in one


@takes_minutes
@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (PREDICTION, '{"question_id": "q7"', "not JSON at column 21"),
        # Looked at when all lines can be read.
        (
            QUESTION,
            '{"question_id": "q7", "constraints": ["a", ["b", 5]]}',
            "question 'q7': constraint 2, alternative 2: expected a text",
        ),
    ],
)
def test_a_single_bad_line_is_enough(trial: Trial, file: str, line: str, said: str) -> None:
    trial.put(file, 7, line)
    told = refused(trial)
    assert told.startswith(f"error: {trial.folder / file}:7: ")
    assert said in told


def empty(trial: Trial) -> None:
    (trial.folder / PREDICTION).write_text("")


def gone(trial: Trial) -> None:
    (trial.folder / QUESTION).rename(trial.folder / "question.jsonl")


def no_predictions(trial: Trial) -> None:
    for path in trial.folder.glob("*.predictions.jsonl"):
        path.unlink()


def control_character(trial: Trial) -> None:
    (trial.folder / PREDICTION).rename(trial.folder / "a\nb.predictions.jsonl")


@pytest.mark.parametrize(
    ("spoil", "file", "said"),
    [
        (empty, PREDICTION, "the file is empty"),
        (gone, QUESTION, "no such file; did you mean 'question.jsonl'?"),
        (no_predictions, "{system}.predictions.jsonl", "no file matches"),
        (
            control_character,
            "a\nb.predictions.jsonl",
            "the system's name 'a\\nb' contains a control",
        ),
    ],
)
def test_a_bad_file(trial: Trial, spoil: Callable[[Trial], None], file: str, said: str) -> None:
    spoil(trial)
    assert refused(trial).startswith(f"error: {trial.folder / file}: {said}")


NAMES = ["it's", '"quoted"', ".hidden", "a b", "%s $1 {x}", "ü★"]


@takes_minutes
def test_any_printable_system_name_works(trial: Trial) -> None:
    for system in NAMES:
        shutil.copy(trial.folder / PREDICTION, trial.folder / f"{system}.predictions.jsonl")
    (trial.folder / PREDICTION).unlink()
    chosen = [word for system in NAMES for word in ("--system", system)]
    ended = trial.run("--benchmark", "trial", *chosen)
    assert ended.code == 0, ended.err
    with duckdb.connect(trial.folder / "published" / "scoreline.duckdb") as connection:
        rows = connection.execute(
            "SELECT DISTINCT system FROM leaderboard WHERE benchmark = 'trial' ORDER BY ALL"
        ).fetchall()
    assert rows == sorted((system,) for system in ["good", *NAMES])


@takes_minutes
def test_system_with_slash_in_rows(trial: Trial) -> None:
    write(trial.folder / "rows.jsonl", [{**row, "system": "org/model"} for row in PREDICTIONS])
    ended = trial.run("--benchmark", "rows", "--system", "org/model")
    assert ended.code == 0, ended.err
    assert {row[1] for row in trial.rows()["predictions"] if row[0] == "rows"} == {"org/model"}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("publish:", "publsh:", 2, "unknown key 'publsh' (did you mean 'publish'?)"),
        (
            "    questions:",
            "    question:",
            5,
            "unknown key 'question' (did you mean 'questions'?)",
        ),
        ("[citation]", "[citatoin]", 7, "unknown evaluator 'citatoin' (did you mean 'citation'?)"),
        ("[citation]", "[citation", 8, ""),
    ],
)
def test_a_bad_configuration(trial: Trial, old: str, new: str, line: int, said: str) -> None:
    file = trial.folder / "scoreline.yaml"
    file.write_text(CONFIGURATION.replace(old, new, 1))
    assert f"{file}:{line}: {said}" in refused(trial)


@pytest.mark.parametrize("first", [True, False], ids=["changed", "unchanged"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--benchmark", "rows", "--system", "alhpa"], "no system 'alhpa' in 'rows'"),
        (["--system", "alhpa"], "no system 'alhpa' in 'trial', 'rows'"),
    ],
)
def test_unknown_system(trial: Trial, first: bool, arguments: list[str], said: str) -> None:
    if first:
        trial.put("rows.jsonl", 7, '{"question_id": "q7", "system": "alpha"}')
    ended = trial.run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    # On a slow machine, a line of progress comes before it.
    assert ended.err.splitlines()[-1] == f"error: there is {said}; did you mean 'alpha'?"


@takes_minutes
def test_system_in_one_of_several_benchmarks(trial: Trial) -> None:
    trial.put("rows.jsonl", 7, '{"question_id": "q7", "system": "alpha"}')
    assert trial.run("--system", "good").code == 0


APART = """\
  between:
    questions: questions.jsonl
    predictions: "{system}.predictions.jsonl"
    evaluators: [citation]
"""


@takes_minutes
def test_systems_in_separate_benchmarks(trial: Trial) -> None:
    first, rows = CONFIGURATION.split("  rows:")
    (trial.folder / "scoreline.yaml").write_text(f"{first}{APART}  rows:{rows}")
    trial.put("rows.jsonl", 7, '{"question_id": "q7", "system": "alpha"}')
    both = ["--benchmark", "trial", "--benchmark", "rows"]
    assert trial.run(*both, "--system", "poor", "--system", "alpha").code == 0
    trial.put("rows.jsonl", 8, '{"question_id": "q8", "system": "alpha"}')
    ended = trial.run(*both, "--system", "poor", "--system", "between")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: there is no system 'between' in 'trial', 'rows'; ")


@pytest.fixture
def shell(trial: Trial) -> Iterator[int]:
    """Yield the id of a process that locks the warehouse as Scoreline does."""
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from warehouse.store import Warehouse\n"
        "with Warehouse(Path(sys.argv[1])).transaction():\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(trial.folder / "w.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process.pid
        process.communicate("")


@takes_minutes
def test_locked_warehouse_names_its_holder(
    trial: Trial, shell: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A run waits for as long as the other process lives.
    monkeypatch.setattr(resources, "PATIENCE_S", 0.2)
    trial.put(PREDICTION, 7, '{"question_id": "q7", "cited_sentence_ids": []}')
    ended = trial.run()
    assert (ended.code, ended.out) == (2, "")
    assert f"being written by process {shell} " in ended.err
    assert "Traceback" not in ended.err


@takes_minutes
def test_a_warehouse_of_a_later_version(trial: Trial) -> None:
    with duckdb.connect(trial.folder / "w.duckdb") as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE name = 'schema_version'")
    trial.put(PREDICTION, 7, '{"question_id": "q7", "cited_sentence_ids": []}')
    told = refused(trial)
    where = f"error: the warehouse '{trial.folder / 'w.duckdb'}' has schema version 99, "
    assert told.startswith(f"{where}and this program knows versions up to {SCHEMA_VERSION}: ")


@pytest.fixture
def tiny_disk(trial: Trial) -> Iterator[Path]:
    """Mount `published` on a disk with space for one published copy only."""
    folder = trial.folder / "published"
    copy = trial.published()
    size = len(copy) * 3 // 2
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("only root may mount the small disk that is filled here")
    (folder / "scoreline.duckdb").write_bytes(copy)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@takes_minutes
def test_full_disk_keeps_the_published_copy(trial: Trial, tiny_disk: Path) -> None:
    trial.put(PREDICTION, 7, '{"question_id": "q7", "cited_sentence_ids": []}')
    before = trial.published()
    ended = trial.run()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: cannot publish to '{tiny_disk}': ")
    assert "MB are needed and" in ended.err
    assert "Traceback" not in ended.err
    assert trial.published() == before
    subprocess.run(["mount", "-o", "remount,size=100m", str(tiny_disk)], check=True)
    assert trial.run().code == 0
    assert trial.published() != before
