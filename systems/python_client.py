"""Asks a Python function: worker processes call it, so that a call that hangs can be ended."""

from __future__ import annotations

import asyncio
import itertools
import json
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calls.errors import TransientFailure
from calls.redaction import redact_value
from records.similar_names import did_you_mean
from systems.client import ReturnedError, SystemRefused, WrongShape, as_answer, timed
from systems.processes.child import Child, Guard
from systems.processes.json_values import MAX_ANSWER_BYTES
from systems.processes.pool import WorkerPool
from systems.processes.requests import request_of_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from systems.client import Answer, Request
    from systems.settings import PythonSystem

_ROOT = Path(__file__).parents[len(__name__.split(".")) - 1]
_PROGRAM = (
    "import sys; root = sys.argv.pop(); root in sys.path or sys.path.append(root); "
    f"from {__name__.rpartition('.')[0]}.processes.python_worker import main; main()"
)
_LENGTH = struct.Struct("<Q")
_CANCEL_S = 2.0
"""How long an asynchronous function may take to react when it is cancelled."""


class PythonClient:
    """Calls a function in worker processes: one call at a time each, or all calls if it is async.

    A call that is cancelled ends. A worker that is still busy with it is killed with its
    descendants, and replaced when one is needed.
    """

    def __init__(self, settings: PythonSystem) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._guard: Guard | None = None
        self._pool = WorkerPool(self._start_worker, settings.concurrency)
        self._shared: asyncio.Task[_Worker] | None = None
        self._workers: set[_Worker] = set()

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the request for a question: all of its fields."""
        return request_of_question(question)

    def most_usd(self, request: Request) -> float | None:  # noqa: ARG002
        """Return None: what a function spends is unknown."""
        return None

    def missing_key(self) -> None:
        """Return None: a function needs no key."""

    async def open(self) -> None:
        """Start a worker, which loads the function.

        Raises:
            SystemRefused: It cannot be loaded, or cannot be called with one argument.
        """
        file = self._settings.file
        if file is not None and not file.is_file():
            siblings = [each.name for each in file.parent.glob("*.py")]
            hint = did_you_mean(file.name, siblings)
            raise SystemRefused(f"{self._described}: there is no file {str(file)!r}{hint}")
        try:
            worker = await self._start_worker()
        except TransientFailure as failure:
            raise SystemRefused(f"{self._described} cannot be loaded: {failure}") from None
        if worker.is_async:
            self._shared = asyncio.create_task(_return(worker))
        else:
            self._pool.add(worker)

    async def ask(self, request: Request, repeat: int) -> Answer:  # noqa: ARG002
        """Call the function once; cancelling ends the call.

        Raises:
            TimeoutError: The call took longer than `timeout_s`.
            TransientFailure: The process ended, or the function raised an error of a connection.
            ReturnedError: The function raised another error, or returned one.
            WrongShape: The function returned neither a text nor fields of a prediction.
            SystemRefused: The function can no longer be loaded.
        """
        limit = self._settings.timeout_s
        if self._shared is None:
            async with self._pool.worker() as worker:
                return await timed(worker.call(request.sent), limit)
        if self._shared.done() and not _is_alive(self._shared):
            self._shared = asyncio.create_task(self._start_worker())
        # A call that is cancelled meanwhile does not end the worker that others wait for.
        worker = await asyncio.shield(self._shared)
        return await timed(worker.call(request.sent), limit)

    async def close(self) -> None:
        """End the workers."""
        await self._pool.close()
        if self._shared is not None:
            self._shared.cancel()
            await asyncio.gather(self._shared, return_exceptions=True)
        await asyncio.gather(*(worker.close() for worker in self._workers))
        if self._guard is not None:
            self._guard.close()

    @property
    def _described(self) -> str:
        return f"the system {self._settings.name!r}"

    async def _start_worker(self) -> _Worker:
        if self._guard is None:
            self._guard = Guard()
        worker = await _Worker.start(self._settings, self._guard)
        self._workers.add(worker)
        worker.child.ended.add_done_callback(lambda _: self._workers.discard(worker))
        return worker


class _Worker:
    """A worker process.

    Attributes:
        child: The process.
        is_async: Whether the function is asynchronous, so that many calls run at once.
    """

    child: Child

    def __init__(self) -> None:
        self.is_async = False
        self._numbers = itertools.count()
        self._loaded: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._calls: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._cancelled: set[int] = set()

    @classmethod
    async def start(cls, settings: PythonSystem, guard: Guard) -> _Worker:
        """Start a worker and wait until it has loaded the function.

        Raises:
            SystemRefused: It cannot be loaded.
            TransientFailure: The process ended.
        """
        worker = cls()
        command = [sys.executable, "-P", "-c", _PROGRAM, str(_ROOT)]
        worker.child = await Child.start(command, settings, guard, worker._receive)
        try:
            worker._send(
                {
                    "module": settings.module,
                    "function": settings.function,
                    "home": str(settings.home.absolute()),
                    "path": _import_path(),
                }
            )
            loaded = await worker._wait_until_loaded(settings)
        except BaseException:
            worker.kill()
            await worker.child.ended
            raise
        worker.is_async = loaded["is_async"]
        return worker

    @property
    def is_alive(self) -> bool:
        """Whether it can do a call."""
        return self.child.is_alive

    async def call(self, question: Mapping[str, Any]) -> Answer:
        """Call the function.

        Raises:
            CallFailure: There is no answer.
        """
        number = next(self._numbers)
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._calls[number] = reply
        self._send({"id": number, "question": question})
        try:
            ends: set[asyncio.Future[Any]] = {reply, self.child.ended}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                raise TransientFailure(self.child.ended.result(), billed=True)
            return _answer(reply.result())
        except asyncio.CancelledError:
            if self.is_async and not reply.done():
                self._cancel(number)
            raise
        finally:
            del self._calls[number]

    def kill(self) -> None:
        """End the process at once."""
        self.child.kill()

    async def close(self) -> None:
        """End the process."""
        await self.child.close()

    def _cancel(self, number: int) -> None:
        """Cancel a call; kill the worker if the function does not react."""

        def check() -> None:
            if number in self._cancelled:
                self.child.kill(f"a cancelled call did not end within {_CANCEL_S:g} s")

        self._cancelled.add(number)
        self._send({"cancel": number})
        asyncio.get_running_loop().call_later(_CANCEL_S, check)

    async def _wait_until_loaded(self, settings: PythonSystem) -> dict[str, Any]:
        ends: set[asyncio.Future[Any]] = {self._loaded, self.child.ended}
        limit = settings.start_timeout_s
        await asyncio.wait(ends, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        system = f"the system {settings.name!r}"
        if not self._loaded.done():
            if self.child.ended.done():
                raise TransientFailure(self.child.ended.result())
            raise SystemRefused(
                f"{system}: {settings.module!r} was not loaded within {limit:g} s, the limit of "
                "start_timeout_s"
            )
        loaded = self._loaded.result()
        if "refused" in loaded:
            hint = did_you_mean(loaded["name"], loaded["names"]) if loaded["name"] else ""
            raise SystemRefused(f"{system}: {loaded['refused']}{hint}")
        return loaded

    def _send(self, message: Mapping[str, Any]) -> None:
        text = json.dumps(message).encode()
        self.child.send(_LENGTH.pack(len(text)) + text)

    async def _receive(self, output: asyncio.StreamReader) -> None:
        while True:
            try:
                (length,) = _LENGTH.unpack(await output.readexactly(_LENGTH.size))
                if length > MAX_ANSWER_BYTES:
                    raise ValueError(length)  # noqa: TRY301 - not a length, but other output
                message = json.loads(await output.readexactly(length))
            except asyncio.IncompleteReadError:
                return
            except ValueError:
                self.child.kill("it wrote to the pipe of its answers")
                return
            if "id" not in message:
                self._loaded.set_result(message)
                continue
            self._cancelled.discard(message["id"])
            reply = self._calls.get(message["id"])
            if reply is not None and not reply.done():
                reply.set_result(message)
            if "is_spent" in message:
                self.child.kill("a call ran out of memory")


def _import_path() -> list[str]:
    """Return the folders that this process imports from; `` is the current one."""
    return [str(Path(folder).absolute()) for folder in sys.path]


def _answer(reply: Mapping[str, Any]) -> Answer:
    """Return the answer that a worker wrote, without secrets, or raise the failure."""
    reply = redact_value(reply)
    if "transport" in reply:
        raise TransientFailure(
            reply["transport"],
            retry_after=reply.get("retry_after"),
            busy=reply.get("busy", False),
            billed=True,
        )
    if "error" in reply:
        raise ReturnedError(reply["error"])
    if "shape" in reply:
        raise WrongShape(reply["shape"])
    if "cancelled" in reply:
        raise TransientFailure("the function cancelled itself", billed=True)
    return replace(as_answer(reply["answer"]), first_token_s=reply.get("first_token_s"))


def _is_alive(started: asyncio.Task[_Worker]) -> bool:
    return started.exception() is None and started.result().is_alive


async def _return(worker: _Worker) -> _Worker:
    return worker
