"""A real question-answering project from its own files to its published figures, all of them."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from assets.keys import LEADERBOARD
from assets.project import Benchmark, Project
from evaluators import catalog
from tests.assets.conftest import materialise
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]

EVALUATORS = ("document_retrieval", "citation", "evidence_overlap")
RETRIEVAL = ("recall_at_1", "recall_at_5")
CITATION = ("precision", "recall", "f1")
OURS = {"split", "gold_doc_id_in_published_eval"}
"""The fields of a question that the authors' files do not have."""


@dataclass(frozen=True)
class Done:
    """The authors' results, and ours from the same files."""

    rows: list[Row]
    figures: list[Row]
    scores: dict[tuple[str, ...], tuple[float | None, str]]
    board: dict[tuple[str, ...], tuple[float | None, int, int]]


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def write_files(source: Path, home: Path) -> None:
    """Write questions, corpus and outputs as the authors' project has them."""
    asked: dict[tuple[str, str], str] = {}
    questions: dict[str, list[str]] = {}
    for row in _lines(source / "questions.jsonl"):
        asked[row["split"], row["question_id"]] = row["question"]
        kept = {name: value for name, value in row.items() if name not in OURS}
        # The published evaluation compared with this id; the documents were renamed later.
        kept["gold_doc_ids"] = [row["gold_doc_id_in_published_eval"]]
        questions.setdefault(row["split"], []).append(json.dumps(kept))
    for split, lines in questions.items():
        (home / f"{split}_final_jsonl.txt").write_text("\n".join(lines), encoding="utf-8")
    outputs: dict[tuple[str, str], Row] = {}
    for row in _lines(source / "outputs.jsonl"):
        given = {name: row[name] for name in ("answer", "retrieved_docs", "evidence_sentences")}
        given["question"] = asked[row["split"], row["question_id"]]
        outputs.setdefault((row["split"], row["system"]), {})[row["question_id"]] = given
    for (split, system), answers in outputs.items():
        path = home / f"{split}_{system}_output.json"
        path.write_text(json.dumps(answers, indent=1), encoding="utf-8")
    (home / "corpus").mkdir()
    for row in _lines(source / "gold_documents.jsonl"):
        path = home / "corpus" / f"{row['doc_id'].replace('/', '_')}.json"
        path.write_text(json.dumps(row), encoding="utf-8")


@pytest.fixture(scope="module")
def done(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Done:
    source = shared / "data" / "grounded_qa"
    if not source.is_dir():
        pytest.skip(f"the project's data is missing: {source}")
    home = tmp_path_factory.mktemp("grounded")
    write_files(source, home)
    evaluators = tuple(catalog.build(name) for name in EVALUATORS)
    benchmarks = {
        split: Benchmark(
            name=split,
            format="document-grounded-qa",
            questions=home / f"{split}_final_jsonl.txt",
            documents=home / "corpus" / "*.json",
            predictions=home / f"{split}_{{system}}_output.json",
            evaluators=evaluators,
            slices=("question_type",),
        )
        for split in ("train", "dev")
    }
    project = Project(
        home=home,
        warehouse=home / "warehouse.duckdb",
        publish=home / "published",
        benchmarks=benchmarks,
    )
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(project, instance, LEADERBOARD)
    warehouse = Warehouse(project.warehouse)
    scores = warehouse.fetch(
        "SELECT benchmark, system, question_id, evaluator, metric, value, status FROM scores"
    )
    board = warehouse.fetch(
        "SELECT benchmark, system, evaluator, metric, mean, n, n_scored FROM leaderboard "
        "WHERE slice = 'all'"
    )
    with (source / "figures.csv").open(encoding="utf-8") as lines:
        figures = list(csv.DictReader(lines))
    return Done(
        rows=list(_lines(source / "published_per_question.jsonl")),
        figures=figures,
        scores={row[:5]: row[5:] for row in scores.iter_rows()},
        board={row[:4]: row[4:] for row in board.iter_rows()},
    )


def exactly(value: float) -> Any:
    return pytest.approx(value, rel=0, abs=1e-12)


def test_every_published_row(done: Done) -> None:
    compared = {"figures": 0, "not applicable": 0, "evidence": 0}
    for row in done.rows:
        key = row["split"], row["system"], row["question_id"]
        for metric in RETRIEVAL:
            given = done.scores[*key, "document_retrieval", metric]
            assert given == (exactly(row[metric]), "scored"), (key, metric)
        for metric in CITATION:
            given = done.scores[*key, "citation", metric]
            if metric in row:
                assert given == (exactly(row[metric]), "scored"), (key, metric)
            else:
                assert given == (None, "not_applicable"), (key, metric)
        compared["figures" if "f1" in row else "not applicable"] += 1
        if row.get("evidence_score") is not None:
            compared["evidence"] += 1
            given = done.scores[*key, "evidence_overlap", "evidence_recall"]
            assert given == (exactly(row["evidence_score"]), "scored"), key
    assert compared["evidence"] == 87
    assert compared["figures"] + compared["not applicable"] == len(done.rows) == 114
    assert min(compared.values()) > 0


def test_nothing_but_the_published_rows_is_there(done: Done) -> None:
    answered = {(row["split"], row["system"], row["question_id"]) for row in done.rows}
    assert {key[:3] for key in done.scores} == answered


def test_every_published_figure(done: Done) -> None:
    assert len(done.figures) == 10
    for figure in done.figures:
        key = figure["split"], figure["system"]
        for metric in RETRIEVAL:
            mean, n, n_scored = done.board[*key, "document_retrieval", metric]
            assert mean is not None
            assert n == n_scored == int(figure["n"])
            assert mean * n == exactly(int(figure[metric])), (key, metric)
        for metric in CITATION:
            mean, n, _ = done.board[*key, "citation", metric]
            assert (mean, n) == (exactly(float(figure[f"avg_{metric}"])), int(figure["n"])), key
        if figure["avg_evidence_score"]:
            mean, *_ = done.board[*key, "evidence_overlap", "evidence_recall"]
            assert mean == exactly(float(figure["avg_evidence_score"])), key
    assert {key[:2] for key in done.board} == {
        (figure["split"], figure["system"]) for figure in done.figures
    }
