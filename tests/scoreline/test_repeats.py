"""Several answers to a question: what is measured, against single answers with the same means."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import scoreline
from assets.scoring import refresh
from evaluators.outcome import ParseFailure
from scoreline import ScorelineError
from tests.support.services import takes_minutes

REPEATS = 3
SYSTEMS = ("a", "b", "c")
LABELS = ("cat", "dog", "cow")


@scoreline.metric(bounds=(0, 9))
def points(answer: str) -> float:
    """The number that the answer states."""
    return float(answer)


@scoreline.metric
def right(answer: str, expected_answer: str) -> bool:
    """Whether the answer is the expected one."""
    return answer == expected_answer


def questions(count: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{n}",
            "expected_answer": "9",
            "expected_label": LABELS[n % 3],
            "lang": "de" if n % 4 == 0 else "en",
        }
        for n in range(count)
    ]


def answers(count: int, seed: int = 1) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {
            "system": system,
            "question_id": f"q{n}",
            "repeat": repeat,
            "answer": str(draw.randint(0, 9)),
            "label": draw.choice(LABELS),
        }
        for system in SYSTEMS
        for n in range(count)
        for repeat in range(REPEATS)
    ]


def test_the_leaderboard_is_that_of_the_means_of_the_questions() -> None:
    """Intervals, ranks and comparisons rest on questions: answers to one are no new questions."""
    given = answers(20)
    means = (
        pl.DataFrame(given)
        .group_by("system", "question_id")
        .agg(pl.col("answer").cast(pl.Float64).mean().cast(pl.String))
        .to_dicts()
    )
    several, single = (
        scoreline.evaluate(questions(20), each, [points], slices=["lang"], tags=["lang"])
        for each in (given, means)
    )
    for table in ("leaderboard", "comparisons"):
        found, expected = (
            getattr(each, table).drop("published_at", strict=False).sort(pl.all())
            for each in (several, single)
        )
        assert_frame_equal(found, expected, rel_tol=1e-9)
    assert several.leaderboard["n"].max() == 20


@takes_minutes
def test_many_answers_are_combined_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    given = answers(20)
    at_once = scoreline.evaluate(questions(20), given, [right])
    monkeypatch.setattr(refresh, "AVERAGED_ANSWERS", 40)
    in_parts = scoreline.evaluate(questions(20), given, [right])
    columns = ("system", "question_id", "metric", "value", "detail")
    found, expected = (each.scores.select(columns).sort(pl.all()) for each in (in_parts, at_once))
    assert found.height == 3 * 20 * 5
    assert_frame_equal(found, expected)


def test_pass_rates_have_rows_of_their_own() -> None:
    given = [
        {"system": "a", "question_id": f"q{n}", "repeat": repeat, "answer": str(9 * (repeat < n))}
        for n in range(4)
        for repeat in range(REPEATS)
    ]
    # 0, 1, 2 and 3 of 3 answers are right.
    results = scoreline.evaluate(questions(4), given, [right])
    means = dict(
        results.leaderboard.filter(pl.col("slice") == "all").select("metric", "mean").iter_rows()
    )
    assert means == {
        "right": pytest.approx(6 / 12),
        "right_pass_at_2": pytest.approx((0 + 2 / 3 + 1 + 1) / 4),
        "right_pass_hat_2": pytest.approx((0 + 0 + 1 / 3 + 1) / 4),
        "right_pass_at_3": 3 / 4,
        "right_pass_hat_3": 1 / 4,
    }
    (row,) = results.scores.filter(question_id="q2", metric="right_pass_hat_2").to_dicts()
    assert row["value"] == pytest.approx(1 / 3)
    gate = results.gate(system="a", metric="right.right_pass_at_3", min=0.5)
    assert gate.value == 3 / 4


def test_metrics_of_whole_systems_count_every_answer() -> None:
    given = answers(9)
    asked = questions(9)
    apart = [
        {**question, "question_id": f"{question['question_id']}-{repeat}"}
        for question in asked
        for repeat in range(REPEATS)
    ]
    alone = [
        {**each, "question_id": f"{each['question_id']}-{each['repeat']}", "repeat": 0}
        for each in given
    ]
    together, expected = (
        {
            (row["system"], row["metric"]): row
            for row in scoreline.evaluate(*each, ["classification"]).leaderboard.to_dicts()
        }
        for each in ((asked, given), (apart, alone))
    )
    for metric in ("f1", "micro_f1", "weighted_precision"):
        for system in SYSTEMS:
            found, whole = together[system, metric], expected[system, metric]
            assert found["mean"] == pytest.approx(whole["mean"], rel=1e-12)
            assert found["n"] == whole["n"] == 27
            assert found["n_clusters"] == 9


def test_a_system_answers_every_question_as_often_as_any_other() -> None:
    """Leaving out the worst answer to a question does not pay."""
    given = [each for each in answers(4) if (each["question_id"], each["repeat"]) != ("q1", 2)]
    results = scoreline.evaluate(questions(4), given, [points])
    rows = results.scores.filter(question_id="q1").to_dicts()
    for row in rows:
        own = [
            float(each["answer"])
            for each in given
            if (each["system"], each["question_id"]) == (row["system"], "q1")
        ]
        assert len(own) == 2
        assert row["value"] == pytest.approx(sum(own) / 3)
        assert row["reason"] == "of 3 answers 1 target_error"


def test_answers_are_not_numbered_from_one() -> None:
    given = [{**each, "repeat": each["repeat"] + 1} for each in answers(3)]
    with pytest.raises(ScorelineError, match=r"predictions of 'a': 'repeat' is never 0"):
        scoreline.evaluate(questions(3), given, [points])


def test_failed_answers_are_counted_as_answers() -> None:
    given = [
        {**each, "error": "no connection"} if each["question_id"] == "q1" else each
        for each in answers(4)
        if each["system"] == "a"
    ]
    problems = scoreline.evaluate(questions(4), given, [points]).problems
    (said,) = problems.filter(kind="failed_answers")["message"]
    assert said == "a gave no answer 3 of 12 times"


def test_a_question_of_which_some_answers_failed_is_counted() -> None:
    """Three of four answers fail on q0; on q1 all; on q2 none."""
    failing = {"q0": {1, 2, 3}, "q1": {0, 1, 2, 3}, "q2": set()}
    given = [
        {
            "system": "a",
            "question_id": name,
            "repeat": repeat,
            **({"error": "down"} if repeat in failing[name] else {"answer": "9"}),
        }
        for name in failing
        for repeat in range(4)
    ]
    results = scoreline.evaluate(questions(3), given, [right], slices=["lang"], tags=["lang"])
    for row in results.leaderboard.to_dicts():
        # q0 has the tag `de`; the others `en`.
        assert row["n_target_error"] == {"all": 2, "lang=de": 1, "lang=en": 1}[row["slice"]]
        assert row["n_scored"] == row["n"]
    (row,) = results.leaderboard.filter(metric="right", slice="all").to_dicts()
    assert row["mean"] == pytest.approx((1 / 4 + 0 + 1) / 3)
    # A failure of the system is no failure of the judge: its value is known.
    assert (row["bound_low"], row["bound_high"]) == (pytest.approx(row["mean"]),) * 2


def test_bounds_follow_answers_that_the_judge_could_not_judge() -> None:
    class Judging(scoreline.RowEvaluator):
        """Passes `9`, fails `0`, and cannot judge anything else."""

        metrics = (
            scoreline.Metric(name="ok", summary="Is it right?", primary=True, pass_fail=True),
        )
        reads = frozenset({"answer"})

        def grade(self, sample: Any) -> dict[str, Any]:
            if sample.answer not in {"0", "9"}:
                return {"ok": ParseFailure("no verdict")}
            return {"ok": float(sample.answer == "9")}

    texts = {"q0": "9???", "q1": "90?9", "q2": "????"}
    given = [
        {"system": "a", "question_id": name, "repeat": repeat, "answer": text[repeat]}
        for name, text in texts.items()
        for repeat in range(4)
    ]
    board = scoreline.evaluate(questions(3), given, [Judging]).leaderboard
    found = {row["metric"]: row for row in board.to_dicts()}
    row = found["ok"]
    assert (row["n_scored"], row["n_parse_failure"], row["n_target_error"]) == (2, 1, 0)
    assert row["mean"] == pytest.approx((1 + 2 / 3) / 2)
    # With all lost answers: 1, 2 and 0 of 4 pass, or 4, 3 and 4.
    assert row["bound_low"] == pytest.approx((1 / 4 + 2 / 4 + 0) / 3)
    assert row["bound_high"] == pytest.approx((4 / 4 + 3 / 4 + 4 / 4) / 3)
    # One answer of q0 is judged: three more verdicts are lost.
    row = found["ok_pass_hat_2"]
    assert (row["n_scored"], row["n_parse_failure"], row["n_undefined"]) == (1, 2, 0)
    assert row["mean"] == pytest.approx(1 / 3)  # q1: one pair of three
    assert row["bound_low"] == pytest.approx((1 / 6 + 0 + 0) / 3)
    assert row["bound_high"] == pytest.approx((3 / 6 + 1 + 1) / 3)


def test_a_mean_that_equals_its_threshold_passes() -> None:
    """One and two of three answers are right: 1/3 + 2/3 + 1/3 + 2/3 is less than 2 in floats."""
    given = [
        {"system": "a", "question_id": f"q{n}", "repeat": each, "answer": str(9 * (each <= n % 2))}
        for n in range(4)
        for each in range(REPEATS)
    ]
    results = scoreline.evaluate(questions(4), given, [right], thresholds={"right.right": 0.5})
    (row,) = results.leaderboard.filter(metric="right").to_dicts()
    assert row["mean"] < 0.5
    assert row["passes"] == 1
    assert results.problems.filter(kind="below_threshold").is_empty()


def test_a_failed_answer_leaves_no_mean_without_a_worst_value() -> None:
    """As where questions have one answer: a mean of the others would reward the failure."""

    @scoreline.metric(bounds=(0, float("inf")), best="low")
    def delay(answer: str) -> float:
        """The number that the answer states."""
        return float(answer)

    given = answers(4)
    lost = next(each for each in given if each["system"] == "a")
    lost["error"] = "no connection"
    results = scoreline.evaluate(questions(4), given, [delay])
    board = {row["system"]: row for row in results.leaderboard.to_dicts()}
    assert (board["a"]["mean"], board["a"]["rank"], board["a"]["n_target_error"]) == (None, None, 1)
    assert {board["b"]["rank"], board["c"]["rank"]} == {1, 2}
    assert board["b"]["mean"] is not None


def test_one_answer_that_is_cut_is_a_problem() -> None:
    class Cutting(scoreline.RowEvaluator):
        """Reads the first character only."""

        metrics = (scoreline.Metric(name="first", summary="The first digit.", primary=True),)
        reads = frozenset({"answer"})

        def grade(self, sample: Any) -> scoreline.Graded:
            return scoreline.Graded({"first": 1.0}, detail={"truncated": len(sample.answer) > 1})

    given = [{**each, "answer": "10" if each["repeat"] else "1"} for each in answers(2)]
    problems = scoreline.evaluate(questions(2), given, [Cutting()]).problems
    found = problems.filter(kind="truncated_text").select("system", "question_id").rows()
    assert sorted(found) == [(system, f"q{n}") for system in SYSTEMS for n in range(2)]


def test_the_least_grounded_sentence_is_one_of_several_answers() -> None:
    class Grounds(scoreline.RowEvaluator):
        """A tenth of the number that the answer states; the answer is its weakest sentence."""

        metrics = (scoreline.Metric(name="grounds", summary="How well grounded.", primary=True),)
        reads = frozenset({"answer"})

        def grade(self, sample: Any) -> scoreline.Graded:
            value = float(sample.answer or 0) / 10
            return scoreline.Graded(
                {"grounds": value}, {"least_grounded": f"It is {sample.answer}."}
            )

    given = answers(20)
    given[7]["answer"] = "-0"  # the second answer of the first system to the third question
    lowest = [row for row in given if row["answer"] == "0" and row is not given[7]]
    for row in lowest:
        row["answer"] = "1"
    results = scoreline.evaluate(questions(20), given, [Grounds])
    found = results.sql("SELECT * FROM insights WHERE kind = 'least_grounded_sentence'")
    (found,) = found.rows(named=True)
    assert (found["system"], found["question_id"], found["value"]) == ("a", "q2", 0.0)
    assert found["message"].endswith("is one of a on question q2 (answer 2): It is -0.")


def test_systems_may_answer_differently_often() -> None:
    given = [each for each in answers(5) if each["system"] != "b" or each["repeat"] == 0]
    board = scoreline.evaluate(questions(5), given, [right]).leaderboard
    found = {(row["system"], row["metric"]): row for row in board.to_dicts()}
    assert found["b", "right"]["n_scored"] == 5
    rate = found["b", "right_pass_at_2"]
    assert (rate["mean"], rate["n_undefined"], rate["rank"]) == (None, 5, None)
    assert found["a", "right_pass_at_2"]["n_scored"] == 5


@pytest.mark.parametrize(("fewest", "rates"), [(1, []), (2, [2]), (3, [2, 3])])
def test_pass_rates_end_at_the_smallest_number_of_answers(fewest: int, rates: list[int]) -> None:
    given = [each for each in answers(5) if each["question_id"] != "q1" or each["repeat"] < fewest]
    given[0]["error"] = "timeout"
    found = scoreline.evaluate(questions(5), given, [right], missing="not_asked")
    names = {f"right_{kind}_{k}" for k in rates for kind in ("pass_at", "pass_hat")}
    assert set(found.leaderboard["metric"]) == {"right", *names}
    assert set(found.scores["metric"]) == {"right", *names}
    assert set(found.leaderboard["n_scored"]) == {5}


def test_an_answer_without_a_number_of_its_own_is_refused() -> None:
    given = [{"system": "a", "question_id": "q0", "answer": str(n)} for n in range(2)]
    with pytest.raises(ScorelineError, match="numbered from 0 by the field 'repeat'"):
        scoreline.evaluate(questions(1), given, [points])


@pytest.mark.parametrize("repeat", [-1, 1.5, "x", 1000])
def test_a_repeat_is_a_small_whole_number(repeat: object) -> None:
    given = [{"system": "a", "question_id": "q0", "answer": "1", "repeat": repeat}]
    with pytest.raises(ScorelineError, match="repeat"):
        scoreline.evaluate(questions(1), given, [points])
