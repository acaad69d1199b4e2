"""The guide to multiple choice, followed with a server whose probabilities are known."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from tests.support.command import scoreline
from tests.support.documents import commands, text
from tests.support.logprob_server import LogprobServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "docs/multiple-choice.md"
RIGHT = ("Paris", "7", "water", "whale")


def block(language: str) -> str:
    (found, *_) = re.findall(rf"(?s)```{language}\n(.*?)```", text(PAGE))
    return str(found)


def follow(folder: Path, server: LogprobServer) -> None:
    """Write the files of the guide."""
    (folder / "questions.jsonl").write_text(block("json"), encoding="utf-8")
    config = block("yaml").replace("http://127.0.0.1:8000/v1", server.url)
    (folder / "scoreline.yaml").write_text(config, encoding="utf-8")


def rows(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(folder / "published" / "scoreline.duckdb", read_only=True) as copy:
        return copy.sql(sql).fetchall()


@takes_minutes
def test_the_guide(tmp_path: Path) -> None:
    questions = [json.loads(line) for line in block("json").splitlines()]
    with LogprobServer(RIGHT, most=4) as server:
        follow(tmp_path, server)
        for command in commands(PAGE):
            done = scoreline(tmp_path, *command.words[1:])
            assert done.code == 0, (command.words, done.out, done.err)
        # Of 20 tokens asked for, this server lists 4.
        assert {sent["top_logprobs"] for sent in server.requests} == {20}
        assert {sent["max_tokens"] for sent in server.requests} == {1}
        shown = [sent["messages"][0]["content"] for sent in server.requests]
        assert len(shown) == 4 + 4 * 3
        assert all(content.count("Question: ") == 3 for content in shown)

        found = rows(
            tmp_path,
            "SELECT question_id, value, detail->'$.bounded' FROM scores "
            "WHERE system = 'served' AND metric = 'phi' ORDER BY ALL",
        )
        for question, (name, phi, bounded) in zip(questions, found, strict=True):
            assert name == question["question_id"]
            at = "ABC".index(question["correct_choice"])
            exact = dict(zip("ABC", server.probabilities(question["choices"]), strict=True))
            # The right option is among the likeliest tokens; others may be bounded.
            assert phi == pytest.approx(exact["ABC"[at]], abs=1e-6)
            assert set(json.loads(bounded)) == {
                letter for letter, probability in exact.items() if probability < 0.05
            }
        # At A, the right option has 0.2 more, whatever the question.
        spread = rows(
            tmp_path,
            "SELECT system, mean FROM leaderboard WHERE metric = 'order_spread' "
            "AND mean IS NOT NULL",
        )
        assert spread == [("served-rotated", pytest.approx(0.2, abs=1e-6))]
        asked = len(server.requests)
        assert scoreline(tmp_path, "run").code == 0
        assert len(server.requests) == asked


@takes_minutes
def test_a_server_without_log_probabilities(tmp_path: Path) -> None:
    with LogprobServer(RIGHT, has_logprobs=False) as server:
        follow(tmp_path, server)
        done = scoreline(tmp_path, "run")
    assert done.code == 2
    assert "the first answer of the system 'served" in done.err
    assert "`top_logprobs`" in done.err
    assert len(server.requests) <= 4
