"""The TRACE patterns: each by its definition, and none from noise."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import binomtest

import scoreline
from assets.analysis.trace_patterns import PATTERNS, diagnose
from evaluators.statistics.clusters import Groups
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ("context_relevance", "context_utilization", "completeness", "adherence")
UNUSED = (0.85, 0.40, 0.40, 0.0)
INCOMPLETE = (0.6, 0.6, 0.50, 1.0)
EXCELLENT = (0.75, 0.80, 0.85, 1.0)
PLAIN = (0.6, 0.6, 0.6, 1.0)
FAILED = (0.0, 0.0, 0.0, 0.0)
UNJUDGED = (np.nan,) * 4
BLANK = (0.9, 0.0, 0.0, np.nan)
NOTHING_RELEVANT = (0.0, 0.0, 1.0, 1.0)


def matrices(*columns: list[tuple[float, ...]]) -> dict[str, Floats]:
    """The metrics of systems whose answers are given as tuples in the order of `METRICS`."""
    values = np.array(columns, dtype=np.float64)
    return {name: values[:, :, at].T for at, name in enumerate(METRICS)}


def kinds(*columns: list[tuple[float, ...]], groups: Groups | None = None) -> list[tuple[str, str]]:
    systems = [f"s{at}" for at in range(len(columns))]
    found = diagnose(systems, matrices(*columns), groups or Groups())
    return [(each.system, each.pattern.kind) for each in found]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (UNUSED, ["unused_context"]),
        ((0.9, 0.3, 0.3, 0.0), ["unused_context"]),
        # The limits belong to the pattern.
        ((0.7, 0.5, 0.5, 0.5), ["unused_context"]),
        ((0.69, 0.5, 0.5, 0.0), []),
        ((0.7, 0.51, 0.51, 0.0), []),
        (INCOMPLETE, ["incomplete_but_grounded"]),
        ((0.2, 0.4, 0.4, 1.0), ["incomplete_but_grounded"]),
        ((0.2, 0.4, 0.4, 0.0), []),
        ((0.85, 0.40, 0.40, 1.0), ["unused_context", "incomplete_but_grounded"]),
        (EXCELLENT, ["complete_and_grounded"]),
        ((0.75, 0.80, 0.85, 0.0), []),
        ((0.75, 0.80, 0.69, 1.0), []),
        (PLAIN, []),
        (FAILED, []),
        (BLANK, ["unused_context"]),
        # Without relevant context, the prompt is not at fault.
        (NOTHING_RELEVANT, []),
        (UNJUDGED, []),
    ],
)
def test_the_patterns_of_the_source(answer: tuple[float, ...], expected: list[str]) -> None:
    assert [kind for _, kind in kinds([answer] * 30)] == expected


def test_failed_answers_count_and_lost_judgments_do_not() -> None:
    (found,) = diagnose(["a"], matrices([UNUSED] * 20 + [FAILED] * 4 + [UNJUDGED] * 10), Groups())
    assert (found.n_matching, found.n) == (20, 24)
    wilson = binomtest(20, 24).proportion_ci(method="wilson")
    assert found.interval == pytest.approx((wilson.low, wilson.high))
    assert kinds([EXCELLENT] * 20 + [FAILED] * 15) == []


@pytest.mark.parametrize("n", [6, 20, 101])
def test_a_pattern_needs_a_significant_majority(n: int) -> None:
    """One system has three tests, so that Holm's first step is at a third of the level."""
    for matching in range(n + 1):
        p = binomtest(matching, n, 0.5, alternative="greater").pvalue
        found = kinds([INCOMPLETE] * matching + [PLAIN] * (n - matching))
        assert bool(found) == (p * len(PATTERNS) < 0.05)


def test_few_questions_are_no_evidence() -> None:
    assert kinds([EXCELLENT] * 4) == []
    assert diagnose([], {}, Groups()) == []
    # As many as one system needs are too few for twenty.
    one = [EXCELLENT] * 6
    assert kinds(one) == [("s0", "complete_and_grounded")]
    assert kinds(one, *[[PLAIN] * 6] * 19) == []


def test_questions_of_one_document_count_once() -> None:
    answers = [UNUSED] * 40
    assert kinds(answers) == [("s0", "unused_context")]
    four = Groups(np.repeat(np.arange(4), 10))
    assert kinds(answers, groups=four) == []


@pytest.mark.parametrize("per_cluster", [1, 5])
def test_systems_at_one_half_have_no_pattern(per_cluster: int) -> None:
    """Of 400 leaderboards of five systems without a majority, at most 5 % name a pattern."""
    generator = np.random.default_rng(7)
    false = 0
    for _ in range(400):
        shown = generator.random((5, 60 // per_cluster)) < 0.5
        columns = [
            [UNUSED if each else PLAIN for each in np.repeat(row, per_cluster)] for row in shown
        ]
        groups = Groups(np.repeat(np.arange(60 // per_cluster), per_cluster))
        false += bool(kinds(*columns, groups=groups))
    assert false / 400 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_a_clear_majority_is_found() -> None:
    generator = np.random.default_rng(8)
    columns = [[UNUSED if each else PLAIN for each in generator.random(100) < 0.75] for _ in "ab"]
    assert kinds(*columns) == [("s0", "unused_context"), ("s1", "unused_context")]


def label(request: dict[str, Any]) -> Reply:
    """Call all sentences relevant; the answer "wordy" used all of them, the other the first."""
    uses_all = "wordy" in request["messages"][1]["content"]
    keys = ["0a", "0b", "0c", "0d"]
    reply = {
        "relevance_explanation": "",
        "all_relevant_sentence_keys": keys,
        "sentence_support_information": [
            {
                "response_sentence_key": "a",
                "explanation": "",
                "supporting_sentence_keys": ["0a"],
                "fully_supported": uses_all,
            }
        ],
        "overall_supported_explanation": "",
        "overall_supported": uses_all,
        "all_utilized_sentence_keys": keys if uses_all else keys[:1],
    }
    return Reply(content=json.dumps(reply))


@takes_minutes
def test_insights_say_what_to_change() -> None:
    contexts = ["It opens at six. It closes at ten. It is shut on Sundays. Dogs may come."]
    questions = [{"question_id": f"q{at}", "question": f"When on day {at}?"} for at in range(12)]
    predictions = {
        system: [
            {"question_id": f"q{at}", "answer": f"A {system} answer {at}.", "contexts": contexts}
            for at in range(12)
        ]
        for system in ("wordy", "terse")
    }
    with JudgeServer(label) as server:
        judge = {"model": "openai/judge", "api_base": server.url}
        results = scoreline.evaluate(questions, predictions, ["trace"], judge=judge)
    found = results.sql(
        "SELECT system, evaluator, metric, kind, value, message FROM insights "
        "WHERE kind IN ('unused_context', 'incomplete_but_grounded', 'complete_and_grounded') "
        "ORDER BY system"
    )
    assert found.drop("message").rows() == [
        ("terse", "trace", "context_utilization", "unused_context", 1.0),
        ("wordy", "trace", "adherence", "complete_and_grounded", 1.0),
    ]
    assert found["message"][0] == (
        "terse retrieves relevant context but does not use it on 12 of 12 questions "
        "(context_relevance at least 0.7, context_utilization at most 0.5; 95 % interval of the "
        "share 0.758 to 1.000): improve the instructions of the prompt"
    )
