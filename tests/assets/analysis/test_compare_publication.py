"""A system compared with itself in an earlier publication, as if then and now were two systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from assets.analysis.compare_pair import compare_pair
from assets.analysis.compare_publication import NotKept, compare_publication
from assets.analysis.publications import UnknownPublication, find_publication, list_publications
from orchestration.cli.comparison import changed_rows, describe_change, describe_flips
from tests.support.services import takes_minutes
from warehouse.publish.publications import tag_publication
from warehouse.publish.snapshot import amend

if TYPE_CHECKING:
    from assets.analysis.compare_publication import PublicationChanges
    from tests.assets.conftest import Workshop

NUMBERS = (
    *("n_pairs", "n_clusters", "difference", "ci_low", "ci_high", "p_value"),
    "detectable_difference",
)
METRICS = ("citation.f1", "citation.precision", "document_retrieval.mrr")


def since_first(
    workshop: Workshop, *systems: str, metrics: tuple[str, ...] = ()
) -> PublicationChanges:
    """What has changed since the first publication, by the published copy."""
    copy, benchmark = workshop.project.open_copy(), workshop.project.benchmarks["trial"]
    first = list_publications(copy)[-1]
    return compare_publication(copy, benchmark, first, systems, metrics)


def improve(workshop: Workshop, *numbers: int) -> None:
    """Give some answers of `poor` the right citations and documents."""
    for number in numbers:
        workshop.with_prediction(
            "poor",
            number,
            retrieved=[{"doc_id": "d8"}, {"doc_id": f"d{number}"}],
            cited_sentence_ids=["S1"],
        )


@takes_minutes
def test_the_numbers_are_those_of_two_systems(published: Workshop) -> None:
    published.cluster = "half"
    old = [dict(row) for row in published.predictions["poor"]]
    improve(published, 0, 1, 2, 4)
    published.run()
    found = since_first(published, metrics=METRICS)
    # The oracle: the answers of then are those of another system of now.
    published.predictions["before"] = old
    published.run()
    benchmark = published.project.benchmarks["trial"]
    names = [(name.partition(".")[0], name.partition(".")[2]) for name in METRICS]
    expected = compare_pair(published.warehouse, benchmark, "all", ("poor", "before"), names)
    assert set(expected["system_a"]) == {"before"}
    signs = {name: -pl.col(name) for name in ("difference",)}
    expected = expected.with_columns(ci_low=-pl.col("ci_high"), ci_high=-pl.col("ci_low"), **signs)
    key = ["evaluator", "metric"]
    poor = found.results.filter(pl.col("system") == "poor")
    assert_frame_equal(
        poor.sort(key).select(*key, *NUMBERS), expected.sort(key).select(*key, *NUMBERS)
    )
    good = found.results.filter(pl.col("system") == "good")
    assert good["difference"].to_list() == [0.0] * 3


@takes_minutes
def test_only_systems_with_other_predictions_are_adjusted_for(published: Workshop) -> None:
    improve(published, 0, 1, 2)
    published.run()
    row = since_first(published, metrics=METRICS[:1]).results.filter(pl.col("system") == "poor")
    assert row["p_adjusted"].to_list() == row["p_value"].to_list()
    # The first publication since then has half of the level, the second one a sixth.
    assert row["p_page"][0] == pytest.approx(min(1.0, 2 * row["p_adjusted"][0]))
    # Two systems with other predictions: Holm doubles the smaller p-value.
    published.with_prediction("good", 0, cited_sentence_ids=["S9"])
    published.run()
    both = since_first(published, metrics=METRICS[:1]).results.sort("p_value")
    assert both["p_adjusted"][0] == pytest.approx(2 * both["p_value"][0])
    assert both["p_page"][0] == pytest.approx(min(1.0, 6 * both["p_adjusted"][0]))


def test_questions_that_flipped_with_both_answers(published: Workshop) -> None:
    published.with_prediction("poor", 1, cited_sentence_ids=["S1", "S2"], answer="better")
    published.with_prediction("poor", 2, cited_sentence_ids=["S1"], error="gone")
    published.with_prediction("good", 3, cited_sentence_ids=["S1"])
    published.run()
    found = since_first(published, metrics=METRICS[:1])
    columns = ("system", "question_id", "before", "now", "flipped", "answer_before", "answer_now")
    assert found.questions.select(columns).rows() == [
        # The longest change first; 0 to 1 is from the worst value to the best.
        ("poor", "q1", 0.0, 1.0, True, "odd", "better"),
        # One of two sentences: precision 1, recall 1/2.
        ("good", "q3", 1.0, pytest.approx(2 / 3), False, "even", "even"),
    ]
    assert since_first(published, "good", metrics=METRICS[:1]).questions.height == 1


@takes_minutes
def test_a_threshold_says_what_flips(published: Workshop) -> None:
    published.default_threshold = "source"
    threshold = 0.5
    published.with_prediction("good", 3, cited_sentence_ids=["S1"])
    published.with_prediction("good", 4, cited_sentence_ids=["S1", "S8", "S9", "S7"])
    published.run()
    copy = published.project.open_copy()
    sql = "UPDATE leaderboard SET threshold = $t WHERE evaluator = 'citation' AND metric = 'f1'"
    amend(copy.path.parent, sql, {"t": threshold}, 1.0)
    rows = since_first(published, metrics=METRICS[:1]).questions
    # F1 of 2/3 passes a threshold of 1/2, and 1/3 (one of two, with three wrong ones) does not.
    assert dict(rows.select("question_id", "flipped").iter_rows()) == {"q3": False, "q4": True}


@takes_minutes
def test_changed_questions_do_not_count(published: Workshop) -> None:
    improve(published, 0, 1, 2)
    published.with_question(0, gold_sentence_ids=["S1"])
    published.with_question(5, tags={"half": "third"})
    published.questions.append({"question_id": "q6", "question": "New?", "gold_doc_ids": ["d6"]})
    published.run()
    found = since_first(published, "poor", metrics=METRICS[:1])
    assert found.results["n_pairs"].to_list() == [5]
    assert "q0" not in set(found.questions["question_id"])
    (note,) = found.notes
    assert note.startswith("the questions have changed (1 changed, 1 new): differences are over")
    assert "the 5 that stayed the same" in note


@takes_minutes
def test_another_evaluator_is_not_comparable(published: Workshop) -> None:
    published.evaluators["document_retrieval"] = {"cutoffs": [2]}
    improve(published, 0)
    published.run()
    rows = since_first(published, metrics=("citation.f1", "document_retrieval.mrr")).results
    reasons = {(row["evaluator"], row["reason"], row["verdict"]) for row in rows.to_dicts()}
    assert ("document_retrieval", "the evaluator has changed", "not_comparable") in reasons
    assert {reason for name, reason, _ in reasons if name == "citation"} == {None}
    of_systems = since_first(published, metrics=("classification.f1",)).results
    assert set(of_systems["reason"]) == {"it has no score for each question"}


@takes_minutes
def test_systems_that_came_and_went(published: Workshop) -> None:
    published.predictions["other"] = published.predictions.pop("poor")
    published.run()
    found = since_first(published, metrics=METRICS[:1])
    assert found.results["system"].to_list() == ["good"]
    assert found.notes == ["'other' is new", "'poor' is gone"]


@takes_minutes
def test_scores_that_are_missing_are_said_to_be(published: Workshop) -> None:
    improve(published, 0)
    published.run()
    copy = published.project.open_copy()
    part = "DELETE FROM kept_scores WHERE question_id = 'q3'"
    amend(copy.path.parent, part, {}, 1.0)
    with pytest.raises(NotKept, match="is damaged: 5 of 6 rows of scores good"):
        since_first(published)
    for table in ("scores", "answers", "questions"):
        amend(copy.path.parent, f"DELETE FROM kept_{table}", {}, 1.0)
    with pytest.raises(NotKept, match=r"are not kept: `history` in scoreline\.yaml"):
        since_first(published)
    amend(copy.path.parent, "DELETE FROM publication_data", {}, 1.0)
    with pytest.raises(NotKept, match="an earlier version of Scoreline published it"):
        since_first(published)


@takes_minutes
def test_a_judge_that_changed_breaks_the_comparison(published: Workshop) -> None:
    published.run()
    copy = published.project.open_copy()
    sql = "UPDATE leaderboard SET signature = replace(signature, 'citation|', 'citation|judge:b|')"
    amend(copy.path.parent, sql, {}, 1.0)
    rows = since_first(published, metrics=METRICS[:1]).results
    assert set(rows["reason"]) == {"the judge has changed"}


@takes_minutes
def test_publications_are_found_by_tag_run_and_date(published: Workshop) -> None:
    copy = published.project.open_copy()
    only = list_publications(copy)[0].published_at
    with pytest.raises(UnknownPublication, match="there is only one publication"):
        find_publication(copy, f"{only:%Y-%m-%d}")
    improve(published, 0)
    published.run()
    now, first = list_publications(copy)
    assert first.run_id is not None
    assert find_publication(copy, first.run_id) == first
    assert find_publication(copy, first.run_id[:8]) == first
    for text in (
        first.published_at.isoformat(),
        f"{first.published_at:%Y-%m-%d %H:%M:%S}",
        # A day includes all of it, and the present publication is none to compare with.
        f"{now.published_at:%Y-%m-%d}",
    ):
        assert find_publication(copy, text) == first, text
    tag_publication(published.warehouse, copy.path.parent, first.published_at, "v1.2")
    assert find_publication(copy, "v1.2").run_id == first.run_id
    with pytest.raises(UnknownPublication, match=r"'v1\.3' \(did you mean 'v1\.2'\?\): expected"):
        find_publication(copy, "v1.3")
    with pytest.raises(UnknownPublication, match="no publication up to '2020-01-01': the first"):
        find_publication(copy, "2020-01-01")
    assert str(first) == f"{first.published_at:%Y-%m-%d %H:%M:%S} UTC"


def test_lost_scores_and_new_metrics_are_said_to_be(published: Workshop) -> None:
    published.evaluators["rouge"] = {}
    del published.evaluators["citation"]
    published.run()
    lost = 'UPDATE grades SET "values" = list_transform("values", x -> NULL::DOUBLE) '
    lost += "WHERE evaluator = 'document_retrieval' AND system = 'good' AND question_id = 'q3'"
    amend(published.project.open_copy().path.parent, lost, {}, 1.0)
    metrics = (METRICS[2], "rouge.rouge_1", "rouge.rouge_l")
    found = since_first(published, "good", metrics=metrics)
    (row,) = changed_rows(found).rows(named=True)
    assert (row["n_pairs"], row["n_lost"], row["n_gained"]) == (5, 1, 0)
    assert describe_flips(row) == "0 of 5 scores changed, 1 of 6 are lost"
    assert describe_change(row) == (
        "good, document_retrieval.mrr: no score of the 5 that exist then and now has changed. 5 "
        "of these questions have a score now, 6 then: 1 has one only then, which the difference "
        "leaves out."
    )
    new, gone = found.notes
    assert new == "no value then, so not compared: rouge.rouge_l, rouge.rouge_1"
    assert gone.startswith("no value now, so not compared: citation.")


@pytest.mark.parametrize(
    ("n_pairs", "said"),
    [
        (0, "not enough data: no question has a score then and now. 2 of these questions have a"),
        (3, "not enough data: 3 questions with scores then and now cannot show a significant"),
    ],
)
def test_one_system_is_not_two(n_pairs: int, said: str) -> None:
    row = {
        "system": "good",
        "metric": "citation.f1",
        "reason": None,
        "best": "high",
        "n_pairs": n_pairs,
        "difference": 0.1,
        "verdict": "not_enough_data",
        "n_lost": 0,
        "n_gained": 2,
        "questions": [{}, {}, {}],
    }
    assert describe_change(row).startswith(f"good, citation.f1: {said}")
    assert "system" not in describe_change(row)
