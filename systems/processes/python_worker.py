"""The Python worker: a process that loads a function, calls it and writes what it returns.

`python_client` starts it as a program. A message has 8 bytes with its length and a JSON object. The
first one says what to load; the others have the number of a call with `question` or `cancel`. What
it imports loads quickly.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from systems.processes.json_values import MAX_ANSWER_BYTES
from systems.processes.python_calls import Caller, too_large
from systems.processes.python_loading import Refused, is_async, load

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Event, Task

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 20


class Channel:
    """Messages from and to the parent, apart from standard input and output."""

    def __init__(self) -> None:
        """Move both to other descriptors: what the function prints goes to standard error."""
        self._requests, self._replies = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(line_buffering=True, errors="backslashreplace")

    def read(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the input."""
        head = self._read(_LENGTH.size)
        if head is None:
            return None
        content = self._read(*_LENGTH.unpack(head))
        message: dict[str, Any] | None = None if content is None else json.loads(content)
        return message

    def write(self, message: dict[str, Any]) -> None:
        """Write a message; one that is too large becomes a result that says so."""
        text = json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(text) > MAX_ANSWER_BYTES:
            text = json.dumps({"id": message["id"], "shape": too_large(len(text))}).encode()
        left = memoryview(_LENGTH.pack(len(text)) + text)
        while left:
            left = left[os.write(self._replies, left) :]

    def _read(self, length: int) -> bytearray | None:
        # Without a buffer: at its end, Python cannot take one from a thread that reads.
        read = bytearray()
        while len(read) < length:
            part = os.read(self._requests, min(length - len(read), _CHUNK))
            if not part:
                return None
            read += part
        return read


def main() -> None:
    """Load the function and serve calls until the input ends."""
    channel = Channel()
    what = channel.read()
    if what is None:
        return
    sys.path += [folder for folder in what["path"] if folder not in sys.path]
    try:
        function, roots = load(what["module"], what["function"], what["home"])
    except Refused as error:
        channel.write({"refused": str(error), "name": error.name, "names": error.names})
        return
    caller = Caller(function, roots)
    is_concurrent = is_async(function)
    channel.write({"ready": True, "is_async": is_concurrent})
    if is_concurrent:
        import asyncio

        asyncio.run(_ConcurrentCalls(caller, channel).serve())
    else:
        _serve(caller, channel)
        caller.close()


def _serve(caller: Caller, channel: Channel) -> None:
    """Do one call after the other, on the main thread as in a script."""
    while (message := channel.read()) is not None:
        if "question" in message:
            channel.write({"id": message["id"], **caller.call(message["question"])})


class _ConcurrentCalls:
    """Does all calls on one event loop."""

    _loop: AbstractEventLoop
    _ended: Event

    def __init__(self, caller: Caller, channel: Channel) -> None:
        self._caller = caller
        self._channel = channel
        self._tasks: dict[int, Task[dict[str, Any]]] = {}

    async def serve(self) -> None:
        import asyncio

        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        threading.Thread(target=self._read, daemon=True).start()
        await self._ended.wait()

    def _read(self) -> None:
        is_open = True
        while is_open:
            message = self._channel.read()
            is_open = message is not None
            with suppress(RuntimeError):  # the loop was closed
                self._loop.call_soon_threadsafe(self._receive, message)

    def _receive(self, message: dict[str, Any] | None) -> None:
        if message is None:
            self._ended.set()
        elif "question" in message:
            number = message["id"]
            task = self._loop.create_task(self._caller.call_async(message["question"]))
            self._tasks[number] = task
            task.add_done_callback(partial(self._finish, number))
        elif message["cancel"] in self._tasks:
            self._tasks[message["cancel"]].cancel()

    def _finish(self, number: int, task: Task[dict[str, Any]]) -> None:
        del self._tasks[number]
        if task.cancelled():
            self._channel.write({"id": number, "cancelled": True})
        elif task.exception() is None:  # `SystemExit` ends the process
            self._channel.write({"id": number, **task.result()})
