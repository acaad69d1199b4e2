"""The uncertainty of a leaderboard, from real assets on a small project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

from assets.keys import LEADERBOARD
from tests.assets.conftest import Workshop
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

NAMES = [f"q{i:03d}" for i in range(60)]
KEY = ("slice", "system", "evaluator", "metric")


@pytest.fixture
def larger(tmp_path: Path) -> Iterator[Workshop]:
    """A private project that has not been run."""
    with dg.DagsterInstance.ephemeral() as instance:
        yield sixty(Workshop(tmp_path, instance))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """A project that has been run, for tests that only read."""
    with dg.DagsterInstance.ephemeral() as instance:
        made = sixty(Workshop(tmp_path_factory.mktemp("done"), instance))
        made.run()
        yield made


def sixty(workshop: Workshop) -> Workshop:
    """Sixty questions on twelve documents, and three systems of different skill."""
    generator = np.random.default_rng(1)
    workshop.last = (LEADERBOARD,)
    workshop.questions = [
        {
            "question_id": name,
            "question": f"What is {name}?",
            "doc_id": f"d{at % 12}",
            "gold_doc_ids": [f"d{at % 12}"],
            "gold_sentence_ids": ["S1", "S2", "S3"],
            "expected_label": "even" if at % 2 == 0 else "odd",
            "tags": {"half": "first" if at < 30 else "second"},
        }
        for at, name in enumerate(NAMES)
    ]
    skills = {"able": 0.9, "fair": 0.7, "weak": 0.4}
    workshop.predictions = {
        system: [
            _prediction(question, generator.random(4) < skill) for question in workshop.questions
        ]
        for system, skill in skills.items()
    }
    workshop.slices = ("half",)
    return workshop


def _prediction(question: dict[str, Any], luck: np.ndarray) -> dict[str, Any]:
    right = question["expected_label"]
    return {
        "question_id": question["question_id"],
        "answer": right if luck[0] else "odd" if right == "even" else "even",
        "retrieved": [{"doc_id": question["doc_id"] if luck[1] else "d99"}],
        "cited_sentence_ids": [f"S{at}" for at in (1, 2, 3) if luck[at]] or ["S9"],
    }


def board(workshop: Workshop) -> dict[tuple[str, ...], dict[str, Any]]:
    rows = workshop.warehouse.fetch("SELECT * FROM leaderboard")
    return {tuple(row[name] for name in KEY): row for row in rows.iter_rows(named=True)}


def values(workshop: Workshop, evaluator: str, metric: str) -> pl.DataFrame:
    return workshop.warehouse.fetch(
        "PIVOT (SELECT question_id, system, value FROM scores WHERE evaluator = $evaluator "
        "AND metric = $metric) ON system IN ('able', 'fair', 'weak') USING first(value) "
        "ORDER BY question_id",
        {"evaluator": evaluator, "metric": metric},
    )


def test_pass_fail_and_other_metrics_have_intervals(done: Workshop) -> None:
    rows = board(done)
    passed = rows["all", "able", "classification", "accuracy"]
    low, high = proportion_confint(passed["mean"] * 60, 60, method="wilson")
    assert (passed["ci_low"], passed["ci_high"]) == pytest.approx((low, high))
    assert (passed["ci_method"], passed["n_clusters"]) == ("wilson", 60)
    cited = rows["all", "fair", "citation", "f1"]
    numbers = values(done, "citation", "f1")["fair"].to_numpy()
    assert cited["std_error"] == pytest.approx(stats.sem(numbers))
    expected = stats.t.interval(0.95, 59, loc=numbers.mean(), scale=stats.sem(numbers))
    assert (cited["ci_low"], cited["ci_high"]) == pytest.approx(expected, abs=0.02)
    # Most values are near 1: the interval reaches further down.
    assert cited["ci_low"] < expected[0]
    assert cited["ci_method"] == "skew_adjusted_t"
    half = rows["half=first", "fair", "citation", "f1"]
    assert half["n_clusters"] == 30
    assert half["std_error"] > cited["std_error"]


def test_ranks_and_comparisons_agree(done: Workshop) -> None:
    rows = board(done)
    places = {
        system: rows["all", system, "classification", "accuracy"]
        for system in ("able", "fair", "weak")
    }
    for row in places.values():
        assert row["rank_low"] <= row["rank"] <= row["rank_high"]
    assert places["able"]["tied_with_best"] == 1
    assert places["weak"]["tied_with_best"] == 0
    compared = done.warehouse.fetch(
        "SELECT * FROM comparisons WHERE slice = 'all' AND evaluator = 'classification' "
        "AND metric = 'accuracy' ORDER BY system_a, system_b"
    )
    assert compared.select("system_a", "system_b").rows() == [
        ("able", "fair"),
        ("able", "weak"),
        ("fair", "weak"),
    ]
    right = values(done, "classification", "accuracy")
    both = [[0, 0], [0, 0]]
    for a, b in right.select("able", "weak").iter_rows():
        both[int(a)][int(b)] += 1
    first = compared.row(1, named=True)
    assert first["p_value"] == pytest.approx(mcnemar(both, exact=True).pvalue)
    assert first["difference"] == pytest.approx((right["able"] - right["weak"]).mean())
    assert (first["n_pairs"], first["verdict"]) == (60, "better")


def test_questions_of_a_cluster_are_not_independent(larger: Workshop, done: Workshop) -> None:
    alone = board(done)["all", "fair", "citation", "f1"]
    larger.cluster = "doc_id"
    larger.run()
    rows = board(larger)
    together = rows["all", "fair", "citation", "f1"]
    assert together["n_clusters"] == 12
    assert together["mean"] == alone["mean"]
    by_document = values(larger, "citation", "f1")["fair"].to_numpy().reshape(5, 12).mean(axis=0)
    assert together["std_error"] == pytest.approx(stats.sem(by_document))
    retrieved = rows["all", "fair", "document_retrieval", "mrr"]
    assert (retrieved["ci_method"], retrieved["n_clusters"]) == ("wilson", 12)
    system = rows["all", "fair", "classification", "f1"]
    assert system["n_clusters"] == 12


@takes_minutes
def test_perturbations_belong_to_the_cluster_of_their_question(larger: Workshop) -> None:
    for at, original in ((1, 0), (2, 1), (3, 2)):
        larger.with_question(at, perturbs=NAMES[original], perturbation="typo")
    larger.run()
    assert board(larger)["all", "fair", "citation", "f1"]["n_clusters"] == 57


def test_system_metrics_have_intervals(done: Workshop) -> None:
    rows = board(done)
    row = rows["all", "fair", "classification", "f1"]
    assert row["ci_low"] < row["mean"] < row["ci_high"] <= 1
    accuracy = rows["all", "fair", "classification", "accuracy"]
    # With two even classes macro F1 is about the accuracy, and so is its error.
    assert row["std_error"] == pytest.approx(accuracy["std_error"], rel=0.35)
    verdicts = done.warehouse.fetch(
        "SELECT verdict, n_pairs FROM comparisons WHERE slice = 'all' AND metric = 'micro_f1' "
        "AND evaluator = 'classification' AND system_a = 'able' AND system_b = 'weak'"
    )
    assert verdicts.rows() == [("better", 60)]


def test_few_questions_have_wide_intervals_or_none(ranked: Workshop) -> None:
    ranked.slices = ("half",)
    ranked.run()
    rows = board(ranked)
    for row in rows.values():
        if row["mean"] is not None:
            assert 1 <= row["rank_low"] <= row["rank"] <= row["rank_high"] <= 2
    verdicts = ranked.warehouse.fetch("SELECT DISTINCT verdict FROM comparisons")
    assert set(verdicts["verdict"]) <= {"tied", "not_enough_data", "better"}
    slices = ranked.warehouse.fetch("SELECT DISTINCT verdict FROM comparisons WHERE slice <> 'all'")
    assert slices["verdict"].to_list() == ["not_enough_data"]


def test_t_intervals_can_be_configured(larger: Workshop) -> None:
    larger.intervals = "t"
    larger.run()
    row = board(larger)["all", "fair", "citation", "f1"]
    numbers = values(larger, "citation", "f1")["fair"].to_numpy()
    expected = stats.t.interval(0.95, 59, loc=numbers.mean(), scale=stats.sem(numbers))
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(expected)
    assert row["ci_method"] == "t"


def test_history_keeps_the_intervals(done: Workshop) -> None:
    kept = done.warehouse.fetch(
        "SELECT count(*) AS n FROM leaderboard_history AS h JOIN leaderboard AS l "
        "USING (benchmark, slice, system, evaluator, metric) WHERE h.ci_low = l.ci_low"
    )
    assert kept["n"][0] > 30


def test_the_seed_is_stored_with_the_numbers(done: Workshop) -> None:
    kept = dict(done.warehouse.fetch("SELECT name, value FROM meta").iter_rows())
    assert kept["bootstrap_draws"] == "2000"
    assert int(kept["random_seed"]) > 0
    assert "schema_version" in kept
