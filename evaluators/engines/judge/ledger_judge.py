"""The judge of a run: it answers from the ledger, calls an asker for the rest, stores replies."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self

from calls.claims import ClaimedCalls
from calls.http.loop_thread import LoopThread
from evaluators.engines.judge.errors import JudgeFailure
from evaluators.engines.judge.judgment import complete, to_reply
from evaluators.engines.judge.parse import parse_reply
from evaluators.engines.judge.settings import JudgeCallBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from calls.call import Call, Ledger, Origin, Outcome, StoredReply
    from calls.quota import Quota
    from evaluators.engines.judge.asker import Asker
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.requests import Ask


def make_asker(settings: JudgeSettings, quota: Quota) -> Asker:
    """Make the asker for these settings; raise `JudgeFailure` for invalid settings."""
    if settings.recording is not None:
        from evaluators.engines.judge.recorded import RecordedAsker

        return RecordedAsker(settings.recording)
    from evaluators.engines.judge.llm_asker import LlmAsker

    return LlmAsker(settings, quota)


class LedgerJudge:
    """Makes the calls that the ledger lacks, each distinct call once, and stores the replies.

    A context manager. It imports and sends nothing before the first call that the ledger lacks.

    Attributes:
        identity: Model and parameters.
        tally: The number of calls that were in the ledger (`held`), `shared` with an equal call in
            flight, and `asked`; and the number of asked calls by status.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        ledger: Ledger,
        *,
        asker: Asker | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Set the judge up.

        Args:
            settings: The settings of the judge.
            ledger: The ledger that stores judgments.
            asker: Another asker, for tests.
            progress: Called from another thread with the number of finished calls.

        Raises:
            BadRecording: There is no such replay file.
        """
        self.identity = settings.identity
        self.tally: Counter[str] = Counter()
        self._settings = settings
        self._builder = JudgeCallBuilder(settings)
        self._ledger = ledger
        self._asker = asker
        self._progress = progress
        self._finished_count = 0
        self._lock = threading.Lock()
        self._in_flight: dict[str, list[tuple[Ask[Any], Future[Any]]]] = {}
        self._failure: JudgeFailure | None = None
        self._thread: LoopThread | None = None
        self._opened: asyncio.Task[Asker] | None = None
        self._has_outcome = threading.Event()
        self._calls = ClaimedCalls(ledger, settings.concurrency, "replies")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def refused_usd(self) -> float | None:
        """What the cheapest call that the budget refused would have set aside; None without one."""
        return None if self._asker is None else self._asker.refused_usd

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Start a judge call; see `protocols.Judge`.

        Raises (through the future):
            JudgeFailure: The judge cannot be called; this ends the run.
        """
        call = self._builder.of(request, origin)
        digest = call.digest
        self._ledger.record_call(origin, digest)
        future: Future[Any] = Future()
        with self._lock:
            if self._failure is not None:
                future.set_exception(self._failure)
                return future
            waiting = self._in_flight.get(digest)
            if waiting is not None:
                self.tally["shared"] += 1
                waiting.append((request, future))
                return future
            stored = self._ledger.find(digest)
            unknown = stored is None or stored.is_lost
            self.tally["asked" if unknown else "held"] += 1
            if unknown:
                self._in_flight[digest] = [(request, future)]
                self._start(self._answer(call, origin, request, stored))
            is_full = len(self._in_flight) >= self._settings.concurrency
        if stored is not None and not unknown:
            complete(future, to_reply(stored, request))
        elif is_full:
            # All slots are taken; preparing further calls would only delay the first one.
            self._has_outcome.wait()
        return future

    def close(self) -> None:
        """Cancel the calls in flight; stored replies are not lost."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop(self._close_asker)
        with self._lock:
            left = [future for waiting in self._in_flight.values() for _, future in waiting]
            self._in_flight.clear()
        for future in left:
            future.cancel()

    def _start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        if self._thread is None:
            self._thread = LoopThread("judge")
        self._thread.run(coroutine)

    async def _answer(
        self, call: Call, origin: Origin, request: Ask[Any], known: StoredReply | None
    ) -> None:
        """Answer all requests that wait for a call; runs on the loop."""
        digest = call.digest
        try:
            outcome = await self._find_or_call(call, digest, origin, request, known)
        except JudgeFailure as failure:
            self._give_up(failure)
        except Exception as defect:  # noqa: BLE001 - raised in the calling thread
            for _, future in self._pop_waiting(digest):
                future.set_exception(defect)
        else:
            self._finished_count += 1
            if self._progress is not None:
                self._progress(self._finished_count)
            for each, future in self._pop_waiting(digest, outcome):
                complete(future, to_reply(outcome, each))
        finally:
            self._has_outcome.set()

    async def _find_or_call(
        self, call: Call, digest: str, origin: Origin, request: Ask[Any], known: StoredReply | None
    ) -> Outcome | StoredReply:
        asker = await self._open()
        return await self._calls.make(
            digest, known, lambda: asker.ask(call, origin, lambda text: parse_reply(text, request))
        )

    async def _open(self) -> Asker:
        """Return the asker, ready for calls."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._make_asker())
        return await asyncio.shield(self._opened)

    async def _make_asker(self) -> Asker:
        if self._asker is None:
            self._asker = make_asker(self._settings, self._ledger)
        await self._asker.open()
        return self._asker

    async def _close_asker(self) -> None:
        if self._asker is not None:
            await self._asker.close()

    def _pop_waiting(
        self, digest: str, outcome: Outcome | StoredReply | None = None
    ) -> list[tuple[Ask[Any], Future[Any]]]:
        with self._lock:
            if outcome is not None:
                self.tally[outcome.status] += 1
            return self._in_flight.pop(digest, [])

    def _give_up(self, failure: JudgeFailure) -> None:
        """Fail all waiting requests: the judge cannot be called."""
        with self._lock:
            self._failure = self._failure or failure
            waiting_requests = [each for waiting in self._in_flight.values() for each in waiting]
            self._in_flight.clear()
            thread = self._thread
        if thread is not None:
            thread.cancel_others()
        for _, future in waiting_requests:
            future.set_exception(self._failure)
