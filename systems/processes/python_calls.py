"""Calls of a Python function, and what comes of them: a value, a text in parts, or an error."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from typing import Any, TypeAlias

from systems.processes.json_values import (
    MAX_ANSWER_BYTES,
    WrongValue,
    short,
    storable,
    to_json,
)
from systems.processes.python_errors import (
    describe,
    is_transport,
    limits,
    where,
)

Function: TypeAlias = Callable[[dict[str, Any]], Any]


class Caller:
    """Calls the function and describes what comes of it."""

    def __init__(self, function: Function, roots: tuple[str, ...]) -> None:
        self._function = function
        self._roots = roots
        self._runner: Any = None

    def call(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one call."""
        started = time.perf_counter()
        try:
            returned = self._function(question)
            if isinstance(returned, Awaitable | AsyncIterator):
                return self._run(self._finish_async(returned, started))
            return self._finish(returned, started)
        except Exception as error:  # noqa: BLE001 - a function may raise anything
            return self._describe(error)

    async def call_async(self, question: dict[str, Any]) -> dict[str, Any]:
        """Return the result of one call on the running loop."""
        started = time.perf_counter()
        try:
            return await self._finish_async(self._function(question), started)
        except Exception as error:  # noqa: BLE001 - a function may raise anything
            return self._describe(error)

    def close(self) -> None:
        """Close the event loop, if one was needed."""
        if self._runner is not None:
            self._runner.close()

    def _run(self, coroutine: Any) -> dict[str, Any]:
        if self._runner is None:
            import asyncio

            self._runner = asyncio.Runner()
        result: dict[str, Any] = self._runner.run(coroutine)
        return result

    async def _finish_async(self, returned: Any, started: float) -> dict[str, Any]:
        if isinstance(returned, Awaitable):
            returned = await returned
        if not isinstance(returned, AsyncIterator):
            return self._finish(returned, started)
        stream = Stream(started)
        async for part in returned:
            stream.add(part)
        return stream.result()

    def _finish(self, returned: Any, started: float) -> dict[str, Any]:
        if isinstance(returned, Iterator):
            stream = Stream(started)
            for part in returned:
                stream.add(part)
            return stream.result()
        if not isinstance(returned, str | Mapping):
            hint = ": is there a `return`?" if returned is None else f": {short(returned)}"
            raise WrongValue(
                "expected a text or a dict with fields of a prediction, found "
                f"{type(returned).__name__}{hint}"
            )
        return {"answer": to_json(returned, "")}

    def _describe(self, error: BaseException) -> dict[str, Any]:
        if isinstance(error, WrongValue):
            return {"shape": str(error)}
        line = f"{describe(error)} ({where(error, self._roots)})"
        if isinstance(error, MemoryError):
            return {"transport": line, "is_spent": True}
        return {"transport": line, **limits(error)} if is_transport(error) else {"error": line}


class Stream:
    """The text of a generator, and when its first part came."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._parts: list[str] = []
        self._length = 0
        self._first_s: float | None = None

    def add(self, part: object) -> None:
        """Append a part."""
        if not isinstance(part, str):
            raise WrongValue(
                f"part {len(self._parts)} of the stream: expected text, found "
                f"{type(part).__name__}: {short(part)}"
            )
        if part and self._first_s is None:
            self._first_s = time.perf_counter() - self._started
        self._parts.append(part)
        self._length += len(part)
        if self._length > MAX_ANSWER_BYTES:
            raise WrongValue(too_large(self._length))

    def result(self) -> dict[str, Any]:
        """Return the whole text as the result of a call."""
        return {"answer": storable("".join(self._parts)), "first_token_s": self._first_s}


def too_large(size: int) -> str:
    """Return what is wrong with an answer of this size in bytes."""
    return f"the answer has {size / 1e6:.1f} MB; at most {MAX_ANSWER_BYTES / 1e6:g} MB are read"
