"""Folded numbers agree with the same sums done by hand and in Python."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from warehouse.queries.aggregates import aggregate_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warehouse.store import Warehouse

STATUSES = (
    "scored",
    "not_applicable",
    "undefined",
    "parse_failure",
    "judge_error",
    "target_error",
)
NOW = datetime(2026, 1, 1)  # noqa: DTZ001


def fill(
    warehouse: Warehouse,
    questions: Sequence[dict[str, Any]],
    grades: Sequence[dict[str, Any]],
    metrics: Sequence[str] = ("x", "y"),
) -> None:
    """Put questions and grades of benchmark `b` into an empty warehouse."""
    signature = {"evaluator": "e", "signature": "g", "version": 1, "metrics": metrics}
    common = {
        "benchmark": "b",
        "evaluator": "e",
        "signature": "g",
        "input_digest": 1,
        "scored_at": NOW,
        "statuses": None,
        "reasons": None,
    }
    lists = {"statuses": pl.List(pl.String), "reasons": pl.List(pl.String)}
    tags = {"tags": pl.List(pl.Struct({"key": pl.String, "value": pl.String}))}
    with warehouse.transaction() as transaction:
        transaction.append("signatures", pl.DataFrame([{**signature, "first_seen": NOW}]))
        transaction.append(
            "questions",
            pl.DataFrame(
                [{"benchmark": "b", "tags": None, **row} for row in questions],
                schema_overrides=tags,
            ),
        )
        transaction.append(
            "grades",
            pl.DataFrame(
                [{**common, **row} for row in grades],
                schema_overrides={**lists, "values": pl.List(pl.Float64)},
            ),
        )


def folded(
    warehouse: Warehouse, *slices: str, places: int = 3
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """The folds by slice, system and metric."""
    query = aggregate_scores(["b"], slices, places)
    frame = warehouse.fetch(query.sql, query.parameters)
    return {(row["slice"], row["system"], row["metric"]): row for row in frame.to_dicts()}


def test_counts_every_status(warehouse: Warehouse) -> None:
    grades: list[dict[str, Any]] = [
        {
            "system": "s",
            "question_id": f"q{i}",
            "values": [0.5 if status == "scored" else None, 1.0],
            "statuses": [status, "scored"],
            "reasons": None if status == "scored" else ["why", None],
        }
        for i, status in enumerate((*STATUSES, "scored", "scored"))
    ]
    grades[-1] |= {"values": [0.0, 1.0], "reasons": ["target_error", None]}
    fill(warehouse, [{"question_id": f"q{i}"} for i in range(8)], grades)
    fold = folded(warehouse)
    assert set(fold) == {("all", "s", "x"), ("all", "s", "y")}
    assert fold["all", "s", "x"] == {
        "benchmark": "b",
        "slice": "all",
        "system": "s",
        "evaluator": "e",
        "metric": "x",
        "n": 8,
        "n_scored": 3,
        "n_not_applicable": 1,
        "n_undefined": 1,
        "n_parse_failure": 1,
        "n_judge_error": 1,
        "n_target_error": 2,
        "value_sum": 1.0,
        "mean": pytest.approx(1 / 3, rel=1e-15),
        "signature": "g",
    }
    assert fold["all", "s", "y"]["mean"] == 1.0
    assert fold["all", "s", "y"]["n_scored"] == fold["all", "s", "y"]["n"] == 8


def test_nothing_scored_has_no_mean(warehouse: Warehouse) -> None:
    grade = {"system": "s", "question_id": "q", "values": [None], "statuses": ["undefined"]}
    fill(warehouse, [{"question_id": "q"}], [grade], metrics=["x"])
    row = folded(warehouse)["all", "s", "x"]
    assert (row["n"], row["n_scored"], row["mean"], row["value_sum"]) == (1, 0, None, None)


def test_an_empty_benchmark_folds_to_nothing(warehouse: Warehouse) -> None:
    assert folded(warehouse, "t") == {}


def test_slices_by_tags_and_by_question_columns(warehouse: Warehouse) -> None:
    questions = [
        {"question_id": "1", "tags": [{"key": "t", "value": "A"}], "noise_ratio": 0.4},
        {"question_id": "2", "tags": [{"key": "t", "value": "B=b"}], "noise_ratio": 0.4},
        {"question_id": "3", "tags": [], "noise_ratio": 0.0},
        {"question_id": "4", "tags": [{"key": "noise_ratio", "value": "own"}], "noise_ratio": 1.0},
    ]
    columns = {
        "scenario": "c",
        "perturbation": "p",
        "doc_id": "d",
        "cluster": "k",
        "expected_label": "l",
    }
    grades = [{"system": "s", "question_id": str(i), "values": [float(i)]} for i in range(1, 5)]
    fill(warehouse, [{**row, **columns} for row in questions], grades, metrics=["x"])
    found = folded(warehouse, "t", "noise_ratio", "t", "missing", *columns)
    means = {slice_: (row["n"], row["mean"]) for (slice_, *_), row in found.items()}
    everything = {"all", *(f"{name}={value}" for name, value in columns.items())}
    assert means == {
        **dict.fromkeys(everything, (4, 2.5)),
        "t=A": (1, 1.0),
        "t=B=b": (1, 2.0),
        "noise_ratio=0.4": (2, 1.5),
        "noise_ratio=0.0": (1, 3.0),
        "noise_ratio=own": (1, 4.0),
    }


def test_agrees_with_python_on_random_grades(warehouse: Warehouse) -> None:
    draw = random.Random(7)
    questions: list[dict[str, Any]] = [
        {"question_id": f"q{i}", "tags": [{"key": "t", "value": draw.choice("AB")}]}
        for i in range(300)
    ]
    grades = []
    expected: dict[tuple[str, str, str], list[float | None]] = defaultdict(list)
    for system in ("s1", "s2"):
        for question in questions:
            plain = draw.random() < 0.5
            statuses = ["scored" if plain else draw.choice(STATUSES) for _ in "xy"]
            values = [
                draw.uniform(-1, 1) * 10 ** draw.randint(-8, 8) if status == "scored" else None
                for status in statuses
            ]
            grades.append(
                {
                    "system": system,
                    "question_id": question["question_id"],
                    "values": values,
                    "statuses": None if plain else statuses,
                }
            )
            for slice_ in ("all", f"t={question['tags'][0]['value']}"):
                for metric, value in zip("xy", values, strict=True):
                    expected[slice_, system, metric].append(value)
    fill(warehouse, questions, grades)
    found = folded(warehouse, "t")
    assert set(found) == set(expected)
    for key, values in expected.items():
        scored = [value for value in values if value is not None]
        row = found[key]
        assert (row["n"], row["n_scored"]) == (len(values), len(scored))
        assert row["value_sum"] == pytest.approx(math.fsum(scored), rel=1e-14)
        assert row["mean"] == pytest.approx(math.fsum(scored) / len(scored), rel=1e-14)


def test_the_longest_list_determines_the_ranks(warehouse: Warehouse) -> None:
    grade = {"system": "s", "question_id": "q", "values": [1.0, 2.0]}
    fill(warehouse, [{"question_id": "q"}], [grade])
    assert [row["mean"] for row in folded(warehouse, places=2).values()] == [1.0, 2.0]
    assert [row["mean"] for row in folded(warehouse, places=5).values()] == [1.0, 2.0]
    assert [row["mean"] for row in folded(warehouse, places=1).values()] == [1.0]


def test_sums_keep_small_numbers_beside_large_ones(warehouse: Warehouse) -> None:
    numbers = [1e16, *[1.0] * 1000, -1e16]
    grades = [
        {"system": "s", "question_id": f"q{i:05}", "values": [value]}
        for i, value in enumerate(numbers)
    ]
    fill(warehouse, [{"question_id": "q00000"}], grades, metrics=["x"])
    assert folded(warehouse)["all", "s", "x"]["value_sum"] == pytest.approx(1000.0, abs=3)
