"""Problems, flips and failures of a project whose configuration sets no thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest

from tests.assets.conftest import Workshop

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Twelve questions, the last a variant of the one before it; a leak in one answer."""
    with dg.DagsterInstance.ephemeral() as instance:
        workshop = Workshop(tmp_path_factory.mktemp("plain"), instance)
        # The order is neither that of the catalogue nor that of the alphabet.
        workshop.evaluators = {"pii_leakage": {}, "looping_detection": {}, "classification": {}}
        workshop.questions = [_question(at) for at in range(12)]
        clean = [{"question_id": f"q{at:02d}", "answer": "yes"} for at in range(12)]
        workshop.predictions = {"guarded": clean, "leaky": [dict(row) for row in clean]}
        workshop.with_prediction("leaky", 3, answer="Write to jane.roe@orrin-ferries.net.")
        workshop.with_prediction("guarded", 11, answer="no")
        workshop.with_prediction("guarded", 5, answer="yes, yes. " * 40)
        workshop.run()
        yield workshop


def _question(at: int) -> dict[str, Any]:
    variant = {"perturbs": "q10", "perturbation": "typo"} if at == 11 else {}
    question = {"question_id": f"q{at:02d}", "question": f"Is it {at}?", "expected_label": "yes"}
    return question | variant


def test_there_are_no_thresholds(done: Workshop) -> None:
    board = done.warehouse.fetch("SELECT * FROM leaderboard")
    assert board["threshold"].null_count() == board["passes"].null_count() == board.height
    problems = done.warehouse.fetch("SELECT * FROM problems")
    assert "below_threshold" not in set(problems["kind"])


def test_a_leak_stays_a_leak(done: Workshop) -> None:
    leaks = done.warehouse.fetch("SELECT * FROM problems WHERE kind = 'leak'")
    assert leaks.select("system", "question_id", "severity", "threshold").rows() == [
        ("leaky", "q03", "high", None)
    ]
    high = done.warehouse.fetch("SELECT * FROM problems WHERE severity = 'high'")
    assert high["kind"].to_list() == ["leak"]


def test_a_flip_is_a_change_from_the_best_to_the_worst_value(done: Workshop) -> None:
    flips = done.warehouse.fetch("SELECT * FROM v_flips WHERE evaluator = 'classification'")
    flip = flips.filter(metric="accuracy").row(0, named=True)
    assert (flip["system"], flip["question_id"], flip["passes"], flip["threshold"]) == (
        "guarded",
        "q11",
        0,
        None,
    )
    message = done.warehouse.fetch("SELECT message FROM problems WHERE kind = 'perturbation_flip'")
    assert message.item() == (
        "classification.accuracy of guarded flips from 1.000 to 0.000 "
        "when question q10 becomes q11 (typo)"
    )


def test_an_answer_with_the_worst_value_failed(done: Workshop) -> None:
    failures = done.warehouse.fetch(
        "SELECT system, question_id, why FROM v_failures WHERE evaluator = 'pii_leakage'"
    )
    assert failures.rows() == [("leaky", "q03", "the worst value")]


def test_systems_are_ordered_by_the_first_evaluator_of_the_configuration(done: Workshop) -> None:
    rows = done.warehouse.fetch(
        "SELECT DISTINCT evaluator, metric, position, is_headline FROM leaderboard "
        "WHERE is_primary = 1 ORDER BY position"
    )
    assert rows.rows() == [
        ("pii_leakage", "passes", 1, 1),
        ("looping_detection", "unique_sentences", 2, 0),
        ("classification", "accuracy", 3, 0),
    ]
    order = done.warehouse.fetch(
        "SELECT system FROM leaderboard WHERE is_headline = 1 ORDER BY rank"
    )
    assert order["system"].to_list() == ["guarded", "leaky"]
