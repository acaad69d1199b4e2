"""Incremental scoring: a change rescores exactly the samples that it affects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.scoring.refresh import refresh_scores
from evaluators.library.citations.citation import Citation
from tests.support.services import takes_minutes
from warehouse.errors import UnknownSystem

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop

ALL = {"document_retrieval": 12, "citation": 12, "classification": 12}
NONE = dict.fromkeys(ALL, 0)


def test_a_rerun_scores_nothing(published: Workshop) -> None:
    before = published.warehouse.fetch("SELECT * FROM scores ORDER BY ALL")
    assert published.run() == NONE
    assert published.warehouse.fetch("SELECT * FROM scores ORDER BY ALL").equals(before)


def test_answers_are_counted_only_for_scores_that_are_not_up_to_date(published: Workshop) -> None:
    def count() -> dict[str, int]:
        counted.append(1)
        return {}

    counted: list[int] = []
    benchmark = published.project.benchmarks["trial"]
    used = [(benchmark, benchmark.evaluators[0])]
    refresh_scores(published.warehouse, used, run_id="again", find_repeats=count)
    assert not counted
    refresh_scores(published.warehouse, used, run_id="again", find_repeats=count, force=True)
    assert counted


def test_each_of_several_answers_counts(graded: Workshop) -> None:
    for system, rows in graded.predictions.items():
        graded.predictions[system] = [{**row, "repeat": n} for row in rows for n in range(3)]
    assert graded.run() == dict.fromkeys(ALL, 36)
    benchmark = graded.project.benchmarks["trial"]
    for evaluator in benchmark.evaluators:
        (again,) = refresh_scores(graded.warehouse, [(benchmark, evaluator)], run_id="r").values()
        assert (again.scored, again.current, again.removed) == (0, 36, 0)
    graded.with_prediction("good", 0, cited_sentence_ids=["S1"])
    assert graded.run() == {**NONE, "citation": 1}


def test_a_touched_or_reordered_file_scores_nothing(graded: Workshop) -> None:
    graded.questions.reverse()
    graded.predictions["good"].reverse()
    assert graded.run() == NONE


def test_a_changed_gold_answer_rescores_evaluators_that_read_it(graded: Workshop) -> None:
    graded.with_question(0, expected_label="odd")
    assert graded.run() == {**NONE, "classification": 2}


def test_a_changed_question_text_rescores_nothing_here(graded: Workshop) -> None:
    graded.with_question(0, question="What on earth is 0?")
    assert graded.run() == NONE


def test_a_changed_prediction_rescores_its_own_sample(graded: Workshop) -> None:
    graded.with_prediction("poor", 4, cited_sentence_ids=["S1"])
    assert graded.run() == {**NONE, "citation": 1}
    assert graded.scores()["poor", "q4", "citation", "recall"] == 0.5


def test_a_failed_answer_rescores_its_sample_with_all_evaluators(graded: Workshop) -> None:
    graded.with_prediction("poor", 4, error="timed out")
    assert graded.run() == dict.fromkeys(ALL, 1)


def test_a_changed_parameter_rescores_its_evaluator(graded: Workshop) -> None:
    graded.evaluators["document_retrieval"] = {"cutoffs": [1, 3]}
    assert graded.run() == {**NONE, "document_retrieval": 12}
    metrics = graded.warehouse.fetch(
        "SELECT DISTINCT metric FROM scores WHERE evaluator = 'document_retrieval'"
    )["metric"].to_list()
    assert "recall_at_3" in metrics
    assert "recall_at_5" not in metrics


def test_a_raised_version_rescores_its_evaluator(
    graded: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Citation, "version", Citation.version + 1)
    assert graded.run() == {**NONE, "citation": 12}


def test_a_new_system_scores_its_own_samples(graded: Workshop) -> None:
    graded.predictions["third"] = graded.predictions["good"][:5]
    assert graded.run() == dict.fromkeys(ALL, 6)
    assert graded.scores()["third", "q5", "citation", "f1"] == 0.0


def test_a_new_question_scores_its_own_samples(graded: Workshop) -> None:
    graded.questions.append({**graded.questions[0], "question_id": "q6"})
    graded.predictions["good"].append({**graded.predictions["good"][0], "question_id": "q6"})
    assert graded.run() == dict.fromkeys(ALL, 2)


@takes_minutes
def test_a_removed_system_leaves_no_orphans(done: Workshop) -> None:
    del done.predictions["poor"]
    assert done.run() == NONE
    for table in ("predictions", "scores", "grades", "leaderboard", "system_scores", "contexts"):
        left = done.warehouse.fetch(f"SELECT count(*) FROM {table} WHERE system = 'poor'")
        assert left.item() == 0, table


@takes_minutes
def test_a_removed_question_leaves_no_orphans(done: Workshop) -> None:
    del done.questions[5]
    for rows in done.predictions.values():
        del rows[5]
    assert done.run() == NONE
    for table in ("questions", "predictions", "scores", "grades", "contexts"):
        left = done.warehouse.fetch(f"SELECT count(*) FROM {table} WHERE question_id = 'q5'")
        assert left.item() == 0, table
    counts = done.warehouse.fetch("SELECT DISTINCT n FROM leaderboard")["n"].to_list()
    assert counts == [5]


@takes_minutes
def test_a_system_that_starts_to_retrieve_is_rescored_on_all_questions(ranked: Workshop) -> None:
    for row in ranked.predictions["poor"]:
        del row["retrieved"]
    ranked.run()
    assert ranked.scores()["poor", "q1", "document_retrieval", "mrr"] is None
    ranked.with_prediction("poor", 0, retrieved=[{"doc_id": "d0"}])
    assert ranked.run() == {**NONE, "document_retrieval": 6}
    scores = ranked.scores()
    assert scores["poor", "q0", "document_retrieval", "mrr"] == 1.0
    assert scores["poor", "q1", "document_retrieval", "mrr"] == 0.0


@takes_minutes
def test_force_scores_everything_again(done: Workshop) -> None:
    assert done.run(force=True) == ALL


@takes_minutes
def test_a_signature_keeps_the_time_it_was_first_seen(done: Workshop) -> None:
    before = done.warehouse.fetch("SELECT * FROM signatures ORDER BY ALL")
    done.run(force=True)
    assert done.warehouse.fetch("SELECT * FROM signatures ORDER BY ALL").equals(before)
    assert before["metrics"].list.len().min() > 0


@takes_minutes
def test_a_run_can_be_limited_to_systems(ranked: Workshop) -> None:
    assert ranked.run(systems=["good"]) == dict.fromkeys(ALL, 6)
    assert ranked.run() == dict.fromkeys(ALL, 6)


@takes_minutes
def test_a_run_limited_to_systems_updates_the_leaderboard(done: Workshop) -> None:
    done.predictions["third"] = done.predictions.pop("poor")
    assert done.run(systems=["third"]) == dict.fromkeys(ALL, 6)
    shown = "SELECT DISTINCT system FROM leaderboard ORDER BY system"
    assert done.warehouse.fetch(shown)["system"].to_list() == ["good", "third"]
    done.run()
    assert done.warehouse.fetch(shown)["system"].to_list() == ["good", "third"]


def test_an_unknown_system_is_refused(done: Workshop) -> None:
    with pytest.raises(UnknownSystem, match=r"'goood' in 'trial'; did you mean 'good'\?"):
        done.run(systems=["good", "goood"])


@takes_minutes
def test_scores_of_different_signatures_are_not_ranked_together(done: Workshop) -> None:
    done.evaluators["classification"] = {"normalize": True}
    done.run(systems=["good"])
    ranked = done.warehouse.fetch(
        "SELECT system FROM leaderboard WHERE metric = 'accuracy' ORDER BY system"
    )
    assert ranked["system"].to_list() == ["good"]
    done.run()
    assert done.warehouse.fetch(
        "SELECT system, rank FROM leaderboard WHERE metric = 'accuracy' ORDER BY rank, system"
    ).rows() == [("good", 1), ("poor", 1)]
