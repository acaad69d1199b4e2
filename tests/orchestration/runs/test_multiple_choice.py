"""Multiple choice from end to end: a local model is asked, and its probabilities are scored."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from tests.evaluators.engines.local import tiny
from tests.evaluators.engines.local.test_next_text import both, direct
from tests.support.command import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
models: {device: cpu, offline: true}
systems:
  plain: {model: "local:llama", task: {mcqa: {few_shot: 1, examples: examples.jsonl}}}
  turned: {model: "local:llama", task: {mcqa: {few_shot: 0, permutations: cyclic}}}
benchmarks:
  numbers:
    questions: questions.jsonl
    systems: [plain, turned]
    evaluators: [option_confidence, classification]
"""
EXAMPLE = "Question: What is 1 + 1?\n(A) 2\n(B) 3\nAnswer: A\n\n"


def options(at: int) -> list[str]:
    return [str(at + step) for step in range(3)]


def prompt(at: int, shift: int = 0) -> str:
    listed = [*options(at)[shift:], *options(at)[:shift]]
    lines = [f"({letter}) {option}" for letter, option in zip("ABC", listed, strict=True)]
    return "\n".join([f"Question: What comes after {at}?", *lines, "Answer:"])


@takes_minutes
def test_a_local_model_is_asked_once_and_scored(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with tiny.silently():
        tiny.lettered(tmp_path / "llama", "llama")
    (tmp_path / "scoreline.yaml").write_text(CONFIG, encoding="utf-8")
    questions = [
        {
            "question_id": f"q{at}",
            "question": f"What comes after {at}?",
            "choices": options(at),
            "correct_choice": 1,
            "expected_label": "B",
        }
        for at in range(4)
    ]
    example = {"question_id": "e", "question": "What is 1 + 1?", "choices": ["2", "3"]}
    for name, rows in (
        ("questions", questions),
        ("examples", [{**example, "correct_choice": "A"}]),
    ):
        lines = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")

    first = scoreline(tmp_path, "run")
    assert first.code == 0, first.err
    assert "plain, numbers: 4 asked" in first.err

    phi, spreads, right = [], [], 0
    for at in range(4):
        given = direct(tmp_path / "llama", EXAMPLE + prompt(at))
        phi.append(math.exp(both(given, "B")))
        right += max("ABC", key=lambda letter, given=given: both(given, letter)) == "B"
        turned = []
        for shift, letter in ((0, "B"), (1, "A"), (2, "C")):
            turned.append(math.exp(both(direct(tmp_path / "llama", prompt(at, shift)), letter)))
        spreads.append(max(turned) - min(turned))
    found = scoreline(
        tmp_path, "sql", "--format", "json",
        "SELECT system, evaluator || '.' || metric AS metric, mean FROM leaderboard "
        "WHERE mean IS NOT NULL",
    )  # fmt: skip
    means = {(row["system"], row["metric"]): row["mean"] for row in json.loads(found.out)}
    assert means["plain", "option_confidence.phi"] == pytest.approx(sum(phi) / 4, abs=1e-6)
    assert means["plain", "classification.accuracy"] == right / 4
    spread = means["turned", "option_confidence.order_spread"]
    assert spread == pytest.approx(sum(spreads) / 4, abs=1e-6)
    assert ("plain", "option_confidence.order_spread") not in means

    again = scoreline(tmp_path, "run")
    assert again.code == 0, again.err
    assert " asked;" not in again.err
