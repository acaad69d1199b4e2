"""The scheduler: flows side by side, like requests together, failures where they belong."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import pytest

from calls.call import Origin
from evaluators.flows.prompt import Instruction, Prompt
from evaluators.flows.protocols import Engines
from evaluators.flows.reply import Reply
from evaluators.flows.requests import Ask, Embed, as_replicate, ask, ask_all, ask_each, embed
from evaluators.flows.scheduler import Scheduler
from evaluators.outcome import JudgeError, ParseFailure, Unscored
from tests.support.scripted_judge import Scripted, in_turn

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.flows.requests import Flow, Request


class Word(Reply):
    """One word."""

    word: str


def prompt(text: str) -> Prompt:
    return Instruction("Say it.").prompt(text=text)


def echo() -> Scripted:
    return Scripted(lambda request: {"word": request.prompt.material.splitlines()[1]})


class Lengths:
    """A model that knows how long a text is, and what it was asked."""

    identity = "lengths"

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def unavailable_reason(self) -> None:
        """It is there."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Any]:
        """How long each text is."""
        texts = [request.text for request in requests if isinstance(request, Embed)]
        self.batches.append(texts)
        return [len(text) for text in texts]


def origin(number: int) -> Origin:
    return Origin("b", "s", f"q{number}", "e", 0)


def run(flows: Sequence[Flow[Any]], engines: Engines, limit: int = 100) -> list[Any]:
    numbered = ((origin(place), flow) for place, flow in enumerate(flows))
    return [result for _, result in sorted(Scheduler[Any](engines, limit).run(numbered))]


def two_words(first: str, second: str) -> Flow[str]:
    one = yield from ask(Word, prompt(first))
    other = yield from ask(Word, prompt(f"{one.word} {second}"))
    return other.word


def test_a_flow_can_be_driven_by_hand() -> None:
    flow = two_words("a", "b")
    first = next(flow)
    assert isinstance(first, Ask)
    second = flow.send(Word(word="A"))
    assert isinstance(second, Ask)
    assert "\nA b\n" in second.prompt.material
    with pytest.raises(StopIteration) as end:
        flow.send(Word(word="done"))
    assert end.value.value == "done"


@pytest.mark.parametrize("limit", [1, 3, 100])
def test_results_come_from_the_answers_whatever_the_window(limit: int) -> None:
    flows = [two_words(str(number), "x") for number in range(10)]
    assert run(flows, Engines(judge=echo()), limit) == [f"{number} x" for number in range(10)]


def test_steps_are_numbered_within_each_flow() -> None:
    def flow() -> Flow[int]:
        replies = yield from ask_all(Word, [prompt("a"), prompt("b")])
        yield from ask(Word, prompt("c"))
        return len(replies)

    judge = echo()
    assert run([flow(), flow()], Engines(judge=judge)) == [2, 2]
    steps = sorted((came.question_id, came.step) for _, came in judge.asked)
    assert steps == [(f"q{flow}", step) for flow in range(2) for step in range(3)]


def test_a_model_is_asked_once_for_equal_texts_of_all_flows() -> None:
    def flow(text: str) -> Flow[int]:
        lengths: list[Any] = yield from embed([text, "shared"])
        return sum(lengths)

    model = Lengths()
    flows = [flow("a"), flow("bb"), flow("a")]
    assert run(flows, Engines(models={"embedding": model})) == [7, 8, 7]
    assert model.batches == [["a", "shared", "bb"]]


def test_a_reason_is_thrown_into_the_flow_that_asked_and_into_no_other() -> None:
    def careful(text: str) -> Flow[str]:
        try:
            reply = yield from ask(Word, prompt(text))
        except JudgeError as reason:
            return f"caught {reason.reason}"
        return reply.word

    def careless(text: str) -> Flow[str]:
        return (yield from ask(Word, prompt(text))).word

    judge = Scripted(
        lambda request: JudgeError("busy") if "bad" in request.prompt.material else {"word": "fine"}
    )
    one, two, three = run([careful("bad"), careless("bad"), careless("good")], Engines(judge=judge))
    assert (one, three) == ("caught busy", "fine")
    assert isinstance(two, Unscored)
    assert two.reason == "busy"


def test_a_defect_propagates_and_closes_open_flows() -> None:
    closed = []

    def flow(number: int) -> Flow[str]:
        try:
            return (yield from ask(Word, prompt(str(number)))).word
        finally:
            closed.append(number)

    class Broken:
        identity = "broken"

        def ask(self, request: Ask[Any], _: Origin) -> Future[Any]:
            future: Future[Any] = Future()
            if "\n2\n" in request.prompt.material:
                future.set_exception(RuntimeError("a defect"))
            return future

    with pytest.raises(RuntimeError, match="a defect"):
        run([flow(number) for number in range(4)], Engines(judge=Broken()))
    assert sorted(closed) == [0, 1, 2, 3]


def test_no_more_flows_are_open_than_the_window_allows() -> None:
    started = 0
    held: list[Future[Any]] = []

    class Slow:
        identity = "slow"

        def ask(self, _request: Ask[Any], _origin: Origin) -> Future[Any]:
            held.append(Future())
            if len(held) == 3:
                for future in held:
                    future.set_result(Word(word="w"))
                held.clear()
            return held[-1] if held else _done()

    def _done() -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(Word(word="w"))
        return future

    def flows() -> Iterator[tuple[Origin, Flow[str]]]:
        nonlocal started
        for number in range(9):
            started += 1
            yield origin(number), two_words("a", "b")

    results = Scheduler[str](Engines(judge=Slow()), 3).run(flows())
    next(results)
    assert started <= 6
    results.close()


def test_a_replicate_asks_the_same_under_another_number() -> None:
    judge = echo()
    result = run([two_words("a", "b"), as_replicate(two_words("a", "b"), 2)], Engines(judge=judge))
    assert result == ["a b", "a b"]
    numbers = [request.replicate for request, _ in judge.asked]
    assert sorted(numbers) == [0, 0, 2_000, 2_000]


def test_a_flow_that_asks_for_nothing_goes_on() -> None:
    def flow() -> Flow[int]:
        nothing: list[Any] = yield ()
        return len(nothing)

    assert run([flow()], Engines()) == [0]


def test_a_failure_takes_its_place_among_the_answers_if_the_flow_wants_it() -> None:
    def flow() -> Flow[list[str]]:
        found = yield from ask_each(Word, [prompt("a"), prompt("b")])
        return [str(each) if isinstance(each, Unscored) else each.word for each in found]

    reason = ParseFailure("no JSON")
    judge = in_turn({"word": "A"}, reason, {"word": "A"}, reason)
    assert run([flow(), as_replicate(flow(), 1)], Engines(judge=judge)) == [["A", "no JSON"]] * 2
    assert [request.replicate for request, _ in judge.asked] == [0, 0, 1000, 1000]
    assert run([ask_each(Word, [])], Engines(judge=judge)) == [[]]
