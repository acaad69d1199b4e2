"""Reruns of judged projects: changes appear, and removed inputs leave no scores."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer, faithful
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = takes_minutes

SAMPLES = 8


def judge(server: JudgeServer, **keys: Any) -> dict[str, Any]:
    return {"model": "openai/a-judge", "api_base": server.url, "concurrency": 1, **keys}


def test_a_second_budget_adds_scores_to_the_leaderboard(
    tmp_path: Path,
) -> None:
    # A reply costs 0.1, so that a budget of 0.35 allows three of them.
    prices = {"usd_per_million_in": 0, "usd_per_million_out": 1_000, "max_tokens": 100}
    with JudgeServer(lambda request: replace(faithful(request), usage=(100, 100))) as server:
        project = JudgedProject(
            tmp_path / "home",
            judge(server, budget_usd=0.35, **prices),
            evaluators=["context_relevancy"],
        )
        # Each system retrieves something of its own, so that there are eight questions.
        for system, rows in project.predictions.items():
            for row in rows:
                row["contexts"] = [f"{system} found this. {row['question_id']}."]
        shown = []
        for _ in range(2):
            project.run()
            ((scored, lost),) = project.rows(
                "SELECT sum(n_scored)::INT, sum(n_judge_error)::INT FROM leaderboard "
                "WHERE slice = 'all'"
            )
            ((graded,),) = project.rows("SELECT count(value) FROM scores")
            assert (scored, scored + lost) == (graded, SAMPLES)
            shown.append(scored)
        assert shown == [3, 6]


def test_a_removed_system_leaves_only_its_judgments(
    tmp_path: Path,
) -> None:
    with JudgeServer() as server:
        project = JudgedProject(tmp_path / "home", judge(server), evaluators=["context_relevancy"])
        project.run()
        judgments = project.rows("SELECT count(*) FROM judgments")
        assert project.rows("SELECT count(*) FROM asks") == [(SAMPLES,)]
        gone = project.predictions.pop("wordy")
        project.run()
        assert project.rows("SELECT DISTINCT system FROM asks") == [("plain",)]
        assert project.rows("SELECT count(*) FROM judgments") == judgments
        asked = server.count
        project.predictions["wordy"] = gone
        project.run()
        assert server.count == asked
        assert project.rows("SELECT count(*) FROM asks") == [(SAMPLES,)]


def test_later_labels_change_scores_and_leaderboard(tmp_path: Path) -> None:
    project = JudgedProject(tmp_path / "home", {"model": "human"}, evaluators=["rubric_combined"])
    for rows in project.predictions.values():
        for row in rows:
            row["cited_sentence_ids"] = []
    for question in project.questions:
        question |= {"rubric": {"description": "Does it name the maps?"}, "gold_sentence_ids": []}
    assert means(project) == [None, None]
    labels = [
        {
            "benchmark": "rooms",
            "system": system,
            "question_id": row["question_id"],
            "evaluator": "rubric_judge",
            "metric": "raw_score",
            "value": 1.0,
            "annotator": "ann",
        }
        for system, rows in project.predictions.items()
        for row in rows
    ]
    file = project.home / "labels.jsonl"
    file.write_text("".join(json.dumps(label) + "\n" for label in labels), encoding="utf-8")
    config = ["--config", str(project.config)]
    imported = CliRunner().invoke(program, ["labels", "import", str(file), *config])
    assert imported.exit_code == 0, imported.output
    assert "`scoreline run` computes scores from them" in imported.stderr
    # Half of 1 / 5, and half of citing nothing where nothing is to be cited.
    assert means(project) == pytest.approx([0.6, 0.6])


def means(project: JudgedProject) -> list[float | None]:
    """The mean of the composite for each system, after another run."""
    project.run()
    rows = project.rows("SELECT mean FROM leaderboard WHERE slice = 'all' AND metric = 'combined'")
    return [mean for (mean,) in rows]


def test_an_exported_ledger_replays_to_the_same_scores(tmp_path: Path) -> None:
    with JudgeServer() as server:
        live = JudgedProject(tmp_path / "live", judge(server), evaluators=["faithfulness"])
        live.run()
    copied = JudgedProject(
        tmp_path / "copied", {"model": "recorded:said.parquet"}, evaluators=["faithfulness"]
    )
    copied.write()
    with duckdb.connect(live.home / "published" / "scoreline.duckdb", read_only=True) as published:
        published.execute(
            "COPY (SELECT messages, reply_schema, replicate, reply FROM judgments) "
            f"TO '{copied.home / 'said.parquet'}'"
        )
    copied.run()
    assert copied.statuses() == {"scored": SAMPLES}
    assert copied.everything() == live.everything()
