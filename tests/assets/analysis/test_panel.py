"""The tables `panel` and `panel_calibration`: shares by hand, thresholds, clusters, escalation."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.analysis.calibration import calibrate
from assets.analysis.findings import refresh_problems
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark
from evaluators import catalog
from evaluators.kinds.flow import FlowEvaluator
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
NAME = "faithfulness"
PLAIN = catalog.build(NAME)
assert isinstance(PLAIN, FlowEvaluator)
EVALUATOR = PLAIN.with_engine_identities({"judge": "panel majority [a; b; c]"})
Given = dict[str, float | None]


def benchmark(folder: Path, **keys: Any) -> Benchmark:
    return Benchmark(
        name="b",
        questions=folder / "q.jsonl",
        predictions=folder / "{system}.jsonl",
        evaluators=(EVALUATOR,),
        **keys,
    )


def warehouse(folder: Path, own: Benchmark, given: Sequence[Given], size: int = 1) -> Warehouse:
    """A warehouse with what members gave to samples, in clusters of a size; refreshed."""
    made = Warehouse(folder / "warehouse.duckdb")
    names = [f"q{at:03d}" for at in range(len(given))]
    questions = [
        {"benchmark": "b", "question_id": name, "cluster": f"c{at // size}"}
        for at, name in enumerate(names)
    ]
    predictions = [{"benchmark": "b", "system": "s", "question_id": name} for name in names]
    signature = {
        "evaluator": NAME,
        "signature": EVALUATOR.signature,
        "version": 1,
        "metrics": [NAME],
        "first_seen": NOW,
    }
    grades = [
        {
            "benchmark": "b",
            "system": "s",
            "question_id": name,
            "evaluator": NAME,
            "signature": EVALUATOR.signature,
            "input_digest": at,
            "values": [next(value for value in each.values() if value is not None)],
            "statuses": None,
            "reasons": None,
            "detail": json.dumps(
                {"panel": {"values": {who: {NAME: value} for who, value in each.items()}}}
            ),
            "scored_at": NOW,
        }
        for at, (name, each) in enumerate(zip(names, given, strict=True))
    ]
    lists = {"statuses": pl.List(pl.String), "reasons": pl.List(pl.String)}
    with made.transaction() as transaction:
        transaction.append("questions", pl.DataFrame(questions))
        transaction.append("predictions", pl.DataFrame(predictions))
        transaction.append("signatures", pl.DataFrame([signature]))
        transaction.append("grades", pl.DataFrame(grades, schema_overrides=lists))
    refresh_leaderboards(made, [own], force=True)
    calibrate(made, [own])
    refresh_problems(made, [own])
    return made


def panel(made: Warehouse) -> dict[str, Any]:
    (row,) = made.fetch("SELECT * FROM panel").rows(named=True)
    return row


FOUR: list[Given] = [
    {"a": 1.0, "b": 1.0, "c": 0.0},
    {"a": 0.8, "b": 0.6, "c": 0.2},
    {"a": 0.0, "b": None, "c": 0.0},
    {"a": None, "b": 0.4, "c": None},
]
"""The last sample has a value of one member only."""


def test_shares_by_hand(tmp_path: Path) -> None:
    row = panel(warehouse(tmp_path, benchmark(tmp_path), FOUR))
    assert (row["evaluator"], row["metric"], row["n"]) == (NAME, NAME, 3)
    # Pairs with equal numbers: a and b on the first, a and c on the third sample.
    assert row["agreement"] == {
        "a": pytest.approx(2 / 5),
        "b": pytest.approx(1 / 4),
        "c": pytest.approx(1 / 5),
    }


def test_a_threshold_makes_verdicts(tmp_path: Path) -> None:
    own = benchmark(tmp_path, thresholds={f"{NAME}.{NAME}": 0.5})
    row = panel(warehouse(tmp_path, own, FOUR))
    # On the second sample a and b pass, too.
    assert row["agreement"] == {
        "a": pytest.approx(3 / 5),
        "b": pytest.approx(2 / 4),
        "c": pytest.approx(1 / 5),
    }


def test_members_that_judge_disputed_samples_do_not_count(tmp_path: Path) -> None:
    given: list[Given] = [
        {"a": 1.0, "b": 1.0},
        {"a": 0.0, "b": 1.0, "c": 0.0},
        {"a": 0.0, "b": 0.0},
    ]
    row = panel(warehouse(tmp_path, benchmark(tmp_path), given))
    assert row["agreement"] == {"a": pytest.approx(2 / 3), "b": pytest.approx(2 / 3), "c": None}
    # Of the pairs of the six values, nine of fifteen differ.
    assert row["alpha"] == pytest.approx(1 - (1 / 3) / (9 / 15))


def verdicts(count: int, every: int) -> list[Given]:
    """Verdicts of a and b that differ on one of so many samples."""
    return [
        {"a": float(at % 2), "b": float(at % 2) if at % every else 1.0 - at % 2}
        for at in range(count)
    ]


@pytest.mark.parametrize(
    ("given", "severity"),
    [(verdicts(200, 50), None), (verdicts(10, 5), "low"), (verdicts(200, 3), "medium")],
)
def test_a_low_alpha_is_a_problem(tmp_path: Path, given: list[Given], severity: str | None) -> None:
    made = warehouse(tmp_path, benchmark(tmp_path), given)
    row = panel(made)
    assert row["alpha_low"] < row["alpha"] < row["alpha_high"]
    found = made.fetch(
        "SELECT severity, value, message FROM problems WHERE kind = 'panel_disagreement'"
    ).rows(named=True)
    assert [each["severity"] for each in found] == ([] if severity is None else [severity])
    for each in found:
        assert each["value"] == row["alpha"] < 0.667
        assert f"alpha is {row['alpha']:.2f} (interval {row['alpha_low']:.2f}" in each["message"]


def test_clusters_widen_the_interval(tmp_path: Path) -> None:
    """The two differ on all samples of every fifth cluster."""
    given: list[Given] = [
        {"a": float(at % 2), "b": 1.0 - at % 2 if at // 5 % 5 == 0 else float(at % 2)}
        for at in range(100)
    ]
    widths = []
    for size in (1, 5):
        folder = tmp_path / str(size)
        folder.mkdir()
        row = panel(warehouse(folder, benchmark(folder), given, size))
        widths.append(row["alpha_high"] - row["alpha_low"])
    assert widths[1] > 1.5 * widths[0]


def test_members_and_human_labels(tmp_path: Path) -> None:
    """The first member agrees with all labels, the second with none."""
    own = benchmark(tmp_path)
    given: list[Given] = [{"a": float(at % 2), "b": 1.0 - at % 2} for at in range(60)]
    made = warehouse(tmp_path, own, given)
    assert made.fetch("SELECT * FROM panel_calibration").is_empty()
    labels = [
        {
            "benchmark": "b",
            "system": "s",
            "question_id": f"q{at:03d}",
            "evaluator": NAME,
            "metric": NAME,
            "annotator": "ann",
            "value": float(at % 2),
        }
        for at in range(40)
    ]
    made.append("labels", pl.DataFrame(labels))
    calibrate(made, [own])
    rows = made.fetch(
        "SELECT member, n_compared, agreement, kappa, is_calibrated, labels_needed "
        "FROM panel_calibration ORDER BY member"
    ).rows()
    assert rows == [("a", 40, 1.0, 1.0, 1, 0), ("b", 40, 0.0, -1.0, 0, None)]


def test_a_label_is_for_the_first_of_several_answers(tmp_path: Path) -> None:
    """Of the second answers, the members think the opposite."""
    own = benchmark(tmp_path)
    given: list[Given] = [{"a": float(at % 2), "b": float(at % 2)} for at in range(60)]
    made = warehouse(tmp_path, own, given)
    several = "n_answers, values_low, values_high, has_failed"
    grades = made.fetch(f"SELECT * EXCLUDE ({several}) FROM grades ORDER BY question_id")
    second = grades["detail"].reverse()
    labels = grades.select(
        *("benchmark", "system", "question_id", "evaluator"),
        metric=pl.lit(NAME),
        annotator=pl.lit("ann"),
        value=pl.col("values").list.first(),
    )
    answers = made.fetch("SELECT benchmark, system, question_id, 1::INTEGER AS repeat FROM grades")
    with made.transaction() as transaction:
        transaction.execute("UPDATE grades SET n_answers = 2, detail = NULL")
        transaction.append("predictions", answers)
        transaction.append("answer_grades", grades.with_columns(repeat=pl.lit(0, pl.Int32)))
        transaction.append(
            "answer_grades", grades.with_columns(repeat=pl.lit(1, pl.Int32), detail=second)
        )
        transaction.append("labels", labels)
    calibrate(made, [own])
    assert panel(made)["n"] == 120
    rows = made.fetch("SELECT member, n_compared, agreement FROM panel_calibration ORDER BY member")
    assert rows.rows() == [("a", 60, 1.0), ("b", 60, 1.0)]


def test_one_judge_has_no_panel(tmp_path: Path) -> None:
    own = benchmark(tmp_path)
    made = warehouse(tmp_path, own, FOUR)
    calibrate(made, [replace(own, evaluators=(PLAIN,))])
    assert made.fetch("SELECT * FROM panel").is_empty()
