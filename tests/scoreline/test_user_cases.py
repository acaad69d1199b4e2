"""Whole pieces of work as people do them: one project by several ways and tools."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pytest
import yaml

import scoreline
from orchestration import starter
from tests.assets.test_grounded_qa import write_files
from tests.scoreline.rows import ANSWERS, QUESTIONS
from tests.support.command import scoreline as command
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

EVALUATORS = ["document_retrieval", "citation", "evidence_overlap"]
VERSIONS = ("simple", "extension1", "extension3")
KEYS = ["system", "evaluator", "metric"]
FIGURES = {
    "avg_precision": ("citation", "precision"),
    "avg_recall": ("citation", "recall"),
    "avg_f1": ("citation", "f1"),
    "avg_evidence_score": ("evidence_overlap", "evidence_recall"),
}


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def by_api(source: Path) -> scoreline.Results:
    """The published files as somebody with a script has them: rows in memory."""
    questions = [
        {
            "question_id": row["question_id"],
            "question": row["question"],
            "doc_id": row["doc_id"],
            "gold_doc_ids": [row["gold_doc_id_in_published_eval"]],
            "gold_sentence_ids": row["evidence_sentences"],
        }
        for row in lines(source / "questions.jsonl")
        if row["split"] == "train"
    ]
    answers = {
        version: [
            {
                "question_id": row["question_id"],
                "answer": row["answer"],
                "retrieved": [{"doc_id": found["doc_id"]} for found in row["retrieved_docs"] or ()],
                "cited_sentence_ids": row["evidence_sentences"] or [],
            }
            for row in lines(source / "outputs.jsonl")
            if (row["split"], row["system"]) == ("train", version)
        ]
        for version in VERSIONS
    }
    documents = [
        {"doc_id": row["doc_id"], "sentences": row["sentences"]}
        for row in lines(source / "gold_documents.jsonl")
    ]
    return scoreline.evaluate(questions, answers, EVALUATORS, documents=documents)


@takes_minutes
def test_the_api_and_a_run_give_the_published_figures(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "grounded_qa"
    if not source.is_dir():
        pytest.skip(f"the project's data is missing: {source}")
    write_files(source, tmp_path)
    (tmp_path / "train_strong_output.json").unlink()
    benchmark = {
        "format": "document-grounded-qa",
        "questions": "train_final_jsonl.txt",
        "documents": "corpus/*.json",
        "predictions": "train_{system}_output.json",
        "evaluators": EVALUATORS,
    }
    text = yaml.safe_dump({"benchmarks": {"train": benchmark}})
    (tmp_path / "scoreline.yaml").write_text(text, "utf-8")
    ended = command(tmp_path, "run", "--quiet")
    assert ended.code == 0, ended.err
    ran, evaluated = scoreline.open(tmp_path / "published"), by_api(source)

    def figures(results: scoreline.Results) -> pl.DataFrame:
        chosen = results.leaderboard.filter(pl.col("slice") == "all").sort(KEYS)
        return chosen.select(*KEYS, "mean", "ci_low", "ci_high", "rank", "n", "n_scored")

    # To the last digit.
    assert figures(evaluated).rows() == figures(ran).rows()
    pairs = ["system_a", "system_b", "evaluator", "metric", "difference", "p_value", "verdict"]
    one, two = (
        each.comparisons.filter(pl.col("slice") == "all").select(pairs).sort(pairs[:4]).rows()
        for each in (ran, evaluated)
    )
    assert one == two
    means = {row[:3]: row[3] for row in figures(evaluated).rows()}
    with (source / "figures.csv").open(encoding="utf-8") as file:
        published = [row for row in csv.DictReader(file) if row["split"] == "train"]
    compared = 0
    for row in published:
        for column, (evaluator, metric) in FIGURES.items():
            if row["system"] in VERSIONS and row[column]:
                mean = means[row["system"], evaluator, metric]
                assert mean == pytest.approx(float(row[column]), rel=0, abs=1e-12)
                compared += 1
    assert compared == 11


CHRF = '''\
from sacrebleu.metrics import CHRF

import scoreline

chrf_score = CHRF()


@scoreline.metric
def chrf(answer: str, expected_answer: str) -> float:
    """How many characters' n-grams does the answer share with the expected one?"""
    return min(1.0, chrf_score.sentence_score(answer, [expected_answer]).score / 100)
'''


@takes_minutes
def test_a_changed_own_metric_alone_is_computed_again(tmp_path: Path) -> None:
    from sacrebleu import metrics

    own = tmp_path / "metrics.py"
    own.write_text(CHRF, "utf-8")
    for name, rows in {
        "questions": QUESTIONS,
        **{f"by-{k}": v for k, v in ANSWERS.items()},
    }.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{name}.jsonl").write_text(text, "utf-8")
    benchmark = {
        "questions": "questions.jsonl",
        "predictions": "by-{system}.jsonl",
        "evaluators": ["citation", "rouge", "chrf"],
    }
    content = {"plugins": ["metrics.py"], "benchmarks": {"one": benchmark, "two": benchmark}}
    (tmp_path / "scoreline.yaml").write_text(json.dumps(content), "utf-8")

    def run() -> tuple[dict[str, float], dict[str, list[Any]], str]:
        ended = command(tmp_path, "run")
        assert ended.code == 0, ended.err
        results = scoreline.open(tmp_path / "published")
        rows = results.leaderboard.filter(
            pl.col("evaluator") == "chrf", pl.col("benchmark") == "two", pl.col("slice") == "all"
        )
        at = results.scores.group_by("evaluator").agg(pl.col("scored_at").unique().sort())
        means = dict(rows.select("system", "mean").iter_rows())
        return means, dict(at.iter_rows()), ended.err

    means, before, _ = run()
    expected = [question["expected_answer"] for question in QUESTIONS]
    for system, rows in ANSWERS.items():
        scores = [
            metrics.CHRF().sentence_score(row["answer"], [text]).score / 100
            for row, text in zip(rows, expected, strict=True)
        ]
        assert means[system] == pytest.approx(sum(min(1, each) for each in scores) / len(scores))
    own.write_text(CHRF.replace("CHRF()", "CHRF(word_order=2)"), "utf-8")
    changed, after, said = run()
    assert changed["poor"] != means["poor"]
    samples = 2 * len(ANSWERS) * len(QUESTIONS)
    assert f"{samples} scored, {2 * samples} up to date" in said
    assert [name for name in before if before[name] != after[name]] == ["chrf"]


READERS = {
    "duckdb": "import duckdb; rows = duckdb.connect(copy, read_only=True).sql(query).fetchall()",
    "pandas": "import duckdb; rows = duckdb.connect(copy, read_only=True).sql(query).df()"
    ".itertuples(index=False, name=None)",
    "pandas from Parquet": "import pandas as pd; table = pd.read_parquet(parquet);"
    "table = table[(table.slice == 'all') & (table.is_primary == 1)];"
    "table = table.sort_values(['system', 'evaluator', 'metric']);"
    "rows = table[['system', 'evaluator', 'metric', 'mean']].itertuples(index=False, name=None)",
}
QUERY = (
    "SELECT system, evaluator, metric, mean FROM leaderboard "
    "WHERE slice = 'all' AND is_primary = 1 ORDER BY ALL"
)


@takes_minutes
def test_one_project_is_opened_by_three_tools(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    assert command(tmp_path, "run", "--quiet").code == 0
    copy = tmp_path / "published" / "scoreline.duckdb"
    exported = command(tmp_path, "export", "--as", "parquet", "--out", "tables")
    (parquet,) = (
        path for path in exported.out.splitlines() if path.endswith("/leaderboard.parquet")
    )
    with duckdb.connect(copy, read_only=True) as ours:
        own = ours.sql(QUERY).fetchall()
    assert len(own) == 6
    for tool, code in READERS.items():
        # Another process, without anything of ours.
        given = f"copy, parquet, query = {str(copy)!r}, {str(parquet)!r}, {QUERY!r}\n"
        done = subprocess.run(
            [sys.executable, "-c", f"{given}{code}\nprint(repr(list(map(tuple, rows))))"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == repr(own), tool
    # Dagster's own command sees the assets of the project.
    listed = subprocess.run(
        [
            *(sys.executable, "-m", "dagster", "asset", "list"),
            *("-m", "scoreline.definitions"),
        ],
        cwd=tmp_path,
        env={**os.environ, "SCORELINE_CONFIG": str(tmp_path / "scoreline.yaml")},
        capture_output=True,
        text=True,
        check=True,
    )
    names = listed.stdout.split()
    assert {"questions", "predictions", "scores/citation", "leaderboard"} <= set(names)
    loaded = scoreline.open(tmp_path / "published").leaderboard
    assert set(loaded["evaluator"]) == {
        name.partition("/")[2] for name in names if name.startswith("scores/")
    }
