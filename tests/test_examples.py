"""The example project: it runs offline, and shows what its README says can be seen in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

EXAMPLE = Path(__file__).parents[1] / "examples" / "handbook"
SECONDS = 60
# Names resolve to nothing and connections are refused: whatever calls out, fails.
OFFLINE = {
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "all_proxy": "http://127.0.0.1:9",
    "HF_HUB_OFFLINE": "1",
}


class Example:
    """A copy of the example project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def scoreline(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the project's folder."""
        return subprocess.run(
            [str(Path(sys.executable).with_name("scoreline")), *arguments],
            cwd=self.folder,
            env=os.environ | OFFLINE,
            capture_output=True,
            text=True,
            check=False,
        )

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """What the published copy answers to any DuckDB client."""
        with duckdb.connect(self.folder / "published" / "scoreline.duckdb", read_only=True) as copy:
            return copy.sql(sql).pl().to_dicts()

    def means(self, metric: str) -> dict[str, float | None]:
        """The means of `evaluator.metric` over all questions of the handbook, by system."""
        evaluator, _, name = metric.partition(".")
        where = f"evaluator = '{evaluator}' and metric = '{name}' and slice = 'all'"
        rows = self.rows(
            f"select system, mean from leaderboard where benchmark = 'handbook-answers' and {where}"
        )
        return {row["system"]: row["mean"] for row in rows}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    folder = tmp_path_factory.mktemp("example") / "handbook"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".scoreline", "published"))
    example = Example(folder)
    start = time.monotonic()
    done = example.scoreline("run")
    taken = time.monotonic() - start
    assert done.returncode == 0, done.stderr
    assert taken < SECONDS
    for name in ("handbook-answers", "mail-routing", "page-search", "keyword", "rag"):
        assert name in done.stdout
    return example


def test_the_systems_differ_visibly(example: Example) -> None:
    retrieval = example.means("document_retrieval.recall_at_1")
    assert retrieval["keyword"] == pytest.approx(18 / 24, abs=1e-12)
    assert retrieval["rag"] == pytest.approx(21 / 24, abs=1e-12)
    citation = example.means("citation.f1")
    assert citation["rag"] is not None
    assert citation["keyword"] is not None
    assert citation["rag"] > citation["keyword"] + 0.2


def test_a_system_that_retrieves_nothing_gets_nought_in_the_source_format(example: Example) -> None:
    rows = example.rows(
        "select distinct n, n_scored, n_not_applicable, n_target_error, mean from leaderboard "
        "where slice = 'all' and system = 'plain-llm' and evaluator = 'document_retrieval'"
    )
    assert rows == [
        {"n": 24, "n_scored": 24, "n_not_applicable": 0, "n_target_error": 1, "mean": 0.0}
    ]


def test_questions_without_gold_sentences_do_not_count(example: Example) -> None:
    (row,) = example.rows(
        "select n, n_scored, n_not_applicable from leaderboard where slice = 'all' "
        "and system = 'rag' and evaluator = 'citation' and metric = 'f1'"
    )
    assert row == {"n": 24, "n_scored": 23, "n_not_applicable": 1}


def test_an_empty_ranking_of_a_system_that_retrieves_counts_as_nothing_found(
    example: Example,
) -> None:
    (row,) = example.rows(
        "select value, status from scores where benchmark = 'handbook-answers' "
        "and system = 'keyword' and question_id = 'q015' and metric = 'recall_at_5'"
    )
    assert row == {"value": 0.0, "status": "scored"}


@pytest.mark.parametrize(("system", "question"), [("rag", "mail-17"), ("plain-llm", "mail-05")])
def test_a_failed_and_a_missing_answer_are_wrong_and_counted_apart(
    example: Example, system: str, question: str
) -> None:
    (score,) = example.rows(
        f"select question_id, value, status from scores where benchmark = 'mail-routing' "
        f"and system = '{system}' and metric = 'accuracy' and reason = 'target_error'"
    )
    assert score == {"question_id": question, "value": 0.0, "status": "scored"}
    (row,) = example.rows(
        f"select n_scored, n_target_error from leaderboard where benchmark = 'mail-routing' "
        f"and slice = 'all' and system = '{system}' and metric = 'accuracy'"
    )
    assert row == {"n_scored": 24, "n_target_error": 1}


def test_a_topic_that_a_run_lacks_counts_as_nothing_found(example: Example) -> None:
    lacking = example.rows(
        "select question_id from scores where benchmark = 'page-search' and system = 'keyword' "
        "and metric = 'mrr' and value = 0 order by question_id"
    )
    assert {row["question_id"] for row in lacking} >= {"t04", "t07", "t08"}


def test_the_slices_are_there(example: Example) -> None:
    slices = {row["slice"] for row in example.rows("select distinct slice from leaderboard")}
    assert slices >= {"all", "question_type=fact", "question_type=unanswerable", "channel=e-mail"}


def test_a_second_run_scores_nothing(example: Example) -> None:
    before = example.rows("select max(scored_at) as latest, count(*) as n from scores")
    done = example.scoreline("run")
    assert done.returncode == 0, done.stderr
    assert example.rows("select max(scored_at) as latest, count(*) as n from scores") == before
