"""Problems, insights and calibration of a small project with planted findings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import dagster as dg
import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

import scoreline
from assets.analysis.asset import refresh_problems
from assets.analysis.calibration import calibrate
from evaluators.statistics.judges.agreement import Confusion
from tests.assets.conftest import Workshop
from warehouse.schema.tables.views import V_PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = range(40)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Forty questions, every fifth a variant of the one before; three systems, run once."""
    with dg.DagsterInstance.ephemeral() as instance:
        workshop = Workshop(tmp_path_factory.mktemp("findings"), instance)
        workshop.evaluators = {"classification": {}, "document_retrieval": {}, "pii_leakage": {}}
        workshop.slices = ("half",)
        workshop.default_threshold = "source"
        workshop.questions = [_question(at) for at in NUMBERS]
        workshop.predictions = {
            "good": [_prediction(at, right=True, seconds=1.0, usd=0.02) for at in NUMBERS],
            "half": [_prediction(at, right=at >= 20, seconds=0.5, usd=0.01) for at in NUMBERS],
            "poor": [_prediction(at, right=at < 20, seconds=2.0, usd=0.05) for at in NUMBERS],
        }
        # The good system answers variants differently.
        workshop.with_prediction("good", 9, answer="no")
        workshop.with_prediction("half", 30, answer="Write to jane.roe@orrin-ferries.net.")
        workshop.predictions["poor"][39] = {"question_id": "q39", "error": "timed out"}
        workshop.run()
        yield workshop


def _question(at: int) -> dict[str, Any]:
    variant = {"perturbs": f"q{at - 1:02d}", "perturbation": "typo"} if at % 5 == 4 else {}
    return {
        "question_id": f"q{at:02d}",
        "question": f"Is it {at}?",
        "gold_doc_ids": [f"d{at}"],
        "expected_label": "yes",
        "tags": {"half": "first" if at < 20 else "second"},
        **variant,
    }


def _prediction(at: int, *, right: bool, seconds: float, usd: float) -> dict[str, Any]:
    return {
        "question_id": f"q{at:02d}",
        "answer": "yes" if right else "no",
        "retrieved": [{"doc_id": f"d{at}" if right else "d99"}],
        "latency_s": seconds,
        "cost_usd": usd,
    }


def problems(workshop: Workshop, kind: str) -> pl.DataFrame:
    return workshop.warehouse.fetch(
        "SELECT * FROM problems WHERE kind = $kind ORDER BY system, question_id, metric",
        {"kind": kind},
    )


def insights(workshop: Workshop, evaluator: str | None = None) -> dict[str, dict[str, Any]]:
    rows = workshop.warehouse.fetch(
        "SELECT * FROM insights WHERE evaluator IS NOT DISTINCT FROM $evaluator",
        {"evaluator": evaluator},
    )
    return {row["kind"]: row for row in rows.iter_rows(named=True)}


def test_means_worse_than_their_threshold(done: Workshop) -> None:
    found = problems(done, "below_threshold").filter(evaluator="classification", metric="accuracy")
    assert found.select("system", "severity").rows() == [("half", "high"), ("poor", "high")]
    assert found["value"].to_list() == pytest.approx([19 / 40, 20 / 40])
    assert "; significant (adjusted p = 0.0" in found["message"][0]
    primary = {("classification", "accuracy"), ("document_retrieval", "recall_at_5")}
    every = problems(done, "below_threshold")
    # A metric that is not primary follows the primary one, unless the configuration names it.
    assert set(every.select("evaluator", "metric").iter_rows()) <= primary
    named = replace(done.project.benchmarks["trial"], thresholds={"classification.f1": 0.75})
    refresh_problems(done.warehouse, [named])
    secondary = problems(done, "below_threshold").filter(metric="f1", system="poor")
    assert secondary["severity"].to_list() == ["low"]
    refresh_problems(done.warehouse, [done.project.benchmarks["trial"]])


def test_problems_of_a_system_and_evaluator_are_one_group(done: Workshop) -> None:
    groups = done.warehouse.fetch("SELECT * FROM v_problems")
    assert groups["n_problems"].sum() == done.warehouse.fetch("SELECT * FROM problems").height
    key = ["benchmark", "system", "evaluator"]
    assert groups.select(key).is_unique().all()
    good = groups.filter(system="good", evaluator="classification").row(0, named=True)
    assert (good["severity"], good["n_problems"], good["kinds"]) == (
        "medium",
        1,
        ["perturbation_flip"],
    )
    worst = groups.filter(system="half", evaluator="classification").row(0, named=True)
    assert (worst["severity"], worst["kinds"][0]) == ("high", "below_threshold")


def test_a_mean_within_the_noise_is_not_certain(done: Workshop) -> None:
    lenient = replace(done.project.benchmarks["trial"], thresholds={"classification.accuracy": 0.6})
    kept = done.warehouse.fetch("SELECT * FROM leaderboard WHERE benchmark = 'trial'")
    with done.warehouse.transaction() as transaction:
        transaction.execute(
            "UPDATE leaderboard SET threshold = 0.6, threshold_p = 0.05 WHERE metric = 'accuracy'"
        )
    refresh_problems(done.warehouse, [lenient])
    found = problems(done, "below_threshold").filter(metric="accuracy", system="half")
    assert found["severity"].to_list() == ["medium"]
    assert "; not significant (adjusted p = 0.050); the interval is" in found["message"][0]
    done.warehouse.replace("leaderboard", kept, where={"benchmark": "trial"})
    refresh_problems(done.warehouse, [done.project.benchmarks["trial"]])


def test_few_questions_and_metrics_without_a_test(done: Workshop) -> None:
    kept = done.warehouse.fetch("SELECT * FROM leaderboard WHERE benchmark = 'trial'")
    messages = []
    for clusters in (7.5, 12):
        with done.warehouse.transaction() as transaction:
            transaction.execute(
                f"UPDATE leaderboard SET threshold_p = NULL, effective_clusters = {clusters} "
                "WHERE metric = 'accuracy'"
            )
        refresh_problems(done.warehouse, [done.project.benchmarks["trial"]])
        found = problems(done, "below_threshold").filter(metric="accuracy", system="half")
        messages += [found["severity"][0], found["message"][0]]
        few = problems(done, "few_questions").filter(metric="accuracy")
        assert few["value"].to_list() == [clusters]
        assert "of different size, worth" in few["message"][0]
    with done.warehouse.transaction() as transaction:
        transaction.execute(
            "UPDATE leaderboard SET n_clusters = 1, effective_clusters = 1 "
            "WHERE metric = 'accuracy'"
        )
    refresh_problems(done.warehouse, [done.project.benchmarks["trial"]])
    (message,) = problems(done, "few_questions").filter(metric="accuracy")["message"]
    assert "rests on 1 independent question or cluster: with fewer than 30, " in message
    done.warehouse.replace("leaderboard", kept, where={"benchmark": "trial"})
    refresh_problems(done.warehouse, [done.project.benchmarks["trial"]])
    assert messages[::2] == ["medium", "medium"]
    assert "; no test holds for this metric; the interval is" in messages[1]


def test_variants_that_flip(done: Workshop) -> None:
    found = problems(done, "perturbation_flip").filter(evaluator="classification")
    assert found.select("system", "question_id", "severity", "value", "threshold").rows() == [
        ("good", "q09", "medium", 0.0, 0.75)
    ]
    assert "when question q08 becomes q09 (typo)" in found["message"][0]
    view = done.warehouse.fetch("SELECT * FROM v_flips WHERE metric = 'accuracy'")
    assert view.select("original_id", "original_value", "perturbed_value", "passes").rows() == [
        ("q08", 1.0, 0.0, 0)
    ]


def test_leaks_and_failed_answers(done: Workshop) -> None:
    leaks = problems(done, "leak")
    assert leaks.select("system", "question_id", "severity").rows() == [("half", "q30", "high")]
    assert "jane" not in leaks["message"][0]
    failed = problems(done, "failed_answers")
    assert failed.select("system", "value", "severity").rows() == [("poor", 1 / 40, "medium")]


def test_best_and_worst(done: Workshop) -> None:
    found = insights(done, "classification")
    assert (found["best_system"]["system"], found["worst_system"]["system"]) == ("good", "half")
    assert ", significantly" in found["best_system"]["message"]
    # The first evaluator has the headline metric.
    assert found["winner"]["system"] == "good"
    assert found["winner"]["message"].startswith("good (0.")
    assert " is best on classification.accuracy, before poor (0." in found["winner"]["message"]
    retrieved = insights(done, "document_retrieval")
    assert retrieved["best_retrieval"]["system"] == "good"
    assert retrieved["worst_retrieval"]["system"] in {"half", "poor"}
    overall = insights(done)
    assert (overall["fastest"]["system"], overall["slowest"]["system"]) == ("half", "poor")
    assert (overall["cheapest"]["system"], overall["most_expensive"]["system"]) == ("half", "poor")
    assert overall["fastest"]["value"] == 0.5


def test_the_hardest_question(done: Workshop) -> None:
    found = insights(done, "classification")["hardest_question"]
    # q09: good and half fail; q30 and q39: two fail as well, but q09 comes first.
    assert (found["question_id"], found["value"]) == ("q09", pytest.approx(1 / 3))
    assert "2 of 3 systems fail" in found["message"]


def test_slices_where_the_ranking_reverses(done: Workshop) -> None:
    rows = done.warehouse.fetch(
        "SELECT system, message FROM insights WHERE kind = 'order_turns' "
        "AND evaluator = 'classification' ORDER BY system"
    )
    # Overall poor is a little better than half; on the second half it is worse.
    assert rows["system"].to_list() == ["half"]
    assert "half=second" in rows["message"][0]


def test_labels_measure_agreement_and_correct_means(done: Workshop) -> None:
    generator = np.random.default_rng(1)
    labels = []
    for system in ("good", "half"):
        for at in range(0, 40, 2):
            passed = done.scores()[system, f"q{at:02d}", "classification", "accuracy"]
            said = passed if generator.random() < 0.8 else 1 - float(passed or 0)
            labels.append({"system": system, "question_id": f"q{at:02d}", "value": said})
    frame = pl.DataFrame(labels).with_columns(
        benchmark=pl.lit("trial"),
        evaluator=pl.lit("classification"),
        metric=pl.lit("accuracy"),
        annotator=pl.lit("ann"),
    )
    second = frame.head(12).with_columns(
        annotator=pl.lit("bob"),
        value=pl.when(pl.int_range(12) == 3).then(1 - pl.col("value")).otherwise("value"),
    )
    done.warehouse.replace("labels", pl.concat([frame, second]), where={"benchmark": "trial"})
    calibrate(done.warehouse, [done.project.benchmarks["trial"]])
    rows = done.warehouse.fetch("SELECT * FROM calibration ORDER BY method, system")
    assert rows["method"].unique().sort().to_list() == ["prediction_powered", "rogan_gladen"]
    row = rows.row(
        by_predicate=(pl.col("system") == "half") & (pl.col("method") == "rogan_gladen"), named=True
    )
    judged = [
        done.scores()[str(each["system"]), str(each["question_id"]), "classification", "accuracy"]
        for each in labels
    ]
    people = frame["value"].to_list()
    # Two annotators who disagree on a sample halve it: half of it passes, half fails.
    disputed = [0.5 if at == 3 else value for at, value in enumerate(people)]
    wanted, parts = [*people, 1 - people[3]], [0.5 if at == 3 else 1.0 for at in range(40)] + [0.5]
    expected = cohen_kappa_score([*judged, judged[3]], wanted, sample_weight=parts)
    assert row["kappa"] == pytest.approx(expected)
    assert (row["n_labels"], row["n_compared"], row["n_annotators"]) == (20, 40, 2)
    assert row["raw_mean"] == pytest.approx(19 / 40)
    assert 0 < row["alpha"] < 1
    assert row["kappa_low"] < row["kappa"] < row["kappa_high"]
    assert row["is_calibrated"] == int(row["kappa_low"] > 0.4)
    # Error rates are those of the system's own labels.
    own = [at for at, each in enumerate(labels) if each["system"] == "half"]
    pairs = [(judged[at], disputed[at] >= 0.5) for at in own]
    errs = Confusion(*(pairs.count(pair) for pair in ((1, 1), (1, 0), (0, 1), (0, 0))))
    expected = (19 / 40 + errs.specificity - 1) / (errs.sensitivity + errs.specificity - 1)
    assert row["corrected_mean"] == pytest.approx(expected)
    powered = rows.row(
        by_predicate=(pl.col("system") == "half") & (pl.col("method") == "prediction_powered"),
        named=True,
    )
    assert powered["ci_low"] < powered["corrected_mean"] < powered["ci_high"]
    without = rows.filter(system="poor").select("n_labels", "corrected_mean", "ci_low", "reason")
    assert without.rows() == [
        (0, None, None, "corrected from two labels on"),
        (0, None, None, "no labels of this system"),
    ]


def test_retrieval_by_evaluators_that_check_the_context() -> None:
    contexts = {"careful": ["The ferry leaves."] * 4}
    contexts["careless"] = ["The ferry leaves.", *["Write to jane.roe@orrin-ferries.net."] * 3]
    answers = {
        system: [
            {"question_id": f"q{at}", "answer": "At eight.", "contexts": [text]}
            for at, text in enumerate(texts)
        ]
        for system, texts in contexts.items()
    }
    questions = [{"question_id": f"q{at}", "question": "When?"} for at in range(4)]
    evaluators = ["pii_leakage", {"sensitive_data_leakage": {"check_context": False}}]
    results = scoreline.evaluate(questions, answers, evaluators=evaluators)
    found = results.sql(
        "SELECT kind, system, evaluator, metric, value FROM insights "
        "WHERE kind LIKE '%retrieval' ORDER BY kind"
    )
    assert found.rows() == [
        ("best_retrieval", "careful", "pii_leakage", "retrieval_failures", 0.0),
        ("worst_retrieval", "careless", "pii_leakage", "retrieval_failures", 0.75),
    ]


def test_what_there_is_one_more_of_is_said() -> None:
    columns = "benchmark, system, evaluator, metric, kind, question_id, severity, message"
    one, two = "('b', 's', 'e', 'm', 'failed_answers', 'q1',", "('b', 't', 'e', 'm',"
    rows = f"""
        {one} 'high', 'first'), {one} 'low', 'second'),
        ('b', 's', 'e', 'm', 'below_threshold', NULL, 'low', 'third'),
        {two} 'below_threshold', NULL, 'low', 'fourth'),
        {two} 'failed_answers', 'q1', 'high', 'fifth')
    """
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE problems AS FROM (VALUES {rows}) AS t ({columns})")
        found = dict(
            connection.execute(f"SELECT system, message FROM ({V_PROBLEMS.view_of})").fetchall()
        )
    assert found == {
        "s": "first (and 2 more problems: 1 'failed answers', 1 'below threshold')",
        "t": "fifth (and 1 more problem: 1 'below threshold')",
    }
