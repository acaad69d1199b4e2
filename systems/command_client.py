"""Asks a program: one question per line in, one answer per line out, one question at a time."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calls.errors import CallFailure, TransientFailure
from calls.redaction import redact, redact_value
from records.similar_names import did_you_mean
from systems.client import SystemRefused, WrongShape, as_answer, timed
from systems.processes.child import Child, Guard
from systems.processes.json_values import (
    MAX_ANSWER_BYTES,
    WrongValue,
    short,
    to_json,
)
from systems.processes.pool import WorkerPool
from systems.processes.requests import request_of_question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from systems.client import Answer, Request
    from systems.settings import CommandSystem

LOG = logging.getLogger(__name__)

_CHUNK: Final = 1 << 18
_FIRST: Final = asyncio.FIRST_COMPLETED
_POLL_S: Final = 0.01
"""How often a new process is checked for whether it reads its first question, in seconds."""


class CommandClient:
    """Runs a program in up to `concurrency` processes, which answer one question at a time.

    A process stays for the next question. One that a call was cancelled in is killed with its
    descendants, and replaced when one is needed.
    """

    def __init__(self, settings: CommandSystem) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._guard: Guard | None = None
        self._pool = WorkerPool(self._start, settings.concurrency)

    def request(self, question: Mapping[str, Any]) -> Request:
        """Return the request for a question: all of its fields."""
        return request_of_question(question)

    def most_usd(self, request: Request) -> float | None:  # noqa: ARG002
        """Return None: what a program spends is unknown."""
        return None

    def missing_key(self) -> None:
        """Return None: a program needs no key."""

    async def open(self) -> None:
        """Start the first process.

        Raises:
            SystemRefused: The program does not exist or cannot be started.
        """
        self._pool.add(await self._start())

    async def ask(self, request: Request, repeat: int) -> Answer:  # noqa: ARG002
        """Send a question and wait for its answer; cancelling kills the process.

        Raises:
            TimeoutError: The answer took longer than `timeout_s`.
            TransientFailure: The process ended.
            ReturnedError: The answer is an error.
            WrongShape: What the process wrote is not the answer to this question.
            SystemRefused: The program can no longer be started.
        """
        while True:
            async with self._pool.worker() as process:
                try:
                    return await process.ask(request.sent)
                except _EndedEarlier:
                    continue  # with another process

    async def close(self) -> None:
        """End the processes."""
        await self._pool.close()
        if self._guard is not None:
            self._guard.close()

    async def _start(self) -> _Process:
        if self._guard is None:
            self._guard = Guard()
        process = _Process(self._settings)
        try:
            process.child = await Child.start(
                self._settings.command,
                self._settings,
                self._guard,
                process.receive,
                _environment(),
            )
        except OSError as error:
            reason = _explain(error, self._settings.command[0], self._settings.home)
            raise SystemRefused(f"the system {self._settings.name!r}: {reason}") from None
        return process


class _EndedEarlier(Exception):  # noqa: N818 - handled by the client
    """A process that had answered other questions ended with code 0 before it answered this one."""


class _Process:
    """A process of the program.

    Attributes:
        child: The process.
    """

    child: Child

    def __init__(self, settings: CommandSystem) -> None:
        self._settings = settings
        self._has_read = False
        self._question_id: str | None = None
        self._reply: asyncio.Future[Answer] | None = None
        self._answered: set[str] = set()
        self._failed: set[str] = set()
        self._unexpected: str | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it can be asked."""
        return self.child.is_alive

    async def ask(self, question: Mapping[str, Any]) -> Answer:
        """Send a question and wait for its answer.

        Raises:
            TimeoutError: The answer took longer than `timeout_s`.
            CallFailure: There is no answer.
            SystemRefused: The process did not begin to read within `start_timeout_s`.
            _EndedEarlier: The process should not have been asked.
        """
        if self._unexpected is not None:
            unexpected, self._unexpected = self._unexpected, None
            raise WrongShape(unexpected)
        self._question_id = question["question_id"]
        if self._question_id in self._failed:  # its late answer could be taken for the new one
            self.kill()
            raise _EndedEarlier
        reply: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._reply = reply
        line = json.dumps(question).encode() + b"\n"
        self.child.send(line)
        try:
            started = await self._wait_until_read(reply, len(line))
            return await timed(self._receive(reply), self._settings.timeout_s, started)
        finally:
            self._reply = None

    async def _wait_until_read(self, reply: asyncio.Future[Answer], size: int) -> float:
        """Wait until a new process begins to read its first question, which ends its start-up.

        Returns:
            When it began, by the monotonic clock.
        """
        started = unread_at = time.monotonic()
        ends: set[asyncio.Future[Any]] = {reply, self.child.ended}
        while not self._has_read and self.child.unread_bytes >= size:
            unread_at = time.monotonic()
            limit = self._settings.start_timeout_s
            if unread_at - started > limit:
                raise SystemRefused(
                    f"the system {self._settings.name!r}: the program did not read its first "
                    f"question within {limit:g} s, the limit of start_timeout_s"
                )
            if (await asyncio.wait(ends, timeout=_POLL_S, return_when=_FIRST))[0]:
                break
        self._has_read = True
        return unread_at

    async def _receive(self, reply: asyncio.Future[Answer]) -> Answer:
        ends: set[asyncio.Future[Any]] = {reply, self.child.ended}
        await asyncio.wait(ends, return_when=_FIRST)
        if reply.done():
            return reply.result()
        if self._answered and self.child.exit_code == 0:
            raise _EndedEarlier
        raise TransientFailure(self.child.ended.result(), billed=True)

    def kill(self) -> None:
        """End the process at once."""
        self.child.kill()

    async def close(self) -> None:
        """End the process."""
        await self.child.close()

    async def receive(self, output: asyncio.StreamReader) -> None:
        """Read answers until the output ends; the last one may lack the end of its line."""
        parts: list[bytes] = []
        size = 0
        while chunk := await output.read(_CHUNK):
            *lines, rest = chunk.split(b"\n")
            size += len(lines[0] if lines else rest)
            if size > MAX_ANSWER_BYTES:
                self._fail(f"a line has more than {MAX_ANSWER_BYTES / 1e6:g} MB")
                self.child.kill()
                return
            for line in lines:
                self._take(b"".join((*parts, line)))
                parts, size = [], len(rest)
            parts.append(rest)
        self._take(b"".join(parts))

    def _take(self, line: bytes) -> None:
        """Settle the question with a line of the output."""
        if not line.strip():
            return
        try:
            found = _parse(line)
        except WrongShape as failure:
            self._fail(redact(str(failure)))
            return
        question_id = found["question_id"]
        reply = self._reply
        if reply is not None and not reply.done() and question_id == self._question_id:
            self._answered.add(question_id)
            try:
                reply.set_result(as_answer(redact_value(found)))
            except CallFailure as failure:
                reply.set_exception(failure)
        elif question_id in self._failed:
            self._failed.discard(question_id)
            LOG.warning("%s: the answer to %r came too late", self._settings.name, question_id)
        elif question_id in self._answered:
            self._fail(f"a second answer to question {question_id!r}")
        else:
            self._fail(f"an answer to question {question_id!r}, which was not asked")

    def _fail(self, reason: str) -> None:
        """Fail the question in progress, or else the next one, for an unexpected line."""
        reason = f"standard output: {reason}"
        if self._reply is None or self._reply.done():
            self._unexpected = reason
        else:
            self._failed.add(str(self._question_id))
            self._reply.set_exception(WrongShape(reason))


def _environment() -> dict[str, str]:
    """Return variables that make programs in Python run as expected.

    They write each line at once, and `python` is found where no virtual environment is active.
    """
    folders = (*os.get_exec_path(), str(Path(sys.executable).parent))
    return {"PYTHONUNBUFFERED": "1", "PATH": os.pathsep.join(folders)}


def _parse(line: bytes) -> dict[str, Any]:
    """Return the object on a line, with its `question_id`."""
    try:
        found = to_json(json.loads(line, parse_constant=_reject_constant), "")
    except WrongValue as error:
        raise WrongShape(str(error)) from None
    except (ValueError, RecursionError) as error:
        shown = short(line.decode("utf-8", "replace").rstrip("\r"))
        raise WrongShape(
            f"expected one JSON object per line and nothing else, found {shown} ({error})"
        ) from None
    if not isinstance(found, dict):
        raise WrongShape(f"expected one JSON object per line, found {short(found)}")
    question_id = found.get("question_id")
    if not isinstance(question_id, str):
        raise WrongShape(f"expected the text `question_id` of the question, found {short(found)}")
    return found


def _reject_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _explain(error: OSError, program: str, home: Path) -> str:
    """Return why a program cannot be started."""
    is_path = os.sep in program
    file = home / program
    if isinstance(error, FileNotFoundError) and (not is_path or not file.exists()):
        where = str(home) if is_path else "the folders of PATH"
        return f"there is no program {program!r} in {where}{_near_name(program, home)}"
    if isinstance(error, FileNotFoundError):
        return f"the interpreter in the first line of {program!r} does not exist"
    if isinstance(error, PermissionError):
        return f"{program!r} may not be executed: chmod +x {program}"
    if error.errno == errno.ENOEXEC:
        return f"{program!r} is not a program; a script needs a first line such as #!/bin/sh"
    return f"{program!r} cannot be started: {error.strerror}"


def _near_name(program: str, home: Path) -> str:
    if os.sep in program:
        folder = (home / program).parent
        names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
        return did_you_mean(Path(program).name, names)
    if (home / program).is_file():
        return f" (did you mean {f'./{program}'!r}?)"
    folders = [Path(each) for each in os.get_exec_path() if Path(each).is_dir()]
    return did_you_mean(program, {each.name for folder in folders for each in folder.iterdir()})
