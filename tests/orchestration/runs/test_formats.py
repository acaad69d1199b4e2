"""Benchmarks whose questions are in the prediction files, from configuration to score."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from orchestration.config import load
from orchestration.errors import SettingsError
from tests.orchestration.conftest import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """
benchmarks:
  birds:
    format: lm-eval
    predictions: logs/{system}/samples_*.jsonl
    evaluators: [option_confidence]
    slices: [task]
"""


def log(path: Path, *logprobs: float) -> None:
    """A log of one question with two choices, of which the second is right."""
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {
        "doc_id": 0,
        "doc": {"question": "Which can fly?"},
        "target": "1",
        "arguments": {
            f"gen_args_{n}": {"arg_0": "Which can fly?", "arg_1": choice}
            for n, choice in enumerate((" penguin", " crow"))
        },
        "filtered_resps": [[str(number), "False"] for number in logprobs],
    }
    path.write_text(json.dumps(row))


@takes_minutes
def test_a_run_reads_the_questions_from_the_logs(tmp_path: Path) -> None:
    (tmp_path / "scoreline.yaml").write_text(CONFIGURATION)
    for system, logprobs in (("north", (-4.0, -0.5)), ("south", (-0.5, -4.0))):
        log(tmp_path / "logs" / system / "samples_birds_2025-01-31T12-00-00.jsonl", *logprobs)
    assert scoreline(tmp_path, "run").code == 0
    query = (
        "SELECT system, slice, mean FROM leaderboard "
        "WHERE metric = 'accuracy' ORDER BY system, slice"
    )
    done = scoreline(tmp_path, "sql", query, "--format", "json")
    assert [list(row.values()) for row in json.loads(done.out)] == [
        ["north", "all", 1.0],
        ["north", "task=birds", 1.0],
        ["south", "all", 0.0],
        ["south", "task=birds", 0.0],
    ]
    assert "nothing has changed" in scoreline(tmp_path, "run").err.lower()
    # A log that changes is read again, for question and answer alike.
    log(tmp_path / "logs" / "south" / "samples_birds_2025-01-31T12-00-00.jsonl", -4.0, -0.5)
    assert scoreline(tmp_path, "run").code == 0
    done = scoreline(tmp_path, "sql", query, "--format", "json")
    assert {row["mean"] for row in json.loads(done.out)} == {1.0}


NO_QUESTION_FILES = [
    "deepeval",
    "inspect",
    "langfuse",
    "lm-eval",
    "openinference",
    "phoenix-experiment",
    "promptfoo",
]


@pytest.mark.parametrize("form", [*NO_QUESTION_FILES, "ragas", "trace"])
@pytest.mark.parametrize("key", ["questions", "documents"])
def test_formats_without_question_files_reject_them(tmp_path: Path, form: str, key: str) -> None:
    file = tmp_path / "scoreline.yaml"
    text = CONFIGURATION.replace("lm-eval", form)
    file.write_text(f"{text}    {key}: q.jsonl\n")
    with pytest.raises(SettingsError, match=f"has no {key.removesuffix('s')} files"):
        load.load_config(file)


@pytest.mark.parametrize("form", ["rgb", "eval-studio"])
def test_formats_with_question_files_require_them(tmp_path: Path, form: str) -> None:
    file = tmp_path / "scoreline.yaml"
    file.write_text(CONFIGURATION.replace("lm-eval", form))
    with pytest.raises(SettingsError, match="needs question files"):
        load.load_config(file)


DEEPEVAL = """
benchmarks:
  birds:
    format: deepeval
    predictions: "{system}.json"
    evaluators: [rouge]
"""


def dataset(path: Path, *outputs: tuple[str, str]) -> None:
    """A dataset of DeepEval: inputs with outputs, all of which expect the same."""
    rows = [
        {"input": asked, "actual_output": output, "expected_output": "A murder of crows."}
        for asked, output in outputs
    ]
    path.write_text(json.dumps(rows))


@takes_minutes
def test_a_system_with_more_questions_in_another_order_comes_first(tmp_path: Path) -> None:
    """Questions without ids keep theirs: only the scores of what is new are computed."""
    (tmp_path / "scoreline.yaml").write_text(DEEPEVAL)
    dataset(tmp_path / "south.json", ("a", "A murder of crows."), ("b", "Geese."))
    assert scoreline(tmp_path, "run").code == 0
    query = "SELECT question_id, scored_at FROM scores WHERE system = 'south' ORDER BY ALL"
    before = json.loads(scoreline(tmp_path, "sql", query, "--format", "json").out)
    dataset(tmp_path / "north.json", ("c", "Geese."), ("b", "A murder of crows."), ("a", "Geese."))
    assert scoreline(tmp_path, "run").code == 0
    after = json.loads(scoreline(tmp_path, "sql", query, "--format", "json").out)
    assert [each for each in after if each in before] == before
    query = (
        "SELECT system, question, value FROM scores JOIN questions USING (question_id) "
        "WHERE metric = 'rouge_l' ORDER BY system, question"
    )
    done = scoreline(tmp_path, "sql", query, "--format", "json")
    assert [list(row.values()) for row in json.loads(done.out)] == [
        ["north", "a", 0.0],
        ["north", "b", 1.0],
        ["north", "c", 0.0],
        ["south", "a", 1.0],
        ["south", "b", 0.0],
        ["south", "c", 0.0],
    ]
