"""Boolean evaluators that ask a judge: answer and context, reasons, people, failed systems."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build, catalogue
from evaluators.flows.protocols import Engines
from evaluators.kinds.judged import AnswerAndContextEvaluator, JudgedEvaluator
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.score_grid import aggregation_rows
from evaluators.scoring import aggregate, score
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted, judged, values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from calls.call import Origin
    from evaluators.flows.requests import Ask

JUDGED = [name for name, cls in catalogue().items() if issubclass(cls, JudgedEvaluator)]
OF_CONTEXT = [n for n in JUDGED if issubclass(catalogue()[n], AnswerAndContextEvaluator)]
ROW = {"question": "Who?", "answer": "Somebody.", "expected_answers": ["Nobody."]}


def sexist(request: Ask[Any]) -> Any:
    """Finds a text sexist that says so, and does not understand `gibberish`."""
    shown = request.prompt.material
    if "gibberish" in shown:
        return ParseFailure("no JSON")
    if "timeout" in shown:
        return JudgeError("timed out")
    guilty = "sexist" in shown
    return {
        "reasoning": "r",
        "question_sexist": False,
        "text_quotes_or_condemns": False,
        "spans": ["sexist"] if guilty else [],
        "text_sexist": guilty,
    }


def test_the_golden_ten_rows() -> None:
    # Six pass, three fail, one is not understood; of eight contexts two fail, with their answers.
    rows: list[dict[str, Any]] = [{"answer": "fine", "contexts": ["good"]} for _ in range(5)]
    rows += [{"answer": "fine", "contexts": []}, {"answer": "gibberish", "contexts": []}]
    rows += [{"answer": "sexist", "contexts": ["sexist"]} for _ in range(2)]
    rows += [{"answer": "sexist", "contexts": ["good"]}]
    evaluator = build("sexism", {"evaluate_retrieved_context": True})
    grades = score(evaluator, samples(rows), Engines(judge=Scripted(sexist)))
    wide = grades.long().pivot(on="metric", index="question_id", values="value")
    assert wide["passes"].sum() == 6
    assert wide["failures"].sum() == wide["generation_failures"].sum() == 3
    assert wide["parse_failures"].mean() == pytest.approx(0.1)
    assert (wide["retrieval_failures"].sum(), wide["retrieval_failures"].count()) == (2, 8)
    assert wide["passes"].mean() == pytest.approx(6 / 9)
    assert aggregate(evaluator, aggregation_rows(evaluator, grades.frame)).scores == {
        "passes_of_all": pytest.approx(0.6)
    }


def test_an_answer_passes_only_with_its_context() -> None:
    found = {}
    for asked in (False, True):
        evaluator = build("sexism", {"evaluate_retrieved_context": asked})
        judge = Scripted(sexist)
        row = {"answer": "fine", "contexts": ["good", "sexist"]}
        found[asked] = values(judged(evaluator, row, judge))
        assert len(judge.asked) == 1 + asked
    assert (found[False]["passes"], found[False]["retrieval_failures"]) == (1, None)
    assert (found[True]["passes"], found[True]["retrieval_failures"]) == (0, 1)
    assert found[True]["generation_failures"] == 0
    assert "good\nsexist" in judge.asked[-1][0].prompt.material


def test_a_judge_that_is_not_understood_gives_no_verdict() -> None:
    # Also when it is the context that was not understood: whether the answer passes is unknown.
    evaluator = build("sexism", {"evaluate_retrieved_context": True})
    rows = judged(evaluator, {"answer": "fine", "contexts": ["gibberish"]}, Scripted(sexist))
    statuses = {row["metric"]: (row["status"], row["value"]) for row in rows}
    assert statuses.pop("parse_failures") == ("scored", 1.0)
    assert set(statuses.values()) == {("parse_failure", None)}


def test_a_judge_that_cannot_be_reached_was_not_misunderstood() -> None:
    rows = judged(build("sexism"), {"answer": "timeout"}, Scripted(sexist))
    statuses = {row["metric"]: (row["status"], row["value"]) for row in rows}
    assert statuses.pop("parse_failures") == ("scored", 0.0)
    assert set(statuses.values()) == {("judge_error", None)}


@pytest.mark.parametrize("name", OF_CONTEXT)
@pytest.mark.parametrize("contexts", [None, [], [" ", ""]])
def test_without_a_context_there_is_nothing_to_fail(name: str, contexts: Any) -> None:
    evaluator = build(name, {"evaluate_retrieved_context": True})
    judge = Scripted(lambda _: ParseFailure("of no account"))
    rows = judged(evaluator, {**ROW, "contexts": contexts}, judge)
    assert len(judge.asked) == 1
    (retrieval,) = [row for row in rows if row["metric"] == "retrieval_failures"]
    assert retrieval["value"] is None


@pytest.mark.parametrize("name", JUDGED)
def test_a_system_that_failed_was_not_judged(name: str) -> None:
    evaluator = build(name)
    judge = Scripted(lambda _: ParseFailure("asked"))
    rows = judged(evaluator, {**ROW, "error": "timeout"}, judge)
    assert not judge.asked
    found = {row["metric"]: (row["status"], row["value"]) for row in rows}
    worst = ("scored", 0.0) if evaluator.failure_is_worst else ("target_error", None)
    assert found["passes"] == worst
    assert found["parse_failures"] == found["retrieval_failures"] == ("not_applicable", None)


class People:
    """A human label that is the same for every sample."""

    identity = "people"

    def __init__(self, **said: float) -> None:
        self._said = said

    def of(self, _: Origin) -> Mapping[str, float]:
        """What they said."""
        return self._said


def by_people(name: str, parameters: dict[str, Any], **said: float) -> dict[str, float | None]:
    grades = score(build(name, parameters), samples([ROW]), Engines(labels=People(**said)))
    return values(grades.long().rows(named=True))


@pytest.mark.parametrize("name", JUDGED)
def test_what_people_say_implies_the_rest(name: str) -> None:
    found = by_people(name, {}, passes=1.0)
    found.pop("severity", None)
    assert found == {
        "passes": 1,
        "failures": 0,
        "retrieval_failures": None,
        "generation_failures": 0,
        "parse_failures": 0,
    }
    assert by_people(name, {}, failures=1.0)["passes"] == 0
    assert by_people(name, {}, retrieval_failures=1.0)["passes"] is None


def test_people_who_fail_a_sample_do_not_say_whether_answer_or_context_is_to_blame() -> None:
    both = {"evaluate_retrieved_context": True}
    assert by_people("sexism", both, passes=0.0)["generation_failures"] is None
    found = by_people("sexism", both, passes=0.0, generation_failures=1.0, retrieval_failures=0.0)
    assert (found["generation_failures"], found["retrieval_failures"]) == (1, 0)


def test_calls_are_counted_before_they_are_made() -> None:
    rows = [
        {"answer": "a", "contexts": ["b"]},
        {"answer": "", "contexts": ["b"]},
        {"answer": "a", "contexts": [" "]},
        {"answer": "", "contexts": None},
    ]
    evaluator = build("sexism", {"evaluate_retrieved_context": True})
    judge = Scripted(sexist)
    judged(evaluator, rows, judge)
    made = Counter(origin.question_id for _, origin in judge.asked)
    assert [made[f"q{number}"] for number in range(1, 5)] == [2, 1, 1, 0]
