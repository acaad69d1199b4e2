"""The judge that a run has: it looks into the ledger first, and keeps whatever it is told."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Self

from evaluators.engines.judge.asker import to_reply
from evaluators.engines.judge.errors import JudgeFailure
from evaluators.engines.judge.parse import parse_reply
from evaluators.engines.judge.settings import JudgeCallBuilder
from evaluators.outcome import JudgeError, Status, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from evaluators.engines.judge.asker import Asker
    from evaluators.engines.judge.judgment import JudgeCall, Judgment, Ledger
    from evaluators.engines.judge.settings import JudgeSettings
    from evaluators.flows.protocols import Origin
    from evaluators.flows.requests import Ask

NOT_ASKED = "not asked yet: run without --no-judge"


def make_asker(settings: JudgeSettings) -> Asker:
    """Who answers by these settings; raises `JudgeFailure` for settings that cannot hold."""
    if settings.recording is not None:
        from evaluators.engines.judge.replay_file import RecordedAsker

        return RecordedAsker(settings.recording)
    from evaluators.engines.judge.llm_asker import LlmAsker

    return LlmAsker(settings)


class ReplayJudge:
    """Answers from the ledger alone and asks nobody: what rescoring has for a judge."""

    def __init__(self, settings: JudgeSettings, ledger: Ledger) -> None:
        self.identity = settings.identity
        self._questions = JudgeCallBuilder(settings)
        self._ledger = ledger

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """What the ledger holds; `JudgeError` for a question that was never put."""
        held = self._ledger.find(self._questions.of(request, origin).digest)
        future: Future[Any] = Future()
        _complete(future, JudgeError(NOT_ASKED) if held is None else to_reply(held, request))
        return future


class LedgerJudge:
    """Asks what the ledger does not hold, each different question once, and keeps the replies.

    A context manager. Nothing is looked up, imported or sent before the first question that has to
    be asked, and that one waits for the probe.

    Attributes:
        identity: Model and parameters.
        tally: How many questions were `held`, `shared` with one under way, and `asked`, and how
            many of those ended with which status.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        ledger: Ledger,
        *,
        asker: Asker | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Prepare it.

        Args:
            settings: Who is asked and how.
            ledger: Where judgments are looked up and kept.
            asker: Somebody else to ask, for tests.
            progress: Is told how many questions were settled, from another thread.

        Raises:
            BadRecording: There is no such file of recorded replies.
        """
        self.identity = settings.identity
        self.tally: Counter[str] = Counter()
        self._settings = settings
        self._questions = JudgeCallBuilder(settings)
        self._ledger = ledger
        self._asker = asker
        self._progress = progress
        self._settled = 0
        self._lock = threading.Lock()
        self._under_way: dict[str, list[tuple[Ask[Any], Future[Any]]]] = {}
        self._failure: JudgeFailure | None = None
        self._thread: LoopThread | None = None
        self._opened: asyncio.Task[Asker] | None = None
        self._probed = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def spent_usd(self) -> float:
        """What was spent in this run as far as prices are known, in US dollars.

        Of calls that were broken off and may have been paid, the largest possible price.
        """
        return 0.0 if self._asker is None else self._asker.spent_usd

    def ask(self, request: Ask[Any], origin: Origin) -> Future[Any]:
        """Put a question; see `contract.Judge`.

        Raises (through the future):
            JudgeFailure: Nothing can be asked at all; ends the run.
        """
        question = self._questions.of(request, origin)
        digest = question.digest
        self._ledger.record_call(origin, digest)
        future: Future[Any] = Future()
        with self._lock:
            if self._failure is not None:
                future.set_exception(self._failure)
                return future
            waiting = self._under_way.get(digest)
            if waiting is not None:
                self.tally["shared"] += 1
                waiting.append((request, future))
                return future
            held = self._ledger.find(digest)
            unknown = held is None or held.status == Status.JUDGE_ERROR
            self.tally["asked" if unknown else "held"] += 1
            if unknown:
                self._under_way[digest] = [(request, future)]
                self._start(self._put(digest, question, origin, request))
            crowded = len(self._under_way) >= self._settings.concurrency
        if held is not None and not unknown:
            _complete(future, to_reply(held, request))
        elif crowded:
            # More could not be asked at once, and making them would hold the probe up.
            self._probed.wait()
        return future

    def close(self) -> None:
        """Break off what is under way; what was answered is kept."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.stop(self._close_asker)
        with self._lock:
            left = [future for waiting in self._under_way.values() for _, future in waiting]
            self._under_way.clear()
        for future in left:
            future.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        if self._thread is None:
            self._thread = LoopThread()
        self._thread.run(work)

    async def _put(
        self, digest: str, question: JudgeCall, origin: Origin, request: Ask[Any]
    ) -> None:
        """Ask, keep, and answer everybody who waits; runs on the loop."""
        try:
            asker = await self._open()
            judgment = await asker.ask(question, origin, lambda text: parse_reply(text, request))
            self._ledger.store(judgment)
        except JudgeFailure as failure:
            self._give_up(failure)
        except Exception as defect:  # noqa: BLE001 - flies on in the thread that asked
            for _, future in self._finished(digest):
                future.set_exception(defect)
        else:
            self._settled += 1
            if self._progress is not None:
                self._progress(self._settled)
            waiting = self._finished(digest, judgment)
            for each, future in waiting:
                _complete(future, to_reply(judgment, each))

    async def _open(self) -> Asker:
        """Whoever answers, once it is known that it can be asked."""
        if self._opened is None:
            self._opened = asyncio.create_task(self._make())
        return await asyncio.shield(self._opened)

    async def _make(self) -> Asker:
        try:
            if self._asker is None:
                self._asker = make_asker(self._settings)
            await self._asker.open()
        finally:
            self._probed.set()
        return self._asker

    async def _close_asker(self) -> None:
        if self._asker is not None:
            await self._asker.close()

    def _finished(
        self, digest: str, judgment: Judgment | None = None
    ) -> list[tuple[Ask[Any], Future[Any]]]:
        with self._lock:
            if judgment is not None:
                self.tally[judgment.status] += 1
            return self._under_way.pop(digest, [])

    def _give_up(self, failure: JudgeFailure) -> None:
        """Tell everybody, once, that nothing can be asked."""
        with self._lock:
            self._failure = self._failure or failure
            everybody = [each for waiting in self._under_way.values() for each in waiting]
            self._under_way.clear()
            thread = self._thread
        if thread is not None:
            thread.drop()
        for _, future in everybody:
            future.set_exception(self._failure)


def _complete(future: Future[Any], result: Any) -> None:
    if isinstance(result, Unscored):
        future.set_exception(result)
    else:
        future.set_result(result)


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Start some work."""
        self._loop.call_soon_threadsafe(self._create, work)

    def drop(self) -> None:
        """Break off all work but the caller's, which runs on the loop."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Break all work off, do one last thing, and end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _create(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]]) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await last()
