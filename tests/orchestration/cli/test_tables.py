"""Every command with a table, on a terminal of 80 characters, with names as long as people have."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from orchestration import starter
from tests.support.command import scoreline
from tests.support.services import takes_minutes
from tests.support.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path

OLD = "meta-llama--Llama-3.3-70B-Instruct--chunks-of-512--temperature-0.2"
NEW = "meta-llama--Llama-3.3-70B-Instruct--chunks-of-1024--temperature-0.2"
SHORT = "reader"
METRIC = "answers_that_cite_the_harbour_evidence"
PLUGIN = '''
import scoreline

@scoreline.metric(best="low")
def words_nobody_says_at_the_harbour(answer: str) -> float:
    """The share of words that nobody says at the harbour, counted by hand in a long sentence."""
    return min(1.0, len(answer) / 100)
'''
COMMANDS = [
    ("leaderboard",),
    ("leaderboard", "--metric", "all"),
    ("leaderboard", "--metric", f"{METRIC}.f1"),
    ("leaderboard", "--slice", "topic"),
    ("compare",),
    ("compare", OLD, NEW),
    ("compare", OLD, SHORT, "--metric", "all"),
    ("gate", "--min", f"{METRIC}.f1=0.1"),
    ("gate", "--system", NEW, "--baseline", OLD),
    ("problems",),
    ("show", "bicycles"),
    ("plan",),
    ("plan", "--detect", "0.1"),
    ("doctor",),
    ("evaluators",),
    ("evaluators", "summarization"),
    ("evaluators", "document_retrieval"),
    ("labels", "import", "data/labels.jsonl"),
    ("sql", "SELECT system, value, detail FROM scores ORDER BY ALL LIMIT 20"),
    ("sql", "SELECT * FROM leaderboard ORDER BY ALL LIMIT 3"),
    ("sql", "SELECT question, system, answer FROM predictions JOIN questions USING (question_id)"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long") / "demo"
    starter.write_starter(folder)
    data = folder / "data"
    (data / f"predictions_{NEW}.jsonl").write_text((data / "predictions_reader.jsonl").read_text())
    (data / "predictions_keyword.jsonl").rename(data / f"predictions_{OLD}.jsonl")
    labels = data / "labels.jsonl"
    labels.write_text(labels.read_text().replace("keyword", OLD))
    (folder / "metrics.py").write_text(PLUGIN)
    file = folder / "scoreline.yaml"
    own = "words_nobody_says_at_the_harbour"
    written = file.read_text().replace(
        "evaluators: [document_retrieval, citations]",
        f"evaluators: [{{{METRIC}: citation}}, document_retrieval, citations, {own}]",
    )
    assert METRIC in written
    file.write_text(f"plugins: [metrics.py]\n{written}")
    ended = scoreline(folder, "run")
    assert ended.code == 0, ended.err
    return folder


@takes_minutes
@pytest.mark.parametrize(
    ("arguments", "columns"), [*((each, 80) for each in COMMANDS), *((e, 60) for e in COMMANDS[:4])]
)
def test_tables_fit_a_terminal(project: Path, arguments: tuple[str, ...], columns: int) -> None:
    printed = on_terminal(project, *arguments, columns=columns)
    assert "error:" not in printed
    assert len(printed.splitlines()) > 2
    plain = re.sub(r"\x1b\[\d*m", "", printed)
    # Only a word that is longer than the line, and so must stay whole, makes a line longer.
    long = [line for line in plain.splitlines() if len(line) > columns]
    assert [line for line in long if len(line.split()) > 1] == []
    if columns == 80:
        # Evidence is JSON without spaces, and a path is one word, too.
        assert [line for line in long if "{" not in line and "/" not in line] == []


@takes_minutes
@pytest.mark.parametrize("arguments", [a for a in COMMANDS if "doctor" not in a], ids=" ".join)
def test_no_word_is_broken_without_a_terminal(project: Path, arguments: tuple[str, ...]) -> None:
    if arguments[0] == "labels":
        pytest.skip("writes no JSON")
    table = scoreline(project, *arguments)
    words = set(table.out.split())
    ended = scoreline(project, *arguments, "--format", "json")
    assert table.code == ended.code == 0, ended.err
    found = json.loads(ended.out)
    for row in found if isinstance(found, list) else []:
        for key in ("system", "message", "answer", "question", "summary"):
            assert set(str(row.get(key) or "").split()) <= words, key
    if arguments[0] == "leaderboard":
        assert {OLD, NEW, SHORT} <= words
