"""A language model behind a server: its calls are in the ledger, and paid for once."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import duckdb

from tests.evaluators.engines.echo_server import EchoServer
from tests.support.command import scoreline

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CONFIG = """\
models:
  language_model: litellm:text-completion-openai/tiny
  api_base: {address}
  api_key_env: LM_KEY
benchmarks:
  rivers: {{questions: questions.jsonl, predictions: plain.jsonl, evaluators: [perplexity]}}
"""
ANSWERS = ["The Seine flows through Paris.", "The Rhine flows through Basel.", "The Seine."]
KEY = "sk-hidden-language-model-key"


def test_calls_are_stored_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LM_KEY", KEY)
    rows = [
        [{"question_id": f"q{at}", "question": f"Which river, {at}?"} for at in range(3)],
        [
            {"question_id": f"q{at}", "system": "plain", "answer": answer}
            for at, answer in enumerate(ANSWERS)
        ],
    ]
    for name, lines in zip(("questions", "plain"), rows, strict=True):
        text = "\n".join(map(json.dumps, lines))
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    with EchoServer() as server:
        config = CONFIG.format(address=server.address)
        (tmp_path / "scoreline.yaml").write_text(config, encoding="utf-8")
        first = scoreline(tmp_path, "run")
        assert first.code == 0, first.err
        sent = list(server.prompts)
        assert set(ANSWERS) < set(sent)
        (cache,) = tmp_path.rglob("encodings")
        shutil.rmtree(cache)
        again = scoreline(tmp_path, "run", "--force")
        assert again.code == 0, again.err
        assert server.prompts == sent
    (warehouse,) = cache.parent.glob("warehouse.duckdb")
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        stored = connection.execute(
            "SELECT model, status, attempts, messages->>'$[0].content' FROM judgments"
        ).fetchall()
        scored = connection.execute(
            "SELECT status, count(*) FROM scores WHERE metric = 'perplexity' GROUP BY ALL"
        ).fetchall()
    assert sorted(text for *_, text in stored) == sorted(sent)
    assert {row[:3] for row in stored} == {("litellm:text-completion-openai/tiny", "scored", 1)}
    assert scored == [("scored", 3)]
    assert KEY not in first.err + again.err
