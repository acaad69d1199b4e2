"""The scheduler: runs the flows of many samples concurrently.

It sends judge calls at once, so that as many are in flight as the judge allows. It collects the
requests to models until no flow can continue, then answers them in one batch, each distinct
request once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evaluators.flows.requests import Ask, Each, repetition_of
from evaluators.outcome import Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

    from calls.call import Origin
    from evaluators.flows.protocols import Engines
    from evaluators.flows.requests import Flow, Request

T = TypeVar("T")

OPEN_FLOWS = 1_000
"""The most flows that are open at a time; this bounds the memory."""


@dataclass(slots=True, eq=False)
class _Running(Generic[T]):
    """A flow that is waiting for answers."""

    position: int
    flow: Flow[T]
    origin: Origin
    steps: Counter[int] = field(default_factory=Counter)
    many: bool = False
    keeps_reasons: bool = False
    missing: int = 0
    answers: list[Any] = field(default_factory=list)


class Scheduler(Generic[T]):
    """Runs flows to their ends; use a new scheduler for each run."""

    def __init__(self, engines: Engines, open_flows: int = OPEN_FLOWS) -> None:
        self._engines = engines
        self._limit = open_flows
        self._open: set[_Running[T]] = set()
        self._replies: SimpleQueue[tuple[_Running[T], int, Future[Any]]] = SimpleQueue()
        self._pending: dict[str, dict[Request, list[tuple[_Running[T], int]]]] = {}
        self._in_flight = 0
        self._done: list[tuple[int, T | Unscored]] = []

    def run(self, flows: Iterable[tuple[Origin, Flow[T]]]) -> Iterator[tuple[int, T | Unscored]]:
        """Yield the result of each flow when it ends.

        Args:
            flows: The flows, each with the origin of its first judge call. They start as others
                end, so an iterator of a million flows takes little memory.

        Yields:
            The position of a flow, and its result or the reason that it raised.

        Raises:
            KeyError: A flow calls an engine that is missing.
        """
        waiting = enumerate(flows)
        more = True
        try:
            while more or self._open or self._done:
                while more and len(self._open) < self._limit and len(self._done) < self._limit:
                    started = next(waiting, None)
                    if started is None:
                        more = False
                    else:
                        self._start(*started)
                yield from self._done
                self._done.clear()
                if self._open:
                    self._wait()
        finally:
            for running in self._open:
                running.flow.close()

    def _start(self, position: int, started: tuple[Origin, Flow[T]]) -> None:
        origin, flow = started
        running = _Running(position, flow, origin)
        self._open.add(running)
        self._advance(running, flow.__next__)

    def _wait(self) -> None:
        """Deliver the judge's replies; if there are none, answer the collected model requests."""
        if self._in_flight and (not self._pending or not self._replies.empty()):
            self._receive(*self._replies.get())
            while not self._replies.empty():
                self._receive(*self._replies.get())
        else:
            self._answer_batches()

    def _receive(self, running: _Running[T], slot: int, answer: Future[Any]) -> None:
        self._in_flight -= 1
        failure = answer.exception()
        if failure is not None and not isinstance(failure, Unscored):
            raise failure
        self._deliver(running, slot, failure if failure is not None else answer.result())

    def _answer_batches(self) -> None:
        pending, self._pending = self._pending, {}
        for engine, requests in pending.items():
            answers = self._engines.models[engine].answer(list(requests))
            for waiting, answer in zip(requests.values(), answers, strict=True):
                for running, slot in waiting:
                    self._deliver(running, slot, answer)

    def _deliver(self, running: _Running[T], slot: int, answer: Any) -> None:
        running.answers[slot] = answer
        running.missing -= 1
        if running.missing:
            return
        answers = running.answers
        reason = next((each for each in answers if isinstance(each, Unscored)), None)
        if reason is not None and not running.keeps_reasons:
            self._advance(running, lambda: running.flow.throw(reason))
        else:
            self._advance(
                running, lambda: running.flow.send(answers if running.many else answers[0])
            )

    def _advance(self, running: _Running[T], step: Callable[[], Any]) -> None:
        try:
            yielded = step()
        except StopIteration as end:
            self._end(running, end.value)
        except Unscored as reason:
            self._end(running, reason)
        else:
            running.many = isinstance(yielded, tuple)
            running.keeps_reasons = isinstance(yielded, Each)
            requests = yielded if running.many else (yielded,)
            running.answers = [None] * len(requests)
            running.missing = len(requests)
            for slot, request in enumerate(requests):
                self._submit(running, slot, request)
            if not requests:
                self._advance(running, lambda: running.flow.send([]))

    def _end(self, running: _Running[T], result: T | Unscored) -> None:
        self._open.discard(running)
        self._done.append((running.position, result))

    def _submit(self, running: _Running[T], slot: int, request: Request) -> None:
        if not isinstance(request, Ask):
            same = self._pending.setdefault(request.engine, {})
            same.setdefault(request, []).append((running, slot))
            return
        if self._engines.judge is None:
            raise KeyError(request.engine)
        member = request.member
        origin = running.origin._replace(
            step=running.steps[member], member=member, replicate=repetition_of(request)
        )
        running.steps[member] += 1
        self._in_flight += 1
        answer = self._engines.judge.ask(request, origin)
        answer.add_done_callback(lambda done: self._replies.put((running, slot, done)))
