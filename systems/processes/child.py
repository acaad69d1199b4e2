"""Child processes: their output is read, their standard error is logged, and they end with us."""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import signal
import subprocess
import sys
import termios
import threading
from array import array
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from calls.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from systems.settings import SystemSettings

LOG = logging.getLogger(__name__)

_GUARD = Path(__file__).with_name("guard.py")
_GRACE_S = 2.0
_LAST_OUTPUT_S = 1.0
_CHUNK = 1 << 16
_MAX_LINE = 4000
_LAST_LINES = 3
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if code != ord("\t")}


class Guard:
    """Kills the child processes of this process if it is killed; see `guard`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, "-I", "-S", str(_GUARD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            bufsize=0,
            process_group=0,
        )

    def add(self, group: int) -> None:
        """Kill a process group at the end of this process."""
        self._write(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Forget a process group, which has ended."""
        self._write(f"-{group}\n")

    def close(self) -> None:
        """End the guard; it kills what was not removed."""
        with suppress(OSError):
            self._input.close()
        self._process.wait()

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # it was killed or closed
            self._input.write(line.encode())

    @property
    def _input(self) -> IO[bytes]:
        return cast("IO[bytes]", self._process.stdin)


class Child:
    """A child process, with a process group of its own.

    Attributes:
        ended: Completes when the process has ended and its output was received, with the reason in
            one line.
    """

    ended: asyncio.Task[str]

    def __init__(self, process: subprocess.Popen[bytes], name: str) -> None:
        self._process = process
        self._name = name
        self._is_killed = False
        self._why_killed: str | None = None
        self._last_lines: deque[str] = deque(maxlen=_LAST_LINES)

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        settings: SystemSettings,
        guard: Guard,
        receive: Callable[[asyncio.StreamReader], Awaitable[None]],
        environment: Mapping[str, str] | None = None,
    ) -> Child:
        """Start a program in the folder of the configuration.

        Args:
            command: The program and its arguments.
            settings: The system, which names the lines of the log.
            guard: Learns of the process.
            receive: Reads the standard output until it ends.
            environment: Variables beside those of this process.

        Raises:
            OSError: The program cannot be started.
        """
        loop = asyncio.get_running_loop()
        process = subprocess.Popen(  # noqa: ASYNC220, S603 - takes milliseconds; the user's own command
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=settings.home,
            env={**os.environ, **(environment or {})},
            bufsize=0,
            # Ctrl-C is for this process, which ends the child.
            process_group=0,
        )
        guard.add(process.pid)
        child = cls(process, settings.name)
        exited: asyncio.Future[int] = loop.create_future()
        threading.Thread(
            target=_wait, args=(process, guard, loop, exited), daemon=True, name="wait for a child"
        ).start()
        try:
            output = await child._reader(process.stdout)
            errors = await child._reader(process.stderr)
            child._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, process.stdin)
        except BaseException:
            child.kill()
            for transport in child._transports:
                transport.close()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
            raise
        tasks = (
            asyncio.ensure_future(receive(output)),
            asyncio.create_task(child._log(errors)),
        )
        child._exited = exited
        child.ended = asyncio.create_task(child._supervise(*tasks))
        return child

    @property
    def is_alive(self) -> bool:
        """Whether the process runs and reads its input."""
        return not (self._is_killed or self._exited.done() or self._input.is_closing())

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._exited.result() if self._exited.done() else None

    @property
    def unread_bytes(self) -> int:
        """How many bytes of its input the process has not read; 0 where that is unknown."""
        count = array("i", [0])
        with suppress(OSError, ValueError):  # it was closed
            fcntl.ioctl(self._input.get_extra_info("pipe"), termios.FIONREAD, count)
        return count[0] + self._input.get_write_buffer_size()

    def send(self, data: bytes) -> None:
        """Write to the standard input of the process."""
        if not self._input.is_closing():
            self._input.write(data)

    def kill(self, why: str | None = None) -> None:
        """Kill the process and its descendants.

        Args:
            why: What `ended` gives as the reason, if the process still runs.
        """
        if self._is_killed:
            return
        self._is_killed = True
        self._why_killed = why
        if self._process.returncode is None:
            _kill_descendants(self._process.pid)
            _kill_group(self._process.pid)

    async def close(self) -> None:
        """Close the input, which asks the process to end; kill it if it does not."""
        self._input.close()
        await asyncio.wait({self.ended}, timeout=_GRACE_S)
        self.kill()
        await self.ended

    async def _reader(self, pipe: IO[bytes] | None) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=_CHUNK * 16)
        protocol = asyncio.StreamReaderProtocol(reader)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: protocol, pipe)
        self._transports = (*self._transports, transport)
        return reader

    _transports: tuple[asyncio.ReadTransport, ...] = ()
    _input: asyncio.WriteTransport
    _exited: asyncio.Future[int]

    async def _supervise(
        self, receiving: asyncio.Future[None], logging_: asyncio.Future[None]
    ) -> str:
        """Wait until the process ends, and return why it did."""
        parts: set[asyncio.Future[Any]] = {receiving, logging_, self._exited}
        await asyncio.wait({*parts} - {logging_}, return_when=asyncio.FIRST_COMPLETED)
        # The output may end before or after the process. A descendant that inherited it may keep
        # it open.
        await asyncio.wait(parts, timeout=_LAST_OUTPUT_S)
        if not self._exited.done():
            self.kill("it closed its standard output")
        self.kill()
        code = await self._exited
        for task in (receiving, logging_):
            task.cancel()
        await asyncio.gather(receiving, logging_, return_exceptions=True)
        for transport in (*self._transports, self._input):
            transport.close()
        if self._why_killed is not None:
            return f"the process of the system was ended: {self._why_killed}"
        last = " | ".join(self._last_lines)
        said = f"; its standard error ends with: {last[-_MAX_LINE // 10 :]}" if last else ""
        return f"the process of the system ended with code {code}{_signal(code)}{said}"

    async def _log(self, errors: asyncio.StreamReader) -> None:
        rest = b""
        while chunk := await errors.read(_CHUNK):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _MAX_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                self._log_line(line)
        self._log_line(rest)

    def _log_line(self, line: bytes) -> None:
        text = redact(line.decode("utf-8", "replace").rstrip())
        if text:
            text = text.translate(_CONTROLS)[:_MAX_LINE]
            self._last_lines.append(text)
            LOG.warning("%s: %s", self._name, text)


def _wait(
    process: subprocess.Popen[bytes],
    guard: Guard,
    loop: asyncio.AbstractEventLoop,
    exited: asyncio.Future[int],
) -> None:
    """Wait for the end of a process, and kill what it started."""
    if hasattr(os, "waitid"):
        # Without reaping it, so that its id cannot be that of another process yet.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()
    _kill_group(process.pid)
    guard.remove(process.pid)
    code = process.wait()

    def report() -> None:
        if not exited.done():
            exited.set_result(code)

    with suppress(RuntimeError):  # the loop was closed
        loop.call_soon_threadsafe(report)


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _kill_descendants(pid: int) -> None:
    """Kill the descendants of a process, also those that left its group."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):
                process.kill()


def _signal(code: int) -> str:
    with suppress(ValueError):
        if code < 0:
            return f" ({signal.Signals(-code).name})"
    return ""
