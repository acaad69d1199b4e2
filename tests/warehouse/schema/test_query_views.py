"""The views that people query, on a few rows whose answers are plain to see."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.queries.score_matrices import clustered_questions

if TYPE_CHECKING:
    from warehouse.store import Warehouse

NOW = datetime(2026, 1, 1)  # noqa: DTZ001


def test_shared_judgements_cost_each_their_part(warehouse: Warehouse) -> None:
    judged = {"model": "m", "messages": "[]", "replicate": 0, "status": "scored"}
    judgments = [
        {**judged, "digest": "x", "cost_usd": 0.3, "attempts": 3, "tokens_in": 30, "tokens_out": 9},
        {**judged, "digest": "y", "cost_usd": 0.1, "attempts": 1, "tokens_in": 10, "tokens_out": 1},
    ]
    asked = {"benchmark": "b", "system": "s", "step": 0}
    asks = [
        {**asked, "question_id": "1", "evaluator": "e", "digest": "x"},
        {**asked, "question_id": "2", "evaluator": "e", "digest": "x"},
        {**asked, "question_id": "1", "evaluator": "f", "digest": "x"},
        {**asked, "question_id": "1", "evaluator": "f", "digest": "y", "step": 1},
    ]
    with warehouse.transaction() as transaction:
        transaction.append("judgments", pl.DataFrame(judgments).with_columns(judged_at=pl.lit(NOW)))
        transaction.append("asks", pl.DataFrame(asks))
    rows = warehouse.fetch(
        "SELECT evaluator, asks, calls, attempts, cost_usd FROM v_cost ORDER BY evaluator"
    ).rows()
    assert rows[0] == ("e", 2, pytest.approx(2 / 3), pytest.approx(2), pytest.approx(0.2))
    assert rows[1] == ("f", 2, pytest.approx(4 / 3), pytest.approx(2), pytest.approx(0.2))


def test_what_is_stale_is_named_with_why(warehouse: Warehouse) -> None:
    key = {"benchmark": "b", "system": "s", "evaluator": "e"}
    graded = {**key, "input_digest": 1, "scored_at": NOW, "values": [1.0]}
    grades = [
        {**graded, "question_id": "1", "signature": "new"},
        {**graded, "question_id": "2", "signature": "old"},
        {**graded, "question_id": "4", "signature": "new"},
    ]
    counts = ("n", "n_scored", "n_not_applicable", "n_undefined", "n_parse_failure")
    board = {
        **key,
        "slice": "all",
        "metric": "m",
        "best": "high",
        "is_primary": 1,
        "signature": "new",
        **dict.fromkeys((*counts, "n_judge_error", "n_target_error"), 0),
        "published_at": NOW,
    }
    answered = [{"benchmark": "b", "system": "s", "question_id": str(at)} for at in (1, 2, 3)]
    with warehouse.transaction() as transaction:
        transaction.append("predictions", pl.DataFrame(answered))
        transaction.append("grades", pl.DataFrame(grades))
        transaction.append("leaderboard", pl.DataFrame([board]))
    rows = warehouse.fetch("SELECT question_id, why FROM v_stale ORDER BY question_id").rows()
    assert rows == [
        ("2", "scored by another configuration"),
        ("3", "not scored"),
        ("4", "no prediction any more"),
    ]


def clusters(warehouse: Warehouse, questions: list[dict[str, Any]], field: str) -> list[set[str]]:
    """The clusters that have more than one question."""
    frame = pl.DataFrame([{"benchmark": "b", **row} for row in questions])
    warehouse.replace("questions", frame, where={})
    query = clustered_questions("b", field)
    named = warehouse.fetch(
        f"SELECT list(q.question_id) AS named FROM ({query.sql}) AS c "
        "JOIN questions AS q ON hash(q.question_id) = c.question GROUP BY c.cluster",
        query.parameters,
    )["named"]
    return sorted((set(each) for each in named if len(each) > 1), key=min)


def test_clusters_are_those_of_the_field_and_of_the_original(warehouse: Warehouse) -> None:
    rows = [
        {"question_id": "1", "doc_id": "x", "perturbs": None},
        {"question_id": "2", "doc_id": "x", "perturbs": None},
        {"question_id": "3", "doc_id": None, "perturbs": None},
        {"question_id": "4", "doc_id": "y", "perturbs": "1"},
        {"question_id": "5", "doc_id": None, "perturbs": "3"},
        {"question_id": "6", "doc_id": None, "perturbs": "5"},
        {"question_id": "7", "doc_id": "z", "perturbs": None},
    ]
    # A variant belongs to its original whatever its own document; a chain of them to its first.
    assert clusters(warehouse, rows, "doc_id") == [{"1", "2", "4"}, {"3", "5", "6"}]
    assert clusters(warehouse, rows, "cluster") == [{"1", "4"}, {"3", "5", "6"}]
    # Questions that name each other are one cluster, and so is what leads to them.
    ring = {"a": "b", "b": "c", "c": "a", "0": "a", "s": "s", "t": "s"}
    rows = [{"question_id": name, "perturbs": other} for name, other in ring.items()]
    assert clusters(warehouse, rows, "cluster") == [{"0", "a", "b", "c"}, {"s", "t"}]
    alone = [{"question_id": str(at), "perturbs": None} for at in range(3)]
    assert clusters(warehouse, alone, "cluster") == []
