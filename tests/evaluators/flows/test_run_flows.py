"""`run_flows`: concurrent flows of many evaluators, and failures that stay local."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.errors import BadSamples, Unavailable
from evaluators.flows.protocols import Engines
from evaluators.kinds.flow import FlowEvaluator
from evaluators.outcome import JudgeError
from evaluators.scoring import run_flows
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted
from tests.support.scripted_models import Answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

    from calls.call import Origin
    from evaluators.flows.requests import Ask

COUNT = 6
ROWS = [
    {
        "question_id": f"q{number}",
        "question": f"What is kept in room {number}?",
        "answer": f"Room {number} holds maps. Bring a key.",
        "contexts": [f"Room {number} holds maps."],
    }
    for number in range(COUNT)
]


def flow_of(name: str) -> FlowEvaluator:
    evaluator = build(name)
    assert isinstance(evaluator, FlowEvaluator)
    return evaluator


def names(judge: Scripted) -> list[tuple[str, str]]:
    return [(origin.evaluator, origin.question_id) for _, origin in judge.asked]


def unable() -> Scripted:
    """A judge that is asked and says nothing."""
    return Scripted(lambda _: JudgeError("busy"))


class Gathering:
    """A judge that says nothing before so many questions are under way."""

    identity = "gathering"

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.under_way: dict[Origin, Future[Any]] = {}

    def ask(self, _: Ask[Any], origin: Origin) -> Future[Any]:
        """Wait until everybody is there."""
        future: Future[Any] = Future()
        self.under_way[origin] = future
        if len(self.under_way) == self.wanted:
            for waiting in self.under_way.values():
                waiting.set_exception(JudgeError("busy"))
        return future


@pytest.mark.timeout(120)
def test_the_questions_of_all_evaluators_are_under_way_together() -> None:
    judge = Gathering(2 * COUNT)
    evaluators = [flow_of("context_relevancy"), flow_of("faithfulness")]
    # One evaluator after the other would wait for ever.
    run_flows([(each, samples(ROWS)) for each in evaluators], Engines(judge=judge))
    asked = sorted((origin.evaluator, origin.question_id) for origin in judge.under_way)
    assert asked == sorted((each.name, row["question_id"]) for each in evaluators for row in ROWS)


def test_samples_are_taken_as_flows_end() -> None:
    judge = unable()
    asked_before = []

    def parts() -> Iterator[tuple[FlowEvaluator, pl.DataFrame]]:
        for start in range(0, 3_000, 1_000):
            asked_before.append(len(judge.asked))
            rows = [{**ROWS[0], "question_id": str(start + place)} for place in range(1_000)]
            yield flow_of("context_relevancy"), samples(rows)

    run_flows(parts(), Engines(judge=judge))
    assert asked_before == [0, 1_000, 2_000]
    assert len(judge.asked) == 3_000


def test_no_calls_for_samples_that_are_not_applicable_or_failed() -> None:
    judge = unable()
    rows = [{**ROWS[0], "contexts": None}, {**ROWS[1], "error": "timeout"}, ROWS[2]]
    run_flows([(flow_of("context_relevancy"), samples(rows))], Engines(judge=judge))
    assert [question for _, question in names(judge)] == ["q2"]


def test_a_model_that_cannot_be_loaded_costs_only_those_that_need_it() -> None:
    class Broken(Answers):
        def answer(self, requests: Any) -> Any:
            """Turns out to be broken."""
            self.asked += requests
            raise Unavailable("models.embedding: cannot be loaded")

    written = {"question": "Where are the maps?", "noncommittal": False}
    judge = Scripted(
        lambda request: (
            {"questions": [written] * 3}
            if request.reply.__name__ == "GeneratedQuestions"
            else JudgeError("busy")
        )
    )
    broken = Broken(lambda _: None)
    evaluators = [flow_of("answer_relevancy"), flow_of("faithfulness")]
    engines = Engines(judge=judge, models={"embedding": broken})
    run_flows([(each, samples(ROWS)) for each in evaluators], engines)
    assert broken.asked
    assert sum(evaluator == "faithfulness" for evaluator, _ in names(judge)) == COUNT


def test_samples_without_a_column_are_named() -> None:
    frame = samples(ROWS).drop("contexts")
    with pytest.raises(BadSamples, match=r"context_relevancy: the samples lack.*contexts"):
        run_flows([(flow_of("context_relevancy"), frame)], Engines(judge=unable()))
