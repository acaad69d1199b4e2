"""Absolute gates: limits on means, on ends of intervals and on system metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from dagster._core.errors import DagsterAssetCheckFailedError
from scipy.stats import beta

from assets.analysis.comparability import NotComparable
from assets.analysis.select_metrics import select_metrics
from assets.gates.limit_verdict import evaluate_limit
from assets.gates.refresh import evaluate_gates, refresh_gates
from assets.project import Gate

if TYPE_CHECKING:
    from assets.gates.result import GateResult
    from tests.assets.conftest import Workshop


def evaluated(workshop: Workshop, system: str, metric: str, **choices: Any) -> GateResult:
    benchmark = workshop.project.benchmarks["trial"]
    metrics = select_metrics(benchmark, [metric], with_system_metrics=True)
    ((kind, limit),) = [(each, choices.pop(each)) for each in ("min", "max") if each in choices]
    (found,) = evaluate_limit(
        workshop.warehouse, benchmark, system, kind, limit, metrics, **choices
    )
    return found


def mean(workshop: Workshop, system: str, metric: str) -> dict[str, Any]:
    evaluator, _, name = metric.partition(".")
    rows = workshop.warehouse.fetch(
        "SELECT mean, ci_low, ci_high, n_scored FROM leaderboard WHERE slice = 'all' "
        "AND system = $system AND evaluator = $evaluator AND metric = $metric",
        {"system": system, "evaluator": evaluator, "metric": name},
    )
    return rows.row(0, named=True)


@pytest.mark.parametrize("metric", ["classification.accuracy", "classification.f1"])
def test_the_mean_of_samples_and_systems(done: Workshop, metric: str) -> None:
    shown = mean(done, "poor", metric)
    found = evaluated(done, "poor", metric, min=0.9)
    assert (found.value, found.low, found.high) == (
        shown["mean"],
        shown["ci_low"] if shown["ci_low"] is not None else pytest.approx(math.nan, nan_ok=True),
        shown["ci_high"] if shown["ci_high"] is not None else pytest.approx(math.nan, nan_ok=True),
    )
    assert found.n_pairs == shown["n_scored"]
    assert (found.verdict, found.passed) == ("missed", False)
    assert evaluated(done, "poor", metric, max=0.9).verdict == "met"


def test_a_mean_that_equals_the_limit_meets_it(done: Workshop) -> None:
    value = mean(done, "poor", "classification.accuracy")["mean"]
    for limit in (value, value * (1 + 1e-14), value * (1 - 1e-14)):
        assert evaluated(done, "poor", "classification.accuracy", min=limit).passed
        assert evaluated(done, "poor", "classification.accuracy", max=limit).passed
    assert not evaluated(done, "poor", "classification.accuracy", min=value + 1e-6).passed


def test_the_end_of_the_interval_must_reach_the_limit(done: Workshop) -> None:
    shown = mean(done, "poor", "classification.accuracy")
    # Clopper and Pearson's interval, which is exact for any number of questions.
    passes, n = round(shown["mean"] * shown["n_scored"]), shown["n_scored"]
    low = float(beta.ppf(0.025, passes, n - passes + 1)) - 1e-6
    high = float(beta.ppf(0.975, passes + 1, n - passes)) + 1e-6
    assert low < shown["ci_low"] < shown["mean"] < shown["ci_high"] < high
    for limit, passed in ((low, True), ((low + shown["mean"]) / 2, False)):
        found = evaluated(done, "poor", "classification.accuracy", min=limit, confident=True)
        assert found.passed is passed
        assert evaluated(done, "poor", "classification.accuracy", min=limit).passed
    for limit, passed in ((high, True), ((high + shown["mean"]) / 2, False)):
        found = evaluated(done, "poor", "classification.accuracy", max=limit, confident=True)
        assert found.passed is passed


def test_a_metric_without_a_mean_does_not_pass(done: Workshop) -> None:
    with done.warehouse.transaction() as transaction:
        transaction.execute(
            "UPDATE leaderboard SET mean = NULL, ci_low = NULL, ci_high = NULL, n_scored = 0"
        )
    for limit in ({"min": 0.0}, {"max": 1.0}):
        found = evaluated(done, "poor", "classification.accuracy", **limit)
        assert (found.verdict, found.passed) == ("not_enough_data", False)
        assert "is unknown on 0 questions, which cannot be compared" in found.message


def test_changed_answers_are_refused(done: Workshop) -> None:
    with done.warehouse.transaction() as transaction:
        transaction.execute("UPDATE predictions SET answer = 'other' WHERE system = 'poor'")
    with pytest.raises(NotComparable, match="have changed since they were scored"):
        evaluated(done, "poor", "classification.accuracy", min=0.1)


def test_a_limit_for_one_system_replaces_that_for_all(done: Workshop) -> None:
    done.gates = (
        Gate(system="poor", metrics=("classification.accuracy",), min=0.1),
        Gate(metrics=("classification.accuracy",), min=0.9),
        Gate(metrics=("classification.f1",), max=1.0),
    )
    found = evaluate_gates(done.warehouse, done.project.benchmarks["trial"])
    limits = {(each.system, each.metric, each.kind): (each.limit, each.verdict) for each in found}
    assert limits == {
        ("poor", "accuracy", "min"): (0.1, "met"),
        ("good", "accuracy", "min"): (0.9, "missed"),
        ("poor", "f1", "max"): (1.0, "met"),
        ("good", "f1", "max"): (1.0, "met"),
    }


def test_a_gate_that_cannot_be_evaluated_fails_with_the_reason(done: Workshop) -> None:
    done.gates = (
        Gate(system="god", metrics=("classification.accuracy",), min=0.1),
        Gate(system="poor", baseline="goood", metrics=("classification.accuracy",)),
    )
    benchmark = done.project.benchmarks["trial"]
    refresh_gates(done.warehouse, [benchmark])
    rows = done.warehouse.fetch("SELECT * FROM gates ORDER BY kind").to_dicts()
    assert [(row["verdict"], row["passed"], row["value"]) for row in rows] == [
        ("not_comparable", 0, None),
        ("not_comparable", 0, None),
    ]
    assert "there is no system 'god' (did you mean 'good'?)" in rows[0]["message"]
    assert "there is no system 'goood' (did you mean 'good'?)" in rows[1]["message"]


def test_verdicts_are_written_once(done: Workshop) -> None:
    done.gates = (Gate(metrics=("classification.accuracy",), min=0.9),)
    benchmark = done.project.benchmarks["trial"]
    refresh_gates(done.warehouse, [benchmark])
    with done.warehouse.transaction() as transaction:
        transaction.execute("UPDATE gates SET message = 'kept'")
    refresh_gates(done.warehouse, [benchmark])
    assert set(done.warehouse.fetch("SELECT message FROM gates")["message"]) == {"kept"}
    # A leaderboard that is computed again has no verdicts yet.
    with pytest.raises(DagsterAssetCheckFailedError):
        done.run(force=True)
    assert "kept" not in set(done.warehouse.fetch("SELECT message FROM gates")["message"])
    marked = done.warehouse.fetch("SELECT count(*) FROM leaderboard WHERE gate = 'failed'").item()
    assert marked
