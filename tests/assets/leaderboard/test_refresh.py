"""The leaderboard of a real run, compared with means computed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sklearn.metrics import f1_score

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop

COLUMNS = "slice, system, mean, n, n_scored, n_target_error, rank"


def board(
    workshop: Workshop, evaluator: str, metric: str
) -> dict[tuple[str, str], tuple[object, ...]]:
    """Mean, n, n_scored, n_target_error and rank by slice and system."""
    rows = workshop.warehouse.fetch(
        f"SELECT {COLUMNS} FROM leaderboard WHERE evaluator = $evaluator AND metric = $metric",
        {"evaluator": evaluator, "metric": metric},
    )
    return {row[:2]: row[2:] for row in rows.iter_rows()}


def test_slices_counts_and_failures(ranked: Workshop) -> None:
    ranked.slices = ("half",)
    ranked.with_prediction("good", 4, error="timed out")
    ranked.run()
    found = board(ranked, "citation", "f1")
    assert found["all", "good"] == (pytest.approx(5 / 6), 6, 6, 1, 1)
    assert found["half=first", "good"] == (1.0, 3, 3, 0, 1)
    assert found["half=second", "good"] == (pytest.approx(2 / 3), 3, 3, 1, 1)
    assert found["all", "poor"] == (0.0, 6, 6, 0, 2)


def test_system_metrics_are_rows_of_the_leaderboard(done: Workshop) -> None:
    expected = [question["expected_label"] for question in done.questions]
    given = [row["answer"] for row in done.predictions["poor"]]
    f1 = f1_score(expected, given, average="macro", zero_division=0)
    assert board(done, "classification", "f1")["all", "poor"][0] == pytest.approx(f1)
    stored = done.warehouse.fetch(
        "SELECT value, status, detail FROM system_scores WHERE system = 'poor' AND metric = 'f1' "
        "AND evaluator = 'classification'"
    )
    assert stored["value"].item() == pytest.approx(f1)
    assert '"confusion_matrix": [[1, 2], [1, 2]]' in stored["detail"].item()


def test_history_grows_only_when_something_changed(done: Workshop) -> None:
    first = done.warehouse.fetch("SELECT count(*) FROM leaderboard_history").item()
    done.run()
    assert done.warehouse.fetch("SELECT count(*) FROM leaderboard_history").item() == first
    done.with_prediction("poor", 0, cited_sentence_ids=["S1"])
    done.run()
    twice = done.warehouse.fetch("SELECT count(*) FROM leaderboard_history").item()
    assert twice == 2 * first


def test_a_system_without_any_answer_has_counts_but_no_mean(ranked: Workshop) -> None:
    for row in ranked.predictions["poor"]:
        row["error"] = "gone"
    ranked.run()
    mean, n, scored, failed, rank = board(ranked, "document_retrieval", "mrr")["all", "poor"]
    assert (mean, n, scored, failed, rank) == (None, 6, 6, 6, None)
    assert board(ranked, "document_retrieval", "mrr")["all", "good"][-1] == 1


def test_the_published_copy_has_the_catalogue(published: Workshop) -> None:
    from warehouse.publish.snapshot import Snapshot

    copy = Snapshot(published.project.publish / "scoreline.duckdb")
    primaries = copy.fetch(
        "SELECT evaluator, count(*) FILTER (is_primary = 1) AS n FROM metrics GROUP BY evaluator"
    )
    assert set(primaries["n"]) == {1}
    assert {"citation", "document_retrieval"} <= set(primaries["evaluator"])
