"""Which samples people label next, and what a verdict's uncertainty is."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from assets.analysis.agreement import measure_annotators
from assets.analysis.label_queue import (
    SampleId,
    label_choices,
    make_queue,
    uncertainty,
)
from assets.project import Benchmark
from evaluators import catalog
from evaluators.metric import Metric

if TYPE_CHECKING:
    from pathlib import Path

    from assets.analysis.label_queue import LabelQueue

SHARE = Metric(name="m", summary="A share.", primary=True)
FAITHFULNESS = catalog.build("faithfulness", {})


@pytest.mark.parametrize(
    ("value", "verdicts", "threshold", "expected"),
    [
        (0.5, [], None, 1.0),  # in the middle
        (1.0, [], None, 0.0),
        (0.75, [], None, 0.5),  # half way from the middle to the end
        (0.8, [], 0.8, 1.0),  # at the threshold
        (0.4, [], 0.8, 0.5),  # half way from the threshold to the end on its side
        (1.0, [1.0, 1.0, 1.0], None, 0.0),
        (1.0, [1.0, 0.0, 1.0], None, 1.0),  # the judges contradict each other
        (1.0, [1.0, 0.7], None, 0.3),
        (1.0, [], 1.0, 1.0),
        (0.5, [], 1.0, 0.5),
    ],
)
def test_uncertainty(
    value: float, verdicts: list[float], threshold: float | None, expected: float
) -> None:
    assert uncertainty(value, verdicts, SHARE, threshold) == pytest.approx(expected)


def test_uncertainty_without_bounds_is_that_of_repeated_verdicts() -> None:
    metric = Metric(name="m", summary="A number.", bounds=(0.0, math.inf))
    assert uncertainty(7.0, [], metric, 7.0) == 0.0
    assert uncertainty(7.0, [7.0, 8.0], metric, None) == 1.0


def benchmark(tmp_path: Path, **more: Any) -> Benchmark:
    return Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(FAITHFULNESS,),
        **more,
    )


def queue(tmp_path: Path, rows: list[tuple[Any, ...]], *, unscored: bool = False) -> LabelQueue:
    schema = {
        "system": pl.String,
        "question_id": pl.String,
        "value": pl.Float64,
        "replicates": pl.String,
        "members": pl.String,
    }
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    (metric,) = FAITHFULNESS.sample_metrics
    return make_queue(frame, benchmark(tmp_path), FAITHFULNESS, metric, with_unscored=unscored)


# In this order at random; the most uncertain of `a` are a3, then a2.
ROWS = [
    ("a", "a1", 1.0, None, None),
    ("a", "a2", 0.7, None, None),
    ("a", "a3", 1.0, json.dumps([1.0, 0.0, 1.0]), None),
    ("a", "a4", None, None, None),
    ("b", "b1", 0.0, None, json.dumps({"x": {"faithfulness": 0}, "y": {"faithfulness": 1}})),
    ("b", "b2", 1.0, None, json.dumps({"x": {"faithfulness": 1}, "y": {"faithfulness": None}})),
]


def labelled_in_turn(queue: LabelQueue, order: Any) -> list[tuple[str, str]]:
    labelled: list[SampleId] = []
    found = []
    while (chosen := queue.next(labelled, [], order)) is not None:
        labelled.append(chosen.sample)
        found.append((chosen.sample.question_id, chosen.selection))
    return found


def test_systems_take_turns_and_random_and_uncertain_samples_do(tmp_path: Path) -> None:
    assert labelled_in_turn(queue(tmp_path, ROWS), "mixed") == [
        ("a1", "random"),
        ("b1", "random"),
        ("a3", "uncertain"),
        ("b2", "random"),  # b1 is the only uncertain one, and labelled
        ("a2", "random"),
    ]
    assert labelled_in_turn(queue(tmp_path, ROWS), "random") == [
        ("a1", "random"),
        ("b1", "random"),
        ("a2", "random"),
        ("b2", "random"),
        ("a3", "random"),
    ]


def test_labels_are_a_random_choice_of_uncertain_and_of_other_samples(tmp_path: Path) -> None:
    """Whatever the number of labels: the first ones of each, in the random order."""
    values = [1.0, 0.9, 0.5, 1.0, 0.6, 1.0, 1.0, 0.8]
    found = queue(tmp_path, [("a", f"q{n}", value, None, None) for n, value in enumerate(values)])
    # A quarter: the most uncertain ones, in the random order.
    assert [sample.question_id for sample in found.uncertain["a"]] == ["q2", "q4"]
    labelled: list[SampleId] = []
    drawn: dict[str, list[str]] = {"uncertain": [], "certain": []}
    while (chosen := found.next(labelled, [], "mixed")) is not None:
        labelled.append(chosen.sample)
        draw = found.draw(chosen)
        assert draw.stratum is not None
        assert draw.stratum_size == {"uncertain": 2, "certain": 6}[draw.stratum]
        drawn[draw.stratum].append(chosen.sample.question_id)
    assert drawn == {"uncertain": ["q2", "q4"], "certain": ["q0", "q1", "q3", "q5", "q6", "q7"]}


def test_skipped_samples_are_left_out(tmp_path: Path) -> None:
    found = queue(tmp_path, ROWS)
    chosen = found.next([], [SampleId("a", "a1")], "random")
    assert chosen is not None
    assert chosen.sample == ("a", "a2")
    assert found.next(found.samples, [], "mixed") is None


def test_samples_without_a_score_are_labelled_only_where_people_are_the_judge(
    tmp_path: Path,
) -> None:
    assert SampleId("a", "a4") not in queue(tmp_path, ROWS).samples
    assert SampleId("a", "a4") in queue(tmp_path, ROWS, unscored=True).samples


def test_each_system_gets_half_of_the_labels_and_half_are_uncertain(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    rows = [
        (system, f"q{n:03d}", float(value), None, None)
        for system in ("a", "b")
        for n, value in enumerate(generator.uniform(size=200))
    ]
    found = queue(tmp_path, rows)
    labelled: list[SampleId] = []
    kinds = Counter[tuple[str, str]]()
    for _ in range(80):
        chosen = found.next(labelled, [], "mixed")
        assert chosen is not None
        labelled.append(chosen.sample)
        kinds[chosen.sample.system, chosen.selection] += 1
    assert set(kinds.values()) == {20}


@pytest.mark.parametrize(
    ("evaluator", "bounds", "values", "expected"),
    [
        ("faithfulness", (0.0, 1.0), [0.2, 1.0], [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("faithfulness", (0.0, 1.0), [0.0, 1.0], [0.0, 1.0]),
        ("faithfulness", (0.0, 1.0), [], [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("sexism", (0.0, 1.0), [], [0.0, 1.0]),
        ("rubric_judge", (1.0, 5.0), [], [1.0, 2.0, 3.0, 4.0, 5.0]),
        ("rubric_judge", (0.0, 100.0), [], []),
        ("perplexity", (0.0, math.inf), [], []),
    ],
)
def test_choices(
    evaluator: str, bounds: tuple[float, float], values: list[float], expected: list[float]
) -> None:
    metric = Metric(name="m", summary="A number.", bounds=bounds)
    assert label_choices(catalog.build(evaluator, {}), metric, values) == expected


def drawn_at_random(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Labels of samples that were drawn at random."""
    drawn = {"selection": pl.lit("random"), "probability": pl.lit(None, pl.Float64)}
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64}).with_columns(**drawn)


def test_agreement_of_annotators() -> None:
    given = {"ann": [1, 1, 0, 0], "ben": [1, 1, 0, 1]}
    rows = [
        {"system": "s", "question_id": f"q{n}", "annotator": name, "value": float(value)}
        for name, values in given.items()
        for n, value in enumerate(values)
    ]
    rows.append({"system": "s", "question_id": "q9", "annotator": "ann", "value": 1.0})
    found = measure_annotators(drawn_at_random(rows))
    assert (found["n_annotators"], found["n_shared"]) == (2, 4)
    # Observed disagreement 1/4; expected by chance 1/2, so kappa is 1/2. For alpha the expected
    # disagreement is that of two of all eight ratings: 2 * 5 * 3 / (8 * 7) = 15/28.
    assert found["kappa"] == pytest.approx(0.5)
    assert found["alpha"] == pytest.approx(1 - (1 / 4) / (15 / 28))
    assert found["alpha_low"] < found["alpha"] < found["alpha_high"]


@pytest.mark.parametrize("count", [0, 1, 2])
def test_agreement_of_few_labels_has_no_number(count: int) -> None:
    rows = [
        {"system": "s", "question_id": "q", "annotator": name, "value": 1.0}
        for name in ("ann", "ben")[:count]
    ]
    schema = dict.fromkeys(("system", "question_id", "annotator"), pl.String)
    empty = pl.DataFrame(rows, schema={**schema, "value": pl.Float64})
    drawn = {"selection": pl.lit("random"), "probability": pl.lit(None, pl.Float64)}
    found = measure_annotators(empty.with_columns(**drawn))
    assert found == {
        "n_annotators": count,
        "n_shared": int(count > 1),
        **dict.fromkeys(("alpha", "alpha_low", "alpha_high", "kappa")),
    }


def test_a_single_shared_sample_with_different_labels() -> None:
    rows = [
        {"system": "s", "question_id": "q", "annotator": name, "value": value}
        for name, value in (("ann", 1.0), ("ben", 0.0))
    ]
    found = measure_annotators(drawn_at_random(rows))
    assert found["n_shared"] == 1
    # Krippendorff: observed disagreement 1, expected 1 (both pairings of two ratings differ).
    assert found["alpha"] == pytest.approx(0.0)


def test_agreement_of_annotators_weighs_samples_by_how_they_were_drawn() -> None:
    """All uncertain samples are labelled, and one in four of the others."""
    given = [(1, 0, 1.0), (0, 1, 1.0), (1, 1, 0.25), (0, 0, 0.25)]
    rows = [
        {"system": "s", "question_id": f"q{n}", "annotator": name, "value": float(value)}
        | {"selection": "random", "probability": probability}
        for n, (ann, ben, probability) in enumerate(given)
        for name, value in (("ann", ann), ("ben", ben))
    ]
    found = measure_annotators(pl.DataFrame(rows))
    # They agree on 8 of 10 samples, by chance on 5.
    assert found["kappa"] == pytest.approx(0.6)
    chosen = pl.DataFrame(rows).with_columns(
        selection=pl.lit("uncertain"), probability=pl.lit(None, pl.Float64)
    )
    assert measure_annotators(chosen)["n_shared"] == 0
