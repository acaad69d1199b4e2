"""Answers from a system to many questions: from the ledger, and by asking for the rest."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import orjson

from calls.budget import OverBudget
from calls.call import Call, CallStatus, Outcome
from calls.claims import ClaimedCalls
from systems.asker import SystemAsker
from systems.clients import make_client

if TYPE_CHECKING:
    from collections.abc import (
        Awaitable,
        Callable,
        Coroutine,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from calls.call import Ledger, StoredReply
    from systems.client import Request, SystemClient
    from systems.settings import SystemSettings

MODEL_PREFIX: Final = "system:"
"""The beginning of `judgments.model` for calls of systems."""


@dataclass(slots=True)
class AnsweredQuestions:
    """What asking a system came to.

    Attributes:
        digests: The call of each question and repeat; those that the budget refused have none.
        tally: The calls that the ledger had (`held`), those `asked`, and among these `errors` of
            the system and transports that `failed`; and those that were `over_budget`.
    """

    digests: dict[tuple[str, int], str] = field(default_factory=dict)
    tally: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Job:
    number: int
    question_id: str
    repeat: int
    request: Request
    call: Call


class SystemCalls:
    """The calls of one system for the questions of one benchmark."""

    def __init__(
        self, settings: SystemSettings, questions: Sequence[Mapping[str, Any]], repeats: int = 1
    ) -> None:
        """Set the calls up; nothing is started or contacted.

        Args:
            settings: The system.
            questions: All questions of the benchmark, by the names of canonical fields.
            repeats: How often each is asked.

        Raises:
            SystemRefused: The system cannot be asked, whatever the question.
        """
        self.settings = settings
        self.client: SystemClient = make_client(settings, questions)
        self._questions = questions
        self._repeats = repeats

    def jobs(self) -> Iterator[_Job]:
        """Yield the calls, the first repeat of all questions first.

        Raises:
            SystemRefused: A request cannot be made.
        """
        for repeat in range(self._repeats):
            for number, question in enumerate(self._questions):
                request = self.client.request(question)
                call = Call(
                    model=MODEL_PREFIX + self.settings.name,
                    parameters={"version": self.settings.digest},
                    messages=[request.key],
                    reply_schema={},
                    replicate=repeat,
                )
                yield _Job(number, str(question["question_id"]), repeat, request, call)


async def answer_questions(
    calls: SystemCalls,
    ledger: Ledger,
    check_fields: Callable[[Mapping[str, Any]], str | None],
    *,
    forced: set[str] | None = None,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
    before: Callable[[], None] | None = None,
    opened: Callable[[], Awaitable[object]] | None = None,
) -> AnsweredQuestions:
    """Ask for every answer that the ledger lacks, each distinct call once.

    The first answer is awaited before the rest is asked.

    Args:
        calls: The calls.
        ledger: The ledger, which stores the answers.
        check_fields: Returns what is wrong with the fields of a prediction; None if nothing is.
        forced: Asks again what the ledger has, but for these calls; those made are added. None:
            asks for nothing again.
        limit: How many questions, the first ones, may be asked; None for all.
        progress: Called with 1 for each finished call.
        before: Called in a thread if an answer is missing, before anything else is done.
        opened: Awaited when the system can be asked, before it is.

    Raises:
        SystemRefused: The system cannot be asked, or its first answer has a wrong shape.
    """
    run = _Run(calls, ledger, check_fields, forced=forced, limit=limit, progress=progress)
    try:
        missing = await run.open(before)
        if opened is not None:
            await opened()
        return await run.answer(missing)
    finally:
        await calls.client.close()


class _Run:
    def __init__(
        self,
        calls: SystemCalls,
        ledger: Ledger,
        check_fields: Callable[[Mapping[str, Any]], str | None],
        *,
        forced: set[str] | None,
        limit: int | None,
        progress: Callable[[int], None] | None,
    ) -> None:
        self._calls = calls
        self._ledger = ledger
        self._forced = forced
        self._limit = limit
        self._progress = progress
        self._asker = SystemAsker(calls.settings, calls.client, ledger, check_fields)
        self._found = AnsweredQuestions()
        self._done: set[str] = set()
        self._is_known = False
        self._claimed = ClaimedCalls(ledger, calls.settings.concurrency, "answers")

    async def open(
        self, before: Callable[[], None] | None
    ) -> list[tuple[_Job, StoredReply | None]]:
        """Prepare the system, if calls are missing; return these."""
        missing = await asyncio.to_thread(self._missing_jobs)
        if missing:
            if before is not None:
                await asyncio.to_thread(before)
            await self._calls.client.open()
        return missing

    async def answer(self, missing: list[tuple[_Job, StoredReply | None]]) -> AnsweredQuestions:
        """Make the missing calls."""
        if not missing:
            return self._found
        # Something is known of the answers if the ledger has some of this version.
        self._is_known = self._found.tally["held"] > 0
        jobs = iter(missing)
        await self._answer(next(jobs))
        # Twice the calls in flight: the next ones are claimed, and the rest is left to others.
        workers = 2 * self._calls.settings.concurrency
        await gather_or_cancel(self._work(jobs) for _ in range(workers))
        return self._found

    def _missing_jobs(self) -> list[tuple[_Job, StoredReply | None]]:
        """Return the calls without an answer; count the others."""
        missing: list[tuple[_Job, StoredReply | None]] = []
        digests = self._found.digests
        for job in self._calls.jobs():
            digest = job.call.digest
            digests[job.question_id, job.repeat] = digest
            if digest in self._done:
                continue
            self._done.add(digest)
            stored = self._ledger.find(digest)
            may_ask = self._limit is None or job.number < self._limit
            is_forced = may_ask and self._forced is not None and digest not in self._forced
            if stored is not None and not stored.is_lost and not is_forced:
                self._found.tally["held"] += 1
                self._asker.note_cost(stored.reply or "{}")
            elif may_ask:
                missing.append((job, stored))
            elif stored is None:
                del digests[job.question_id, job.repeat]
        return missing

    async def _work(self, jobs: Iterator[tuple[_Job, StoredReply | None]]) -> None:
        for job in jobs:
            await self._answer(job)

    async def _answer(self, job: tuple[_Job, StoredReply | None]) -> None:
        asked, stored = job
        try:
            await self._find_or_ask(asked, stored)
        except OverBudget:
            self._found.tally["over_budget"] += 1
            if stored is None:
                del self._found.digests[asked.question_id, asked.repeat]
        if self._progress is not None:
            self._progress(1)

    async def _find_or_ask(self, job: _Job, stored: StoredReply | None) -> None:
        """Make a call, or wait for the process that makes it."""
        tally = self._found.tally

        async def ask() -> Outcome:
            return await self._asker.ask(job.request, job.call, first=not self._is_known)

        outcome = await self._claimed.make(job.call.digest, stored, ask)
        if self._forced is not None:
            self._forced.add(job.call.digest)
        if not isinstance(outcome, Outcome):
            tally["held" if outcome.reply is not None else "failed"] += 1
            return
        self._is_known = self._is_known or outcome.reply is not None
        tally["asked"] += 1
        if outcome.status != CallStatus.SCORED:
            tally["failed" if outcome.reply is None else "errors"] += 1


async def gather_or_cancel(coroutines: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await all; cancel the others after the first exception, which is raised as it is."""
    tasks = [asyncio.create_task(each) for each in coroutines]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def prediction_of(reply: str | None, error: str | None) -> Mapping[str, Any]:
    """Return the fields of the prediction that a stored outcome stands for."""
    if reply is None:
        return {"error": error or "no answer"}
    fields: dict[str, Any] = orjson.loads(reply)
    return {name: value for name, value in fields.items() if name not in _MEASURED}


_MEASURED = ("first_token_s", "served_by")
