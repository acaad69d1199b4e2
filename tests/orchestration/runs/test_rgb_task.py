"""RGB from end to end: questions are made, a model is asked, published outputs stand beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from systems.tasks.rgb_passages import mix
from tests.support.command import scoreline
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

CONFIG = """\
systems:
  small:
    model: openai/small
    api_base: URL
    task: {rgb: {noise_ratios: [0, 0.4, 0.8]}}
  reader: {python: my_rag.py:answer}
expectations: sql
benchmarks:
  b:
    format: rgb
    questions: en.json
    predictions: outputs_{system}.jsonl
    systems: [small, reader]
    missing: {published: not_asked}
    evaluators: [rgb]
    slices: [noise_ratio]
"""
READER = """
def answer(question):
    return {"answer": question["extra"]["passages"][0], "contexts": question["extra"]["passages"]}
"""
QUESTIONS: list[dict[str, Any]] = [
    {
        "id": at,
        "query": f"Who won race {at}?",
        "answer": f"winner {at}",
        "positive": [f"Passage {each}: winner {at} won." for each in range(6)],
        "negative": [f"Passage {each} is about boats." for each in range(6)],
    }
    for at in range(4)
]
FALSE = {
    **QUESTIONS[3],
    "id": 9,
    "query": "Who won the third race?",
    "fakeanswer": "loser",
    "positive_wrong": ["The loser won.", "It was the loser."],
}
REFUSAL = "I can not answer the question because of the insufficient information in documents."


def model(request: Mapping[str, Any]) -> Reply:
    """Read the first two passages; refuse where they name no winner, and call a loser an error."""
    content = request["messages"][-1]["content"]
    passages = content.removeprefix("Document:\n").partition("\n\nQuestion:")[0].split("\n")
    text = " ".join(passages[:2])
    if "loser" in text:
        text = "There are factual errors in the provided documents. It was winner 3."
    elif "winner" not in text:
        text = REFUSAL
    return Reply(content=text, usage=(10, 10))


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(folder / "published" / "scoreline.duckdb", read_only=True) as copy:
        return copy.sql(sql).fetchall()


@takes_minutes
def test_a_model_is_asked_in_every_scenario(tmp_path: Path) -> None:
    questions = [*QUESTIONS, FALSE]
    lines = "\n".join(json.dumps(each) for each in questions)
    (tmp_path / "en.json").write_text(lines, encoding="utf-8")
    (tmp_path / "my_rag.py").write_text(READER, encoding="utf-8")
    outputs = [
        {"id": each["id"], "query": each["query"], "noise_rate": 0.4, "prediction": "winner 1"}
        for each in questions
    ]
    published = "\n".join(json.dumps(each) for each in outputs)
    (tmp_path / "outputs_published.jsonl").write_text(published, encoding="utf-8")
    with JudgeServer(model) as server:
        config = CONFIG.replace("URL", server.url)
        (tmp_path / "scoreline.yaml").write_text(config, encoding="utf-8")
        first = scoreline(tmp_path, "run")
        assert first.code == 0, first.err
        assert server.count == 5 * 4 + 1
        again = scoreline(tmp_path, "run")
        assert again.code == 0, again.err
        assert server.count == 5 * 4 + 1

    made = rows(
        tmp_path,
        "SELECT scenario, noise_ratio, count(*), count(DISTINCT cluster) FROM questions "
        "GROUP BY ALL ORDER BY ALL",
    )
    assert made == [
        ("counterfactual_robustness", 0.0, 1, 1),
        ("negative_rejection", 1.0, 5, 5),
        ("noise_robustness", 0.0, 5, 5),
        ("noise_robustness", 0.4, 5, 5),
        ("noise_robustness", 0.8, 5, 5),
    ]
    means = {
        (system, metric): mean
        for system, metric, mean in rows(
            tmp_path,
            "SELECT system, evaluator || '.' || metric || ' ' || slice, mean FROM leaderboard "
            "WHERE mean IS NOT NULL",
        )
    }
    for ratio in (0.0, 0.4, 0.8):
        passages = [mix(each["positive"], each["negative"], ratio, 5, 2333) for each in questions]
        address = f"noise_robustness.accuracy noise_ratio={ratio}"
        read = [any("winner" in passage for passage in each[:2]) for each in passages]
        assert means["small", address] == pytest.approx(sum(read) / 5)
        first_only = ["winner" in each[0] for each in passages]
        assert means["reader", address] == pytest.approx(sum(first_only) / 5)
    assert means["small", "negative_rejection.rejection_rate_sentence all"] == 1.0
    assert means["small", "counterfactual_robustness.error_detection_rate_sentence all"] == 1.0
    assert means["small", "counterfactual_robustness.error_correction_rate all"] == 1.0
    assert means["reader", "negative_rejection.rejection_rate all"] == 0.0
    # Of the five outputs at 0.4, one names the winner of its race.
    assert means["published", "noise_robustness.accuracy noise_ratio=0.4"] == pytest.approx(0.2)
