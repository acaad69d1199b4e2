"""Labels that are saved one by one: each in a transaction, also by two people at once."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl
import pytest

from warehouse.errors import InputError
from warehouse.ingest.labels import Draw, LabelledMetric, UnknownSample, import_labels
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


RANDOM = Draw("random")


def test_a_label_replaces_that_of_the_same_annotator_only(labels: LabelledMetric) -> None:
    labels.save(("s", "q0"), "ann", 1.0, RANDOM)
    labels.save(("s", "q0"), "ben", 0.0, Draw("uncertain"))
    found = labels.save(("s", "q0"), "ann", 0.5, RANDOM)
    columns = ("system", "question_id", "annotator", "value", "selection")
    ben = ("s", "q0", "ben", 0.0, "uncertain")
    assert found.select(columns).rows() == [("s", "q0", "ann", 0.5, "random"), ben]
    assert labels.remove(("s", "q0"), "ann").select(columns).rows() == [ben]
    other = replace(labels, metric="other")
    assert other.fetch().is_empty()


def test_the_probability_is_the_labelled_share_of_a_stratum(labels: LabelledMetric) -> None:
    certain, uncertain = Draw("random", "certain", 8), Draw("uncertain", "uncertain", 4)

    def probabilities() -> dict[tuple[str, str], float | None]:
        rows = labels.fetch().select("annotator", "question_id", "probability").rows()
        return {(name, question): probability for name, question, probability in rows}

    # Until a sample was drawn as uncertain, and one of each stratum has a label, nothing is known.
    labels.save(("s", "q0"), "ann", 1.0, certain)
    labels.save(("s", "q1"), "ann", 1.0, replace(uncertain, selection="random"))
    assert set(probabilities().values()) == {None}
    labels.save(("s", "q2"), "ann", 1.0, uncertain)
    assert probabilities() == {("ann", "q0"): 1 / 8, ("ann", "q1"): 1 / 2, ("ann", "q2"): 1 / 2}
    # A sample with labels of two people is one sample.
    labels.save(("s", "q0"), "ben", 0.0, certain)
    labels.save(("s", "q3"), "ben", 0.0, certain)
    assert probabilities()["ben", "q0"] == probabilities()["ann", "q0"] == 2 / 8
    labels.remove(("s", "q0"), "ann")
    labels.remove(("s", "q0"), "ben")
    assert probabilities()["ben", "q3"] == 1 / 8


def test_a_sample_that_is_gone_gets_no_label(labels: LabelledMetric) -> None:
    with pytest.raises(UnknownSample, match="'b' has no answer of 's' to 'q9' any more"):
        labels.save(("s", "q9"), "ann", 1.0, RANDOM)
    assert labels.fetch().is_empty()


def test_people_who_label_at_once_lose_nothing(labels: LabelledMetric) -> None:
    pairs = [(name, question) for question in QUESTIONS for name in ("ann", "ben", "eva")]

    def save(pair: tuple[str, str]) -> None:
        name, question = pair
        labels.save(("s", question), name, float(name == "ann"), RANDOM)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(save, pairs))
    found = labels.fetch()
    assert sorted(found.select("annotator", "question_id").rows()) == sorted(pairs)


def test_where_people_are_the_judge_a_label_makes_the_score_stale(labels: LabelledMetric) -> None:
    key = {"benchmark": "b", "system": "s", "question_id": "q0", "evaluator": "faithfulness"}
    grade = {**key, "signature": "x", "input_digest": 7, "values": [1.0], "run_id": "r"}
    frame = pl.DataFrame([grade]).with_columns(scored_at=pl.datetime(2026, 1, 1))
    labels.warehouse.append("grades", frame)
    labels.save(("s", "q0"), "ann", 1.0, RANDOM)
    digests = "SELECT input_digest FROM grades"
    assert labels.warehouse.fetch(digests).rows() == [(7,)]
    replace(labels, is_judge=True).save(("s", "q0"), "ann", 1.0, RANDOM)
    assert labels.warehouse.fetch(digests).rows() == [(0,)]


def test_imported_labels_may_state_how_their_samples_were_drawn(
    labels: LabelledMetric, tmp_path: Path
) -> None:
    key = {"benchmark": "b", "system": "s", "evaluator": "faithfulness", "metric": "faithfulness"}
    scales = {"b": {("faithfulness", "faithfulness"): (0.0, 1.0)}}
    file = tmp_path / "labels.jsonl"

    def import_file(*rows: dict[str, object]) -> None:
        file.write_text("\n".join(json.dumps({**key, "value": 1, **row}) for row in rows))
        import_labels(labels.warehouse, file, scales)

    import_file({"question_id": "q0", "probability": 0.125}, {"question_id": "q1"})
    found = labels.fetch().select("question_id", "selection", "probability").rows()
    assert found == [("q0", None, 0.125), ("q1", None, None)]
    for wrong in (0, 1.5, -1, "half"):
        with pytest.raises(InputError, match="probability"):
            import_file({"question_id": "q2", "probability": wrong})
    assert labels.fetch().height == 2
