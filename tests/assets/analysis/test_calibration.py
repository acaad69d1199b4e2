"""Problems of judged metrics: judge failures, judge variance and missing calibration."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.analysis.calibration import calibrate
from assets.analysis.findings import refresh_problems
from assets.leaderboard.refresh import refresh_leaderboards
from assets.project import Benchmark, is_judged
from evaluators import catalog
from evaluators.statistics.judges.agreement import MIN_LABELS
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
FAITHFULNESS = catalog.build("faithfulness", {})
KEY = {"benchmark": "b", "system": "s"}


@pytest.fixture
def benchmark(tmp_path: Path) -> Benchmark:
    return Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "{system}.jsonl",
        evaluators=(FAITHFULNESS,),
    )


@pytest.fixture
def warehouse(tmp_path: Path, benchmark: Benchmark) -> Warehouse:
    """Twenty answers judged twice: two parse failures, five disagreements, one truncated reply."""
    return make_warehouse(tmp_path / "warehouse.duckdb", benchmark, 20)


@pytest.fixture
def large(tmp_path: Path, benchmark: Benchmark) -> Warehouse:
    """Sixty such answers."""
    return make_warehouse(tmp_path / "large.duckdb", benchmark, 60)


def make_warehouse(
    path: Path, benchmark: Benchmark, count: int, cluster: int | None = None
) -> Warehouse:
    """A warehouse with judged answers, in clusters of a size."""
    made = Warehouse(path)
    names = [f"q{at:02d}" for at in range(count)]
    rows = [_grade(name, at) for at, name in enumerate(names)]
    lists = {"statuses": pl.List(pl.String), "reasons": pl.List(pl.String)}
    with made.transaction() as transaction:
        for table, more in (("questions", {}), ("predictions", {"system": "s"})):
            frame = [{"benchmark": "b", "question_id": name, **more} for name in names]
            if cluster and table == "questions":
                frame = [
                    {**row, "cluster": f"document {at // cluster}"} for at, row in enumerate(frame)
                ]
            transaction.append(table, pl.DataFrame(frame))
        transaction.append(
            "signatures",
            pl.DataFrame(
                [
                    {
                        "evaluator": "faithfulness",
                        "signature": FAITHFULNESS.signature,
                        "version": 1,
                        "metrics": ["faithfulness"],
                        "first_seen": NOW,
                    }
                ]
            ),
        )
        transaction.append("grades", pl.DataFrame(rows, schema_overrides=lists))
    refresh_leaderboards(made, [benchmark], force=True)
    return made


def _grade(name: str, at: int) -> dict[str, Any]:
    failed = at in {18, 19}
    detail = {"replicates": [1.0, 0.0 if at < 5 else 1.0]} | ({"truncated": 1} if at == 7 else {})
    return {
        **KEY,
        "question_id": name,
        "evaluator": "faithfulness",
        "signature": FAITHFULNESS.signature,
        "input_digest": at,
        "values": [None if failed else 0.25 if at < 5 else 1.0],
        "statuses": ["parse_failure"] if failed else None,
        "reasons": ["no verdict on s1"] if failed else None,
        "detail": None if failed else json.dumps(detail),
        "scored_at": NOW,
    }


def found(warehouse: Warehouse, kind: str) -> list[dict[str, Any]]:
    rows = warehouse.fetch("SELECT * FROM problems WHERE kind = $kind", {"kind": kind})
    return list(rows.iter_rows(named=True))


def test_flow_evaluators_are_judged() -> None:
    assert is_judged(FAITHFULNESS)
    assert not is_judged(catalog.build("citation", {}))


def test_judge_failures_are_problems_of_the_judge(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    refresh_problems(warehouse, [benchmark])
    (failure,) = found(warehouse, "judge_failure")
    assert (failure["severity"], failure["value"]) == ("high", pytest.approx(0.1))
    assert "a problem of the judge, not of the system" in failure["message"]
    (coverage,) = found(warehouse, "low_coverage")
    assert (coverage["severity"], coverage["value"]) == ("medium", pytest.approx(0.9))
    (cut,) = found(warehouse, "truncated_text")
    assert cut["question_id"] == "q07"


def add_labels(
    warehouse: Warehouse, benchmark: Benchmark, values: dict[str, float], **more: str
) -> None:
    """Replace all labels, and calibrate again."""
    row = {**KEY, "evaluator": "faithfulness", "metric": "faithfulness", "annotator": "ann", **more}
    labels = [{**row, "question_id": name, "value": value} for name, value in values.items()]
    warehouse.replace("labels", pl.DataFrame(labels), where={})
    calibrate(warehouse, [benchmark])
    refresh_problems(warehouse, [benchmark])


def message(warehouse: Warehouse) -> str:
    (problem,) = found(warehouse, "uncalibrated_judge")
    return str(problem["message"]).removeprefix("the judge of faithfulness.faithfulness is not ")


def test_a_judge_is_uncalibrated_until_enough_labels_agree(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    refresh_problems(warehouse, [benchmark])
    assert f"label a random sample of at least {MIN_LABELS} answers" in message(warehouse)
    # The judge passes all answers but the first five; the last two have no score.
    human = {f"q{at:02d}": float(at >= 5) for at in range(18)}
    add_labels(warehouse, benchmark, {name: human[name] for name in ("q04", "q05")})
    (row,) = warehouse.fetch("SELECT * FROM calibration").rows(named=True)
    assert (row["kappa"], row["is_calibrated"], row["labels_needed"]) == (1, 0, 18)
    assert row["kappa_low"] < 0
    text = message(warehouse)
    assert text.startswith("validated: 2 human labels do not show that kappa is above 0.4 (kappa 1")
    assert text.endswith("about 18 more labels are needed")
    add_labels(warehouse, benchmark, {f"q{at:02d}": 1.0 for at in range(5, 15)})
    assert "all 10 labels pass; label answers of the other class" in message(warehouse)
    add_labels(warehouse, benchmark, {f"q{at:02d}": float(at % 2) for at in range(10)})
    assert message(warehouse) == (
        "validated: it agrees too little with 10 human labels (kappa 0.20, not above 0.4), and at "
        "least 10 more labels are needed"
    )
    add_labels(warehouse, benchmark, {"q19": 1.0})
    assert "no answer with a label has a score" in message(warehouse)


def test_enough_labels_calibrate_a_judge(large: Warehouse, benchmark: Benchmark) -> None:
    human = {f"q{at:02d}": float(at >= 5) for at in range(60)}
    add_labels(large, benchmark, human)
    (row,) = large.fetch("SELECT * FROM calibration").rows(named=True)
    assert (row["is_calibrated"], row["labels_needed"]) == (1, 0)
    assert not found(large, "uncalibrated_judge")
    # Another labelled metric of the evaluator does not agree.
    with large.transaction() as transaction:
        other = {**row, "metric": "other", "is_calibrated": 0, "kappa": 0.1, "labels_needed": None}
        transaction.append("calibration", pl.DataFrame([other]))
    refresh_problems(large, [benchmark])
    assert "(kappa 0.10, not above 0.4)" in message(large)
    # A judge that agrees by chance only: more labels would not change that.
    add_labels(large, benchmark, {name: float(at % 2) for at, name in enumerate(human)})
    assert "agrees too little with 58 human labels (kappa" in message(large)
    assert large.fetch("SELECT labels_needed FROM calibration").item() is None


def test_clusters_are_those_of_all_samples(tmp_path: Path, benchmark: Benchmark) -> None:
    intervals = []
    for size in (1, 10):
        made = make_warehouse(tmp_path / f"{size}.duckdb", benchmark, 60, cluster=size)
        human = {f"q{at:02d}": float(at >= 5 + at % 3) for at in range(0, 60, 2)}
        add_labels(made, benchmark, human)
        (row,) = made.fetch("SELECT * FROM calibration").rows(named=True)
        assert row["reason"] is None
        intervals.append((row["ci_high"] - row["ci_low"], row["kappa_high"] - row["kappa_low"]))
    assert intervals[1][0] > intervals[0][0]
    assert intervals[1][1] > intervals[0][1]


def test_judge_variance(warehouse: Warehouse, benchmark: Benchmark) -> None:
    calibrate(warehouse, [benchmark])
    (row,) = warehouse.fetch("SELECT * FROM wobble").iter_rows(named=True)
    assert (row["evaluator"], row["n_answers"]) == ("faithfulness", 18)
    assert row["flip_rate"] == pytest.approx(5 / 18)
    # Five answers with 1 and 0, whose variance is 0.5 each; the others do not vary.
    assert row["judge_variance"] == pytest.approx(5 * 0.5 / 18)


def labels_of(chosen: dict[str, dict[str, Any]]) -> pl.DataFrame:
    """Labels of `ann`, by question, with how they were drawn."""
    key = {**KEY, "evaluator": "faithfulness", "metric": "faithfulness", "annotator": "ann"}
    none = {"selection": None, "stratum": None, "stratum_size": None, "probability": None}
    rows = [{**key, **none, "question_id": name, **more} for name, more in chosen.items()]
    return pl.DataFrame(
        rows, schema_overrides={"probability": pl.Float64}, infer_schema_length=None
    )


def test_numbers_rest_on_samples_that_were_not_chosen_for_their_uncertainty(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    chosen = {"q06": "random", "q07": None, "q08": "random", "q00": "uncertain", "q01": "uncertain"}
    rows = labels_of({name: {"value": 1.0, "selection": each} for name, each in chosen.items()})
    # Another person came across q01 at random.
    other = rows[-1].with_columns(annotator=pl.lit("ben"), selection=pl.lit("random"))
    warehouse.replace("labels", pl.concat([rows, other]))
    calibrate(warehouse, [benchmark])
    (found,) = warehouse.fetch(
        "SELECT n_labels, n_compared FROM calibration WHERE method = 'prediction_powered'"
    ).rows()
    assert found == (4, 4)


def test_where_only_chosen_labels_exist_there_is_no_number_but_the_reason(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    # A judge that is right about all of them: kappa would be 1.
    chosen = {f"q{at:02d}": float(at >= 5) for at in range(10)}
    rows = labels_of(
        {name: {"value": value, "selection": "uncertain"} for name, value in chosen.items()}
    )
    warehouse.replace("labels", rows)
    calibrate(warehouse, [benchmark])
    refresh_problems(warehouse, [benchmark])
    (row,) = warehouse.fetch("SELECT * FROM calibration").rows(named=True)
    assert (row["n_labels"], row["n_compared"], row["is_calibrated"]) == (0, 0, 0)
    names = ("agreement", "base_rate", "kappa", "true_positive_rate", "corrected_mean", "ci_low")
    assert {row[name] for name in names} == {None}
    assert row["reason"] == row["agreement_reason"]
    assert "chosen because their verdicts are uncertain" in row["reason"]
    assert "chosen because their verdicts are uncertain" in message(warehouse)


def test_labels_of_strata_weigh_as_much_as_what_they_stand_for(
    warehouse: Warehouse, benchmark: Benchmark
) -> None:
    """Four uncertain answers, of which two have labels, and fourteen others with four."""
    drawn = {"q00": 0.0, "q01": 1.0, "q05": 1.0, "q06": 1.0, "q07": 0.0, "q08": 1.0}
    rows = labels_of(
        {
            name: {
                "value": value,
                "selection": "uncertain" if name == "q01" else "random",
                "stratum": "uncertain" if name < "q04" else "certain",
                "stratum_size": 4 if name < "q04" else 14,
            }
            for name, value in drawn.items()
        }
    )
    warehouse.replace("labels", rows)
    calibrate(warehouse, [benchmark])
    (row,) = warehouse.fetch("SELECT * FROM calibration").rows(named=True)
    # Weights 2 and 3.5. The judge fails q00 and q01, and passes the others.
    assert row["base_rate"] == pytest.approx((2 * 1 + 3.5 * 3) / 18)
    assert row["agreement"] == pytest.approx((2 * 1 + 3.5 * 3) / 18)
    assert row["true_positive_rate"] == pytest.approx(10.5 / 12.5)
    # Kappa of the table 10.5, 3.5, 2, 2.
    chance = (14 * 12.5 + 4 * 5.5) / 18**2
    assert row["kappa"] == pytest.approx((12.5 / 18 - chance) / (1 - chance))
    # Before any uncertain answer was drawn for being so, the labels are a random sample.
    warehouse.replace("labels", rows.with_columns(selection=pl.lit("random")), where={})
    calibrate(warehouse, [benchmark])
    assert warehouse.fetch("SELECT base_rate FROM calibration").item() == pytest.approx(4 / 6)
    # The same probabilities, as a file may state them.
    stated = rows.with_columns(
        selection=None,
        stratum=None,
        stratum_size=None,
        probability=pl.when(pl.col("question_id") < "q04").then(2 / 4).otherwise(4 / 14),
    ).cast({"selection": pl.String, "stratum": pl.String, "stratum_size": pl.Int64})
    warehouse.replace("labels", stated, where={})
    calibrate(warehouse, [benchmark])
    (same,) = warehouse.fetch("SELECT * FROM calibration").rows(named=True)
    assert {**same, "calibrated_at": None} == {**row, "calibrated_at": None}


def test_annotators_who_disagree_count_in_parts(warehouse: Warehouse, benchmark: Benchmark) -> None:
    """The judge passes q05 to q08, and fails q00 to q03; half of the annotators do, too."""
    given = {"ann": "q00 q01 q05 q06", "ben": "q00 q01 q05 q06"}
    values = {"ann": [0.0, 1.0, 1.0, 1.0], "ben": [0.0, 0.0, 1.0, 0.0]}
    rows = pl.concat(
        labels_of(
            {
                question: {"value": value, "annotator": person}
                for question, value in zip(given[person].split(), values[person], strict=True)
            }
        )
        for person in given
    )
    warehouse.replace("labels", rows)
    calibrate(warehouse, [benchmark])
    (row,) = warehouse.fetch("SELECT * FROM calibration").rows(named=True)
    # Shares that pass: 0 and 1/2 where the judge fails, 1 and 1/2 where it passes.
    assert row["base_rate"] == 0.5
    assert row["agreement"] == pytest.approx((1 + 0.5 + 1 + 0.5) / 4)
    assert row["true_positive_rate"] == pytest.approx(1.5 / 2)
    assert row["true_negative_rate"] == pytest.approx(1.5 / 2)
    assert row["kappa"] == pytest.approx(0.5)
