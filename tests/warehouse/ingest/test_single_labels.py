"""Labels that are saved one by one: each in a transaction, also by two people at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from warehouse.ingest.labels import LabelledMetric, UnknownSample
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = [f"q{number}" for number in range(6)]


@pytest.fixture
def labels(tmp_path: Path) -> LabelledMetric:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb")
    rows = [{"benchmark": "b", "system": "s", "question_id": name} for name in QUESTIONS]
    warehouse.append("predictions", pl.DataFrame(rows))
    return LabelledMetric(warehouse, "b", "faithfulness", "faithfulness")


def test_a_label_replaces_that_of_the_same_annotator_only(labels: LabelledMetric) -> None:
    labels.save(("s", "q0"), "ann", 1.0, "random")
    labels.save(("s", "q0"), "ben", 0.0, "uncertain")
    found = labels.save(("s", "q0"), "ann", 0.5, "random")
    assert found.rows() == [
        ("s", "q0", "ann", 0.5, "random"),
        ("s", "q0", "ben", 0.0, "uncertain"),
    ]
    assert labels.remove(("s", "q0"), "ann").rows() == [("s", "q0", "ben", 0.0, "uncertain")]
    other = replace(labels, metric="other")
    assert other.fetch().is_empty()


def test_labels_that_the_random_order_passes_become_random(labels: LabelledMetric) -> None:
    for name in ("ann", "ben"):
        labels.save(("s", "q0"), name, 1.0, "uncertain")
    found = labels.save(("s", "q1"), "ann", 1.0, "random", [("s", "q0")])
    assert found.select("question_id", "annotator", "selection").rows() == [
        ("q0", "ann", "random"),
        ("q0", "ben", "uncertain"),
        ("q1", "ann", "random"),
    ]


def test_a_sample_that_is_gone_gets_no_label(labels: LabelledMetric) -> None:
    with pytest.raises(UnknownSample, match="'b' has no answer of 's' to 'q9' any more"):
        labels.save(("s", "q9"), "ann", 1.0, "random")
    assert labels.fetch().is_empty()


def test_people_who_label_at_once_lose_nothing(labels: LabelledMetric) -> None:
    pairs = [(name, question) for question in QUESTIONS for name in ("ann", "ben", "eva")]

    def save(pair: tuple[str, str]) -> None:
        name, question = pair
        labels.save(("s", question), name, float(name == "ann"), "random")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(save, pairs))
    found = labels.fetch()
    assert sorted(found.select("annotator", "question_id").rows()) == sorted(pairs)


def test_where_people_are_the_judge_a_label_makes_the_score_stale(labels: LabelledMetric) -> None:
    key = {"benchmark": "b", "system": "s", "question_id": "q0", "evaluator": "faithfulness"}
    grade = {**key, "signature": "x", "input_digest": 7, "values": [1.0], "run_id": "r"}
    frame = pl.DataFrame([grade]).with_columns(scored_at=pl.datetime(2026, 1, 1))
    labels.warehouse.append("grades", frame)
    labels.save(("s", "q0"), "ann", 1.0, "random")
    digests = "SELECT input_digest FROM grades"
    assert labels.warehouse.fetch(digests).rows() == [(7,)]
    replace(labels, is_judge=True).save(("s", "q0"), "ann", 1.0, "random")
    assert labels.warehouse.fetch(digests).rows() == [(0,)]
