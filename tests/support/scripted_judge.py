"""A judge whose replies a test writes down, for everything about a judge but its transport."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from evaluators.flows.protocols import Engines
from evaluators.outcome import ParseFailure, Unscored
from evaluators.scoring import score
from tests.support.samples import samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from calls.call import Origin
    from evaluators.evaluator import Evaluator
    from evaluators.flows.protocols import Model
    from evaluators.flows.requests import Ask


class Scripted:
    """Answers with what a function makes of a question, and keeps what it was asked."""

    identity = "scripted"

    def __init__(self, reply: Callable[[Ask[Any]], Any]) -> None:
        self._reply = reply
        self.asked: list[tuple[Ask[Any], Origin]] = []

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Answer at once: a mapping is read as the reply, an `Unscored` is raised."""
        self.asked.append((request, origin))
        future: Future[Any] = Future()
        said = self._reply(request)
        if isinstance(said, Unscored):
            future.set_exception(said)
            return future
        try:
            reply = request.reply.model_validate(said)
        except ValidationError as error:
            future.set_exception(ParseFailure(str(error)))
            return future
        faults = request.check(reply) if request.check is not None else []
        if faults:
            future.set_exception(ParseFailure("; ".join(faults)))
        else:
            future.set_result(reply)
        return future


def in_turn(*replies: Any) -> Scripted:
    """A judge that gives these replies one after the other."""
    waiting = list(replies)
    return Scripted(lambda _: waiting.pop(0))


def by_form(**replies: Any) -> Scripted:
    """A judge that gives the reply named after the form that is asked for."""
    return Scripted(lambda request: replies[request.reply.__name__])


def judged(
    evaluator: Evaluator,
    row: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    judge: Scripted,
    **models: Model,
) -> list[dict[str, Any]]:
    """The long scores of samples, as rows, with `judge` and models answering."""
    rows = [row] if isinstance(row, dict) else list(row)
    grades = score(evaluator, samples(rows), Engines(judge=judge, models=models))
    return grades.long().rows(named=True)


def values(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The value of each metric of one sample."""
    return {row["metric"]: row["value"] for row in rows}
