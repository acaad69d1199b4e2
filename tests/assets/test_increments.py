"""What is scored again when something changes: exactly what the change touches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluators.library.citations.citation import Citation
from warehouse.errors import UnknownSystem

if TYPE_CHECKING:
    from tests.assets.conftest import Workshop

ALL = {"document_retrieval": 12, "citation": 12, "classification": 12}
NONE = dict.fromkeys(ALL, 0)


@pytest.fixture
def done(workshop: Workshop) -> Workshop:
    """The project after its first run."""
    assert workshop.run() == ALL
    return workshop


def test_a_rerun_scores_nothing(done: Workshop) -> None:
    before = done.warehouse.fetch("SELECT * FROM scores ORDER BY ALL")
    assert done.run() == NONE
    assert done.warehouse.fetch("SELECT * FROM scores ORDER BY ALL").equals(before)


def test_a_touched_or_reordered_file_scores_nothing(done: Workshop) -> None:
    done.questions.reverse()
    done.predictions["good"].reverse()
    assert done.run() == NONE


def test_a_changed_gold_answer_touches_who_reads_it(done: Workshop) -> None:
    done.with_question(0, expected_label="odd")
    assert done.run() == {**NONE, "classification": 2}


def test_a_changed_question_text_touches_nobody_here(done: Workshop) -> None:
    done.with_question(0, question="What on earth is 0?")
    assert done.run() == NONE


def test_a_changed_prediction_touches_its_own_row(done: Workshop) -> None:
    done.with_prediction("poor", 4, cited_sentence_ids=["S1"])
    assert done.run() == {**NONE, "citation": 1}
    assert done.scores()["poor", "q4", "citation", "recall"] == 0.5


def test_a_failed_answer_touches_all_of_its_row(done: Workshop) -> None:
    done.with_prediction("poor", 4, error="timed out")
    assert done.run() == dict.fromkeys(ALL, 1)


def test_a_changed_parameter_touches_its_evaluator(done: Workshop) -> None:
    done.evaluators["document_retrieval"] = {"cutoffs": [1, 3]}
    assert done.run() == {**NONE, "document_retrieval": 12}
    metrics = done.warehouse.fetch(
        "SELECT DISTINCT metric FROM scores WHERE evaluator = 'document_retrieval'"
    )["metric"].to_list()
    assert "recall_at_3" in metrics
    assert "recall_at_5" not in metrics


def test_a_raised_version_touches_its_evaluator(
    done: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Citation, "version", Citation.version + 1)
    assert done.run() == {**NONE, "citation": 12}


def test_a_new_system_touches_its_own_rows(done: Workshop) -> None:
    done.predictions["third"] = done.predictions["good"][:5]
    assert done.run() == dict.fromkeys(ALL, 6)
    assert done.scores()["third", "q5", "citation", "f1"] == 0.0


def test_a_new_question_touches_its_own_rows(done: Workshop) -> None:
    done.questions.append({**done.questions[0], "question_id": "q6"})
    done.predictions["good"].append({**done.predictions["good"][0], "question_id": "q6"})
    assert done.run() == dict.fromkeys(ALL, 2)


def test_a_removed_system_leaves_no_orphans(done: Workshop) -> None:
    del done.predictions["poor"]
    assert done.run() == NONE
    for table in ("predictions", "scores", "grades", "leaderboard", "system_scores", "contexts"):
        left = done.warehouse.fetch(f"SELECT count(*) FROM {table} WHERE system = 'poor'")
        assert left.item() == 0, table


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


def test_a_system_that_begins_to_retrieve_is_held_to_it_everywhere(workshop: Workshop) -> None:
    for row in workshop.predictions["poor"]:
        del row["retrieved"]
    workshop.run()
    assert workshop.scores()["poor", "q1", "document_retrieval", "mrr"] is None
    workshop.with_prediction("poor", 0, retrieved=[{"doc_id": "d0"}])
    assert workshop.run() == {**NONE, "document_retrieval": 6}
    scores = workshop.scores()
    assert scores["poor", "q0", "document_retrieval", "mrr"] == 1.0
    assert scores["poor", "q1", "document_retrieval", "mrr"] == 0.0


def test_force_scores_everything_again(done: Workshop) -> None:
    assert done.run(force=True) == ALL


def test_a_signature_keeps_the_day_it_was_first_seen(done: Workshop) -> None:
    before = done.warehouse.fetch("SELECT * FROM signatures ORDER BY ALL")
    done.run(force=True)
    assert done.warehouse.fetch("SELECT * FROM signatures ORDER BY ALL").equals(before)
    assert before["metrics"].list.len().min() > 0


def test_a_run_may_be_narrowed_to_systems(workshop: Workshop) -> None:
    assert workshop.run(systems=["good"]) == dict.fromkeys(ALL, 6)
    assert workshop.run() == dict.fromkeys(ALL, 6)


def test_a_narrowed_run_shows_what_it_scored(done: Workshop) -> None:
    done.predictions["third"] = done.predictions.pop("poor")
    assert done.run(systems=["third"]) == dict.fromkeys(ALL, 6)
    shown = "SELECT DISTINCT system FROM leaderboard ORDER BY system"
    assert done.warehouse.fetch(shown)["system"].to_list() == ["good", "third"]
    done.run()
    assert done.warehouse.fetch(shown)["system"].to_list() == ["good", "third"]


def test_a_system_that_does_not_occur_is_refused(done: Workshop) -> None:
    with pytest.raises(UnknownSystem, match=r"'goood' in 'trial'; did you mean 'good'\?"):
        done.run(systems=["good", "goood"])


def test_scores_that_came_about_differently_are_not_ranked_together(done: Workshop) -> None:
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
