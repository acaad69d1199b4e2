"""Errors that a run reports before it loads anything heavy or waits for another process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.support.services import takes_minutes
from warehouse.storage.file_lock import FileLock

ROOT = Path(__file__).parents[3]
HEAVY = ("dagster", "great_expectations", "litellm", "torch")

PROGRAM = """
    import atexit, json, sys

    def show():
        heavy = [name for name in {heavy!r} if name in sys.modules]
        print("HEAVY", json.dumps(heavy), file=sys.stderr)

    atexit.register(show)
    from orchestration.cli import main
    main()
"""

CONFIGURATION = """\
warehouse: data/w.duckdb
publish: published
benchmarks:
  trial:
    questions: data/questions.jsonl
    predictions: "data/{system}.predictions.jsonl"
    evaluators: [citation]
"""
JUDGE = """\
judge:
  model: openai/our-own-model
  api_base: http://127.0.0.1:9/v1
"""
JUDGED = CONFIGURATION.replace("[citation]", "[faithfulness]")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    (data / "questions.jsonl").write_text('{"question_id": "q1", "question": "Why?"}\n')
    answer = {"question_id": "q1", "answer": "So.", "contexts": ["So it is."]}
    (data / "good.predictions.jsonl").write_text(json.dumps(answer) + "\n")
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION)
    return tmp_path


def fails(project: Path, command: str = "run") -> str:
    """Returns the error of a command that must load nothing heavy."""
    environment = {name: value for name, value in os.environ.items() if name != "OUR_KEY"}
    ended = subprocess.run(
        [sys.executable, "-c", dedent(PROGRAM).format(heavy=HEAVY), command],
        capture_output=True,
        text=True,
        cwd=project,
        env={**environment, "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    *said, heavy = ended.stderr.splitlines()
    assert (ended.returncode, ended.stdout, heavy) == (2, "", "HEAVY []"), ended.stderr
    assert not (project / "data" / "w.duckdb").exists()
    return "\n".join(said).replace(f"{project}/", "")


FAULTS = {
    "configuration": (
        {"scoreline.yaml": CONFIGURATION.replace("predictions:", "prediction:")},
        "scoreline.yaml:6: unknown key 'prediction' (did you mean 'predictions'?)",
    ),
    "no file": (
        {"scoreline.yaml": CONFIGURATION.replace("questions.jsonl", "question.jsonl")},
        "data/question.jsonl: no such file; did you mean 'questions.jsonl'?",
    ),
    "no system": (
        {"scoreline.yaml": CONFIGURATION.replace("{system}.p", "{system}/p")},
        "data/{system}/predictions.jsonl: no file matches",
    ),
    "first rows": (
        {
            "data/questions.jsonl": '{"question": "Why?"}\n',
            "data/bad.predictions.jsonl": '{"question_id": "q1"}\n' * 20 + '\n{"x"',
            "data/worse.predictions.jsonl": "[1,\n",
        },
        """\
error: data/questions.jsonl:1: question_id: missing; found 'question'; \
to read another column as it, set `columns`
data/bad.predictions.jsonl:22: not JSON at column 5: expecting ':' delimiter
data/worse.predictions.jsonl:1: expected a JSON object on each line, found the beginning""",
    ),
    "columns": (
        {
            "scoreline.yaml": CONFIGURATION + "    columns: {questions: {key: question_id}}\n",
            "data/questions.jsonl": '{"key": "q1", "question": 5}\n',
        },
        "error: data/questions.jsonl:1: question: expected text, found the number 5",
    ),
    "a missing column": (
        {
            "scoreline.yaml": CONFIGURATION + "    columns: {questions: {kez: question_id}}\n",
            "data/questions.jsonl": '{"keys": "q1"}\n',
        },
        "error: data/questions.jsonl:1: question_id: missing; found 'keys'",
    ),
    "later rows": (
        {
            "data/questions.jsonl": "".join(f'{{"question_id": "q{n}"}}\n' for n in range(9)),
            "data/good.predictions.jsonl": "".join(
                f'{{"question_id": "{name}"}}\n' for name in ("q0", "q1", "q2", "q3", "q1", "x")
            )
            + '{"answer": "So."}\n',
        },
        """\
error: data/good.predictions.jsonl:5: a second prediction of 'good' for question 'q1', \
the first in data/good.predictions.jsonl:2; several answers are numbered from 0 by the field \
'repeat'
data/good.predictions.jsonl:6: there is no question 'x'
data/good.predictions.jsonl:7: question_id: missing""",
    ),
    "a later question": (
        {"data/questions.jsonl": "".join(f'{{"question_id": "q{n % 4}"}}\n' for n in range(5))},
        "data/questions.jsonl:5: question 'q0' occurs twice, first in data/questions.jsonl:1",
    ),
    "an empty file": (
        {"data/good.predictions.jsonl": "\n"},
        "data/good.predictions.jsonl: the file is empty",
    ),
    "publish": (
        {"scoreline.yaml": CONFIGURATION.replace(": published", ": data/questions.jsonl")},
        "cannot publish to 'data/questions.jsonl': it is a file, expected a folder",
    ),
    "key": (
        {"scoreline.yaml": JUDGED + JUDGE + "  api_key_env: OUR_KEY\n"},
        "the judge's key: the environment variable 'OUR_KEY' is not set",
    ),
    "price": (
        {"scoreline.yaml": JUDGED + JUDGE + "  budget_usd: 1\n"},
        "judge.budget_usd cannot be enforced: no price is known for 'openai/our-own-model'",
    ),
}


@takes_minutes
@pytest.mark.parametrize("fault", FAULTS)
def test_errors_come_before_anything_heavy(project: Path, fault: str) -> None:
    files, said = FAULTS[fault]
    for name, content in files.items():
        (project / name).write_text(content)
    assert said in fails(project)


@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_input_error_does_not_wait_for_another_process(project: Path, command: str) -> None:
    (project / "data" / "questions.jsonl").write_text("{\n")
    with FileLock(project / "data" / "w.duckdb", patience_s=1).exclusive():
        assert "data/questions.jsonl:1: not JSON at column 2" in fails(project, command)
