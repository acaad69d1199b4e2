"""Pools of workers that do one call at a time, are started when needed and replaced when lost."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from calls.errors import CallFailure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


class Worker(Protocol):
    """A process that does one call at a time."""

    @property
    def is_alive(self) -> bool:
        """Whether it can be used."""

    def kill(self) -> None:
        """End it at once."""

    async def close(self) -> None:
        """End it."""


W = TypeVar("W", bound=Worker)


class WorkerPool(Generic[W]):
    """At most `limit` workers; the one that was used last is used first."""

    def __init__(self, start: Callable[[], Awaitable[W]], limit: int) -> None:
        """Start no worker yet.

        Args:
            start: Starts a worker; kills it if it is cancelled.
            limit: The most workers.
        """
        self._start = start
        self._limit = limit
        self._slots = asyncio.Semaphore(limit)
        self._idle: asyncio.LifoQueue[W | BaseException] = asyncio.LifoQueue()
        self._workers: set[W] = set()
        self._starting: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._waiting = 0

    def add(self, worker: W) -> None:
        """Add a worker that was started elsewhere."""
        self._workers.add(worker)
        self._idle.put_nowait(worker)

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[W]:
        """Lend a worker for one call; it is killed if the call is cancelled or breaks.

        Raises:
            BaseException: What `start` raises.
        """
        async with self._slots:
            worker = await self._take()
            try:
                yield worker
            except CallFailure:
                raise  # a result of the call
            except BaseException:
                worker.kill()
                raise
            finally:
                if worker.is_alive:
                    self._idle.put_nowait(worker)
                else:
                    self._drop(worker)

    async def close(self) -> None:
        """End all workers."""
        for task in self._starting:
            task.cancel()
        await asyncio.gather(*self._starting, return_exceptions=True)
        await asyncio.gather(*self._closing, *(worker.close() for worker in self._workers))

    async def _take(self) -> W:
        while True:
            if self._idle.empty():
                self._start_if_needed()
            self._waiting += 1
            try:
                found = await self._idle.get()
            finally:
                self._waiting -= 1
            if isinstance(found, BaseException):
                raise found
            if found.is_alive:
                return found
            self._drop(found)

    def _start_if_needed(self) -> None:
        """Start a worker, unless there are as many as allowed or enough are starting."""
        count = len(self._workers) + len(self._starting)
        if count < self._limit and len(self._starting) <= self._waiting:
            # As a task: a call that is cancelled meanwhile does not end what others can use.
            task = asyncio.create_task(self._start_one())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start_one(self) -> None:
        try:
            worker = await self._start()
        except Exception as error:  # noqa: BLE001 - raised where the worker is needed
            if self._waiting:
                self._idle.put_nowait(error)
        else:
            self.add(worker)

    def _drop(self, worker: W) -> None:
        self._workers.discard(worker)
        worker.kill()
        task = asyncio.create_task(worker.close())  # a call that is cancelled does not wait for it
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
