"""Views show lists one element a row, and cost no more than is asked of them."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from warehouse.store import Warehouse


def test_scores_pad_short_lists_and_push_filters_down(warehouse: Warehouse) -> None:
    now = datetime(2026, 1, 1)  # noqa: DTZ001
    key = {"benchmark": "b", "system": "s", "evaluator": "e", "signature": "g"}
    with warehouse.transaction() as transaction:
        transaction.append(
            "signatures",
            pl.DataFrame([{**key, "version": 1, "metrics": ["x", "y"], "first_seen": now}]).drop(
                "benchmark", "system"
            ),
        )
        row = {**key, "input_digest": 1, "scored_at": now}
        transaction.append(
            "grades",
            [
                pl.DataFrame([{**row, "question_id": "1", "values": [0.5, 1.0]}]),
                pl.DataFrame(
                    [
                        {
                            **row,
                            "question_id": "2",
                            "values": [0.0, None],
                            "statuses": ["scored", "undefined"],
                            "reasons": ["target_error", "nothing to divide by"],
                        }
                    ]
                ),
            ],
        )
    shown = warehouse.fetch(
        "SELECT question_id, metric, value, status, reason FROM scores ORDER BY ALL"
    )
    assert shown.rows() == [
        ("1", "x", 0.5, "scored", None),
        ("1", "y", 1.0, "scored", None),
        ("2", "x", 0.0, "scored", "target_error"),
        ("2", "y", None, "undefined", "nothing to divide by"),
    ]
    plan = warehouse.fetch("EXPLAIN SELECT * FROM scores WHERE benchmark = 'b' AND system = 's'")
    scan = plan["explain_value"].item().split("UNNEST")[-1]
    assert re.search(r"benchmark='b'", scan)
    assert re.search(r"system='s'", scan)


def test_contexts_show_one_retrieved_thing_a_row(warehouse: Warehouse) -> None:
    key = {"benchmark": "b", "system": "s"}
    rows = [
        {**key, "question_id": "1", "contexts": ["u", "v"], "retrieved_doc_ids": ["d"]},
        {**key, "question_id": "2", "contexts": [], "retrieved_doc_ids": None},
        {**key, "question_id": "3", "contexts": None, "retrieved_doc_ids": None},
    ]
    warehouse.append("predictions", pl.DataFrame(rows))
    assert warehouse.fetch(
        "SELECT question_id, rank, doc_id, chunk_id, score, text FROM contexts ORDER BY ALL"
    ).rows() == [("1", 1, "d", None, None, "u"), ("1", 2, None, None, None, "v")]
