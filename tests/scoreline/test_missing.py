"""`missing`: systems that were asked different questions are ranked by common questions only."""

from __future__ import annotations

import random
from statistics import mean
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import scoreline
from tests.support.services import takes_minutes

LABELS = ("cat", "dog", "cow")
METRIC = ["slice", "evaluator", "metric"]


@scoreline.metric(bounds=(0, 9))
def points(answer: str) -> float:
    """The number that the answer states."""
    return float(answer)


def questions(count: int) -> list[dict[str, Any]]:
    return [
        {
            "question_id": f"q{n}",
            "expected_answer": f"the answer to {n}",
            "expected_label": LABELS[n % 3],
            "lang": "de" if n % 4 == 0 else "en",
        }
        for n in range(count)
    ]


def leaderboard(asked: list[dict[str, Any]], answers: Any, **keys: Any) -> pl.DataFrame:
    evaluators = keys.pop("evaluators", [points])
    return scoreline.evaluate(asked, answers, evaluators, **keys).leaderboard


def numbers(values: dict[str, dict[int, int]]) -> dict[str, list[dict[str, Any]]]:
    return {
        system: [{"question_id": f"q{n}", "answer": str(value)} for n, value in own.items()]
        for system, own in values.items()
    }


def test_means_ranks_and_counts_computed_by_hand() -> None:
    values = {
        "a": {0: 9, 1: 9, 2: 1, 3: 1},
        "b": {1: 8, 2: 2, 3: 2, 4: 0, 5: 0},
        "c": {0: 5, 1: 7, 2: 7},
    }
    found = leaderboard(questions(6), numbers(values), missing="not_asked").sort("system")
    columns = (
        "system mean n n_scored n_not_asked n_not_applicable n_common common_mean coverage rank"
    )
    assert found.select(columns.split()).rows() == [
        # Questions 1 and 2 are common to all.
        ("a", 5.0, 6, 4, 2, 2, 2, 5.0, 1.0, 2),
        ("b", 2.4, 6, 5, 1, 1, 2, 5.0, 1.0, 2),
        ("c", 19 / 3, 6, 3, 3, 3, 2, 7.0, 1.0, 1),
    ]
    scores = scoreline.evaluate(
        questions(6), numbers(values), [points], missing="not_asked"
    ).scores.filter(pl.col("value").is_null())
    assert set(scores.select("status", "reason").rows()) == {("not_applicable", "not asked")}
    assert scores.height == 6


@takes_minutes
def test_a_missing_answer_is_a_failure_unless_it_was_not_asked() -> None:
    values = {"a": {0: 1, 1: 1}, "b": {0: 1}}
    rouge = {"evaluators": ["rouge"]}
    answers = numbers(values)
    default = leaderboard(questions(2), answers, **rouge)
    assert default.equals(
        leaderboard(questions(2), answers, missing="failed", **rouge).with_columns(
            default["published_at"]
        )
    )
    failed = default.filter(pl.col("system") == "b").row(0, named=True)
    assert (failed["n_target_error"], failed["n_not_asked"], failed["n_common"]) == (1, 0, 2)
    by_system = {"default": "failed", "b": "not_asked"}
    mixed = leaderboard(questions(3), answers, missing=by_system, **rouge)
    assert set(mixed.select("system", "n_target_error", "n_not_asked").rows()) == {
        ("a", 1, 0),
        ("b", 0, 2),
    }


def test_without_common_questions_there_is_no_rank() -> None:
    found = leaderboard(
        questions(4), numbers({"a": {0: 1, 1: 2}, "b": {2: 3, 3: 4}}), missing="not_asked"
    )
    assert set(found.select("mean", "n_common", "common_mean", "rank", "rank_low").rows()) == {
        (1.5, 0, None, None, None),
        (3.5, 0, None, None, None),
    }


@takes_minutes
@pytest.mark.parametrize(
    "seed", [0, pytest.param(1, marks=takes_minutes), pytest.param(2, marks=takes_minutes)]
)
def test_ranks_are_those_of_an_evaluation_of_the_common_questions(seed: int) -> None:
    """Also for metrics of a whole system, and on slices."""
    chosen = random.Random(seed)
    asked = questions(24)
    answers = {}
    for number, system in enumerate("abc"):
        skill = 0.3 + 0.2 * number
        answers[system] = [
            {
                "question_id": row["question_id"],
                "answer": row["expected_answer"] if chosen.random() < skill else "not known",
                "label": row["expected_label"] if chosen.random() < skill else "dog",
            }
            for row in asked
            if chosen.random() < 0.8
        ]
    sliced: dict[str, Any] = {"tags": ["lang"], "slices": ["lang"]}
    keys: dict[str, Any] = {"evaluators": ["rouge", "classification"], **sliced}
    key = [*METRIC, "system"]
    found = leaderboard(asked, answers, missing="not_asked", **keys).sort(key)
    given = [{row["question_id"] for row in own} for own in answers.values()]
    common = set.intersection(*given)
    only_common = leaderboard(
        [row for row in asked if row["question_id"] in common],
        {
            name: [row for row in own if row["question_id"] in common]
            for name, own in answers.items()
        },
        **keys,
    ).sort(key)
    assert found["rank"].to_list() == only_common["rank"].to_list()
    assert found["n_common"].to_list() == only_common["n"].to_list()
    assert found["common_mean"].to_list() == pytest.approx(only_common["mean"].to_list())
    # Stored comparisons are those with the first by the common questions.
    stored = scoreline.evaluate(
        asked, answers, keys["evaluators"], missing="not_asked", **sliced
    ).comparisons.filter(pl.col("slice") != "all", pl.col("metric").is_in(["rouge_1", "rouge_2"]))
    first = dict(
        found.filter(pl.col("rank") == 1)
        .sort(key)
        .group_by(METRIC, maintain_order=True)
        .first()
        .select(pl.concat_list(METRIC).list.join("/"), "system")
        .iter_rows()
    )
    assert stored.height
    for row in stored.iter_rows(named=True):
        best = first.get("/".join(row[name] for name in METRIC))
        assert best in {None, row["system_a"], row["system_b"]}, row
    # Means and intervals are those of each system alone, on its own questions.
    for system, own in answers.items():
        ids = {row["question_id"] for row in own}
        alone = leaderboard(
            [row for row in asked if row["question_id"] in ids], {system: own}, **keys
        ).sort(key)
        same = found.filter(pl.col("system") == system)
        for column in ("mean", "ci_low", "ci_high", "n_scored", "coverage", "n_clusters"):
            assert same[column].to_list() == alone[column].to_list(), column


SCORES = st.dictionaries(st.integers(0, 7), st.integers(0, 8), min_size=2, max_size=8)


@takes_minutes
@settings(max_examples=10, deadline=None)
@given(st.lists(SCORES, min_size=2, max_size=4), st.data())
def test_questions_that_a_system_was_not_asked_never_count(
    drawn: list[dict[int, int]], data: st.DataObject
) -> None:
    values = dict(zip("abcd", drawn, strict=False))

    def board(values: dict[str, dict[int, int]]) -> dict[str, dict[str, Any]]:
        rows = leaderboard(questions(9), numbers(values), missing="not_asked")
        return {row["system"]: row for row in rows.iter_rows(named=True)}

    def rank(values: dict[str, dict[int, int]], system: str) -> int | None:
        common = set.intersection(*map(set, values.values()))
        if not common:
            return None
        means = {name: mean(own[n] for n in common) for name, own in values.items()}
        return 1 + sum(each > means[system] for each in means.values())

    before = board(values)
    for system, own in values.items():
        assert before[system]["mean"] == pytest.approx(mean(own.values()))
        assert before[system]["rank"] == rank(values, system)
    chosen = data.draw(st.sampled_from(sorted(values)))
    # A question that the system was not asked, and all others were.
    more = {name: own | ({8: 9} if name != chosen else {}) for name, own in values.items()}
    after = board(more)[chosen]
    assert (after["mean"], after["rank"]) == (before[chosen]["mean"], before[chosen]["rank"])
    # The system leaves out its hardest question.
    hardest = min(values[chosen], key=lambda n: values[chosen][n])
    fewer = values | {chosen: {n: v for n, v in values[chosen].items() if n != hardest}}
    assert board(fewer)[chosen]["rank"] == rank(fewer, chosen)


@takes_minutes
def test_a_frame_of_ragas_with_systems_that_answered_different_questions() -> None:
    pandas = pytest.importorskip("pandas")
    rows = [
        {
            "user_input": f"What is {n}?",
            "retrieved_contexts": [f"It is {n}."],
            "response": f"It is {n}." if n % 8 < system + 1 else "No idea.",
            "reference": f"It is {n}.",
            "faithfulness": 0.5,
            "system": f"v{system}",
        }
        for system in range(8)
        for n in reversed(range(40))
        if n < 16 or n % 8 != system
    ]
    frame = pandas.DataFrame(rows)

    results = scoreline.evaluate(None, frame, ["rouge"], missing="not_asked")
    board = results.leaderboard.filter(pl.col("metric") == "rouge_l")

    # Each system lacks three questions, and all share the first sixteen: of these, version k
    # answers k + 1 of 8.
    assert board["system"].to_list() == [f"v{system}" for system in reversed(range(8))]
    assert board["common_mean"].to_list() == pytest.approx([(8 - n) / 8 for n in range(8)])
    assert set(board.select("n", "n_not_asked", "n_common").rows()) == {(40, 3, 16)}
    assert board["rank"].to_list() == list(range(1, 9))
    assert any("was not asked 3 questions" in note for note in results.notes)
    again = scoreline.evaluate(frame, frame, ["rouge"], missing="not_asked").leaderboard
    assert again.drop("published_at").equals(results.leaderboard.drop("published_at"))
    by_system = {str(name): rows for name, rows in frame.groupby("system")}
    asked = frame[["user_input", "reference"]].drop_duplicates()
    parts = scoreline.evaluate(asked, by_system, ["rouge"], missing="not_asked").leaderboard
    assert parts["common_mean"].to_list() == results.leaderboard["common_mean"].to_list()


@pytest.mark.parametrize(
    ("asked", "answers", "said"),
    [
        (
            None,
            [
                {"system": "a", "question": "Why?", "reference": "So."},
                {"system": "b", "question": "Why?", "reference": "Thus."},
            ],
            r"questions\[1\]: the question differs from questions\[0\] in expected_answer",
        ),
        (
            [{"question": "Why?"}],
            [{"system": "a", "query": "How?", "answer": "So."}],
            r"predictions\[0\]: there is no question with the text 'How\?'",
        ),
        (
            [{"question_id": "1", "question": "Why?"}, {"question_id": "2", "question": "Why?"}],
            [{"system": "a", "question": "Why?", "answer": "So."}],
            r"predictions\[0\]: several questions have the text 'Why\?'",
        ),
        (
            [{"question": "Why?"}],
            [{"system": "a", "question": "Why?", "answer": text} for text in "xy"],
            r"predictions\[1\]: a second prediction of 'a' for question 'q001'",
        ),
        (None, {"a": "a.jsonl"}, r"^a\.jsonl: no such file"),
    ],
)
def test_texts_that_identify_no_question_are_named(asked: Any, answers: Any, said: str) -> None:
    with pytest.raises(scoreline.ScorelineError, match=said):
        scoreline.evaluate(asked, answers, ["rouge"])


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("not_askd", "missing"),
        ({"b": "not_asked"}, "`missing` names the system 'b', which has no answers; known: 'a'"),
    ],
)
def test_a_wrong_missing_is_an_error(missing: Any, said: str) -> None:
    with pytest.raises(scoreline.ScorelineError, match=said):
        leaderboard(questions(1), numbers({"a": {0: 1}}), missing=missing)


def test_questions_that_were_not_asked_are_no_problem() -> None:
    values = {"a": {0: 1, 1: 1, 2: 3}, "b": {0: 1}}

    def kinds(missing: str) -> set[str]:
        found = scoreline.evaluate(questions(3), numbers(values), ["rouge"], missing=missing)
        return set(found.problems.filter(pl.col("system") == "b")["kind"])

    assert "failed_answers" in kinds("failed")
    assert "failed_answers" not in kinds("not_asked")


def test_a_system_without_any_answer_is_a_severe_problem() -> None:
    answers = [{"question_id": f"q{number}", "error": "no connection"} for number in range(3)]
    found = scoreline.evaluate(
        questions(3),
        {"dead": answers, "ill": [*answers[:2], {"question_id": "q2", "answer": "2"}]},
        ["rouge"],
    )
    failed = found.problems.filter(pl.col("kind") == "failed_answers").sort("system")
    assert failed.select("system", "severity").rows() == [("dead", "high"), ("ill", "medium")]
