"""Own metrics: functions, classes and named instances, in Python and in a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline
from evaluators.kinds.function import BadFunction
from tests.scoreline.rows import ANSWERS, QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Mapping


def score(*evaluators: Any) -> pl.DataFrame:
    return scoreline.evaluate(QUESTIONS, ANSWERS, evaluators).scores


def test_a_function_is_a_metric() -> None:
    @scoreline.metric(best="low")
    def polite(answer: str) -> bool:
        """The share of answers that say please. They should not."""
        return "please" in answer

    found = scoreline.evaluate(QUESTIONS, ANSWERS, [polite])
    rows = found.leaderboard.filter(pl.col("slice") == "all")
    assert dict(rows.select("system", "mean").iter_rows()) == {"good": 2 / 24, "poor": 12 / 24}
    first = rows.sort("rank").row(0, named=True)
    assert (first["system"], first["best"]) == ("good", "low")
    assert (first["evaluator"], first["metric"]) == ("polite", "polite")


def test_a_function_gets_the_fields_that_it_names() -> None:
    seen: list[tuple[Any, ...]] = []

    @scoreline.metric
    def looks(  # noqa: PLR0917
        question: str,
        answer: str,
        expected_answer: str,
        expected_answers: list[str],
        contexts: list[str],
        retrieved: list[dict[str, Any]],
        label: str,
        expected_label: str,
        tags: Mapping[str, str],
        extra: Mapping[str, Any],
    ) -> float:
        seen.append(
            (question, answer, expected_answer, list(expected_answers), list(contexts), retrieved)
        )
        seen.append((label, expected_label, tags, extra))
        return 1.0

    question = {
        "question_id": "q",
        "question": "Why?",
        "expected_answer": ["a", "b"],
        "expected_label": "cat",
        "tags": {"lang": "en"},
        "depth": 3,
    }
    answer = {
        "question_id": "q",
        "answer": "So.",
        "label": "dog",
        "retrieved": [{"doc_id": "d1", "rank": 1, "text": "one"}],
        "seed": 7,
    }
    scoreline.evaluate([question], {"a": [answer]}, [looks])
    passages = [{"rank": 1, "doc_id": "d1", "text": "one"}]
    assert seen[0] == ("Why?", "So.", "a", ["a", "b"], ["one"], passages)
    assert seen[1] == ("dog", "cat", {"lang": "en"}, {"depth": 3, "seed": 7})


def test_a_missing_field_is_not_applicable_unless_it_has_a_default() -> None:
    @scoreline.metric
    def needs(label: str) -> float:  # noqa: ARG001
        return 1.0

    @scoreline.metric
    def may_do_without(answer: str, label: str | None = None) -> float:  # noqa: ARG001
        return float(label is None)

    found = score(needs, may_do_without)
    statuses = found.group_by("evaluator").agg(pl.col("status").unique()).sort("evaluator")
    assert dict(statuses.iter_rows()) == {
        "may_do_without": ["scored"],
        "needs": ["not_applicable"],
    }


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        (None, "the function returned None"),
        ("good", "the function returned 'good', expected a number"),
        # `float` would read a number out of this text.
        ("0.9", "the function returned '0.9', expected a number"),
        (b"1", "the function returned b'1', expected a number"),
        (float("nan"), "the function returned nan"),
        (1.5, "the function returned 1.5, outside its bounds 0 to 1"),
    ],
)
def test_what_is_no_number_is_undefined(returned: Any, reason: str) -> None:
    @scoreline.metric
    def odd(answer: str) -> Any:  # noqa: ARG001
        return returned

    found = score(odd)
    assert found["status"].unique().to_list() == ["undefined"]
    assert found["reason"].unique().to_list() == [reason]


def test_a_function_that_says_it_returns_text_is_refused() -> None:
    with pytest.raises(BadFunction, match=r"verdict: it returns str, expected a number, a bool"):

        @scoreline.metric
        def verdict(answer: str) -> str:
            return answer


def test_an_exception_leaves_one_sample_undefined_and_names_the_line() -> None:
    @scoreline.metric
    def fragile(answer: str) -> float:
        return 1 / ("Never" not in answer)

    found = score(fragile).filter(pl.col("system") == "good")
    assert found["status"].value_counts().sort("status").rows() == [
        ("scored", 22),
        ("undefined", 2),
    ]
    (reason,) = found["reason"].drop_nulls().unique()
    assert reason.startswith("ZeroDivisionError: division by zero (test_own_metrics.py:")

    @scoreline.metric(on_error="fail")
    def strict(answer: str) -> float:
        return 1 / ("Never" not in answer)

    with pytest.raises(scoreline.ScorelineError, match=r"strict: ZeroDivisionError.*test_own") as e:
        score(strict)
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    # The first sample whose answer is "Never, please.".
    assert str(e.value).endswith("; benchmark 'evaluation', system 'good', question 'q0'")


def test_a_class_is_a_metric() -> None:
    class Words(scoreline.RowEvaluator):
        """How many words does an answer have?"""

        metrics = (
            scoreline.Metric(
                name="words", summary="Words of the answer.", bounds=(0, 1e9), primary=True
            ),
        )
        reads = frozenset({"answer"})

        def grade(self, sample: Any) -> dict[str, float]:
            return {"words": float(len(sample.answer.split()))}

    found = score(Words(), "citation")
    words = found.filter(pl.col("evaluator") == "words", pl.col("question_id") == "q1")
    assert words["value"].to_list() == [3.0, 3.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [("anwser", "did you mean 'answer'"), ("x", "expected question, answer"), ("", "a parameter")],
)
def test_a_function_with_other_parameters_is_an_error(parameters: str, message: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def wrong({parameters}): pass", space)  # noqa: S102
    with pytest.raises(Exception, match=message):
        scoreline.metric(space["wrong"])


def test_an_evaluator_may_be_used_under_several_names() -> None:
    found = scoreline.evaluate(
        QUESTIONS,
        ANSWERS,
        ["rouge", {"rouge_of_words": {"rouge": {"words": "stemmed"}}}],
    )
    assert found.leaderboard["evaluator"].unique().sort().to_list() == ["rouge", "rouge_of_words"]


def test_a_failed_answer_counts_in_a_metric_of_messages() -> None:
    @scoreline.metric
    def spoke(messages: list[dict[str, Any]]) -> float:
        """Whether the system said something."""
        return float(bool(messages))

    asked = [{"question_id": f"q{at}", "question": "?"} for at in range(3)]
    given: list[dict[str, Any]] = [
        {"question_id": "q0", "messages": [{"role": "assistant", "content": "x"}]},
        {"question_id": "q1", "error": "timeout"},
    ]
    found = scoreline.evaluate(asked, {"a": given}, [spoke]).scores.sort("question_id")
    assert found["value"].to_list() == [1.0, 0.0, 0.0]
