"""An event loop in a thread, whose connections close with it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from calls.http.litellm_transport import close_connections

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from concurrent.futures import Future

T = TypeVar("T")


class LoopThread:
    """An event loop in its own thread: the caller may have a running one, as notebooks do."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start a coroutine."""
        self._loop.call_soon_threadsafe(self._create, coroutine)

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine; return the future of its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def cancel_others(self) -> None:
        """Cancel all tasks except the caller's, which runs on the loop."""
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()

    def stop(self, last: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        """Cancel all tasks, await one last coroutine, close connections, and end the thread."""
        asyncio.run_coroutine_threadsafe(self._end(last), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _create(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self, last: Callable[[], Coroutine[Any, Any, None]] | None) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if last is not None:
            await last()
        await close_connections()
        # Here, because the caller of `stop` may have a running loop, as notebooks do.
        await self._loop.shutdown_default_executor()
