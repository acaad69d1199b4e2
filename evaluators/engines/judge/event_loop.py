"""An event loop in a thread of its own, where questions wait for their answers."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


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
