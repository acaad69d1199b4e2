"""`pairwise_judge` through `evaluate`, with a judge on loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import scoreline
from evaluators.statistics.pairwise.bradley_terry import fit_strengths
from evaluators.statistics.pairwise.existence import ALL_TIES
from evaluators.statistics.pairwise.win_matrix import Comparisons
from tests.support.judge_server import JudgeServer, Reply
from tests.support.pairwise_systems import (
    LEVELS,
    QUESTIONS,
    answers,
    counts,
    expected_outcomes,
    honest,
)
from tests.support.pairwise_systems import said as verdict
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from scoreline import Results

ANSWERED = {system: answers(system) for system in LEVELS}


@pytest.fixture(scope="module")
def shared_server() -> Iterator[JudgeServer]:
    with JudgeServer(honest) as running:
        yield running


@pytest.fixture
def server(shared_server: JudgeServer) -> JudgeServer:
    shared_server.script = honest
    shared_server.requests.clear()
    return shared_server


def evaluate(
    server: JudgeServer,
    answered: Mapping[str, list[dict[str, Any]]],
    ledger: Path | None = None,
    **options: Any,
) -> Results:
    judge = {"model": "openai/a-judge", "api_base": server.url, "max_attempts": 1}
    questions = [
        {
            "question_id": f"q{number}",
            "question": f"What about {number}?",
            "tags": {"half": "odd" if number % 2 else "even"},
        }
        for number in range(QUESTIONS)
    ]
    given = {"pairwise_judge": options.pop("parameters", {})}
    return scoreline.evaluate(questions, answered, [given], judge=judge, ledger=ledger, **options)


def pairwise(results: Results) -> dict[tuple[str, str], tuple[int, ...]]:
    rows = results.sql("SELECT system_a, system_b, wins_a, wins_b, ties FROM pairwise").rows()
    return {(one, other): tuple(numbers) for one, other, *numbers in rows}


def means(results: Results, metric: str, slice_: str = "all") -> dict[str, float | None]:
    rows = results.leaderboard.filter(metric=metric, slice=slice_)
    return dict(rows.select("system", "mean").rows())


def test_win_rates_pairs_and_strengths(server: JudgeServer) -> None:
    results = evaluate(server, ANSWERED, slices=["half"])
    expected = expected_outcomes(ANSWERED)
    assert len(server.requests) == 2 * 3 * QUESTIONS
    assert pairwise(results) == {pair: counts(each) for pair, each in expected.items()}
    row = results.scores.filter(metric="win_rate", system="good", question_id="q0").row(
        0, named=True
    )
    comparisons = json.loads(row["detail"])["comparisons"]
    assert [each["opponent"] for each in comparisons] == ["fair", "weak"]
    assert row["value"] == np.mean([each["outcome"] for each in comparisons])
    for system, rate in means(results, "win_rate").items():
        own = [
            np.mean(each) if one == system else 1 - np.mean(each)
            for (one, other), each in expected.items()
            if system in {one, other}
        ]
        assert rate == pytest.approx(np.mean(own))
    assert set(means(results, "order_bias").values()) == {0.0}
    for slice_, questions in (("all", slice(None)), ("half=odd", slice(1, None, 2))):
        strengths = _strengths(expected, questions)
        assert means(results, "strength", slice_) == pytest.approx(strengths)
    rows = results.leaderboard.filter(metric="strength", slice="all").rows(named=True)
    assert {row["system"]: row["rank"] for row in rows} == {"good": 1, "fair": 2, "weak": 3}
    assert all(row["ci_low"] < row["mean"] < row["ci_high"] for row in rows)
    assert {row["n_scored"] for row in rows} == {QUESTIONS}
    strengths = _strengths(expected, slice(None))
    compared = results.comparisons.filter(metric="strength", slice="all").rows(named=True)
    assert compared
    for row in compared:
        gap = strengths[row["system_a"]] - strengths[row["system_b"]]
        assert row["difference"] == pytest.approx(gap)
        assert row["ci_low"] < gap < row["ci_high"]


def _strengths(expected: Mapping[Any, list[float]], questions: slice) -> dict[str, float]:
    systems = sorted(LEVELS)
    rows = [
        (systems.index(one), systems.index(other), value)
        for (one, other), each in expected.items()
        for value in each[questions]
    ]
    one, other, outcomes = map(np.array, zip(*rows, strict=True))
    values = fit_strengths(Comparisons(one, other, outcomes), len(systems)).values
    return dict(zip(systems, values.tolist(), strict=True))


@takes_minutes
def test_a_new_system_only_pays_for_its_own_comparisons(
    server: JudgeServer, tmp_path: Path
) -> None:
    answered = {f"s{number}": answers(f"s{number}") for number in range(8)}
    options = {"parameters": {"opponents": 2}, "ledger": tmp_path / "ledger.sqlite"}
    evaluate(server, answered, **options)
    assert len(server.requests) == 8 * 2 * QUESTIONS
    results = evaluate(server, {**answered, "new": answers("new")}, **options)
    # On each question it meets two neighbours, who no longer meet each other.
    assert len(server.requests) == (8 + 2) * 2 * QUESTIONS
    assert sum(map(sum, pairwise(results).values())) == 9 * QUESTIONS


def test_a_failed_answer_loses_and_two_are_not_compared(server: JudgeServer) -> None:
    answered = {system: list(rows) for system, rows in ANSWERED.items()}
    answered["good"][0] = {"question_id": "q0", "error": "timeout"}
    answered["good"][1] = {"question_id": "q1", "error": "timeout"}
    answered["fair"][1] = {"question_id": "q1", "error": "down"}
    results = evaluate(server, answered)
    rows = results.scores.filter(metric="win_rate")
    found = {
        (row["question_id"], row["system"]): (row["value"], row["reason"])
        for row in rows.iter_rows(named=True)
    }
    assert found["q0", "good"] == found["q1", "good"] == (0.0, "target_error")
    assert found["q1", "fair"] == (0.0, "target_error")
    assert found["q1", "weak"] == (1.0, None)
    numbers = pairwise(results)
    assert sum(numbers["fair", "good"]) == QUESTIONS - 1
    assert sum(numbers["fair", "weak"]) == sum(numbers["good", "weak"]) == QUESTIONS
    # Failed answers are not sent to the judge.
    assert len(server.requests) == 2 * (3 * QUESTIONS - 2 - 3)
    (strength,) = results.leaderboard.filter(metric="strength", system="good").rows(named=True)
    assert (strength["n_scored"], strength["n_target_error"]) == (QUESTIONS, 2)
    assert strength["mean"] < _strengths(expected_outcomes(ANSWERED), slice(None))["good"]


def test_a_reply_that_cannot_be_parsed_costs_one_comparison(server: JudgeServer) -> None:
    """On q0, `good` against `weak` is not usable, nor `fair` against `weak`."""

    def script(request: Mapping[str, Any]) -> Reply:
        said = str(request["messages"])  # the request for a repair follows the texts
        is_broken = "What about 0?" in said and "(weak)" in said
        return Reply(content="no idea") if is_broken else honest(request)

    server.script = script
    results = evaluate(server, ANSWERED)
    expected = expected_outcomes(ANSWERED)
    assert pairwise(results) == {
        pair: counts(each[1:] if "weak" in pair else each) for pair, each in expected.items()
    }
    rows = results.scores.filter(metric="win_rate", question_id="q0").rows(named=True)
    found = {row["system"]: (row["value"], row["status"], row["reason"]) for row in rows}
    outcome, reason = expected["fair", "good"][0], "1 of 2 comparisons without a usable verdict"
    assert found["fair"] == (outcome, "scored", reason)
    assert found["good"] == (1 - outcome, "scored", reason)
    assert found["weak"][:2] == (None, "parse_failure")
    used = {pair: each[1:] if "weak" in pair else each for pair, each in expected.items()}
    assert means(results, "strength") == pytest.approx(_strengths(used, slice(None)))
    board = results.leaderboard.filter(metric="win_rate").rows(named=True)
    assert {row["system"]: (row["n_scored"], row["n_parse_failure"]) for row in board} == {
        "good": (QUESTIONS, 0),
        "fair": (QUESTIONS, 0),
        "weak": (QUESTIONS - 1, 1),
    }


@takes_minutes
def test_a_judge_that_is_down_for_one_system_leaves_the_other_pairs(server: JudgeServer) -> None:
    """Every call about `weak` fails: all samples wait, but the other two systems are compared."""
    server.script = lambda request: (
        Reply(status=400, content="no") if "(weak)" in str(request) else honest(request)
    )
    results = evaluate(server, ANSWERED)
    expected = expected_outcomes(ANSWERED)["fair", "good"]
    assert pairwise(results) == {("fair", "good"): counts(expected)}
    assert set(results.scores.filter(metric="win_rate")["status"]) == {"judge_error"}
    assert means(results, "strength")["good"] == pytest.approx(
        _strengths({("fair", "good"): expected}, slice(None))["good"]
    )


@takes_minutes
def test_a_judge_that_looks_at_the_position_only(server: JudgeServer) -> None:
    server.script = lambda _: verdict("first")
    results = evaluate(server, ANSWERED)
    assert set(means(results, "win_rate").values()) == {0.5}
    assert set(means(results, "order_bias").values()) == {1.0}
    assert set(means(results, "strength").values()) == {None}
    stored = results.sql("SELECT DISTINCT status, reason FROM system_scores").rows()
    assert stored == [("undefined", ALL_TIES)]
    judged = results.sql(
        "SELECT DISTINCT n_judged, n_changed, prefers_first, prefers_second, ties FROM pairwise"
    ).rows()
    assert judged == [(QUESTIONS, QUESTIONS, QUESTIONS, 0, QUESTIONS)]


def test_one_system_has_nothing_to_be_compared_with(server: JudgeServer) -> None:
    results = evaluate(server, {"good": ANSWERED["good"]})
    assert set(results.scores["status"]) == {"not_applicable"}
    assert pairwise(results) == {}
    assert not server.requests


def test_ranks_rest_on_common_questions(server: JudgeServer) -> None:
    """`weak` was asked the first nine questions only."""
    answered = {**ANSWERED, "weak": ANSWERED["weak"][:9]}
    results = evaluate(server, answered, missing="not_asked")
    rows = results.leaderboard.filter(metric="strength").rows(named=True)
    expected = _strengths(expected_outcomes(ANSWERED), slice(0, 9))
    assert {row["system"]: row["common_mean"] for row in rows} == pytest.approx(expected)
    assert {row["n_common"] for row in rows} == {9}
    assert sum(pairwise(results)["fair", "weak"]) == 9
