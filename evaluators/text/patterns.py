"""User-defined patterns, searched with a time limit so that no pattern can block a run."""

from __future__ import annotations

import queue
import re
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import IO, cast

from evaluators.errors import EvaluatorError

_WORKER = Path(__file__).with_name("pattern_worker.py")
_MAX_TIMEOUTS = 10
_STARTING_S = 60.0
# On a busy machine, the wall-clock time may be this many times the limit. If the worker can limit
# its own CPU time, the wall clock only has to end a worker that hangs.
_BUSY = 100 if hasattr(signal, "setitimer") else 10
_CHOICES = 8
_SHORT = 4000
_LONG = 200
_COUNT_OF_REPEATS = re.compile(r"[*+{]")
_COUNT_OF_CHOICES = re.compile(r"[|?]")
_BACKREFERENCE = re.compile(r"\\[1-9]")


class PatternTimeout(Exception):  # noqa: N818 - a result with a reason
    """A search exceeded the time limit, or the pattern has done so too often."""


class Matcher:
    """Searches texts for patterns like Python's `re.search`.

    Fast patterns are searched in this process, all others in a worker process that ends when a
    search exceeds the limit. A pattern that exceeds it ten times is not tried again by the same
    matcher, so it costs a bounded time.
    """

    def __init__(self, limit_s: float) -> None:
        """Set the limit.

        Args:
            limit_s: Seconds of CPU time for one text, so that the load of the machine does not
                matter.
        """
        self._limit_s = limit_s
        self._worker: _Worker | None = None
        self._timeouts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def search(self, pattern: str, text: str) -> bool:
        """Return whether a valid pattern matches anywhere in a text.

        Raises:
            PatternTimeout: The search exceeds the limit.
        """
        if is_fast(pattern, len(text)):
            return _compiled(pattern).search(text) is not None
        with self._lock:
            if self._timeouts[pattern] >= _MAX_TIMEOUTS:
                raise PatternTimeout(
                    f"{pattern!r} timed out on {_MAX_TIMEOUTS} texts and was not tried again"
                )
            if self._worker is None:
                self._worker = _Worker(self._limit_s)
            found = self._worker.search(pattern, text)
            if found is None:
                self._worker = None
                self._timeouts[pattern] += 1
                raise PatternTimeout(f"{pattern!r} took longer than {self._limit_s:g} s")
            return found


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_fast(pattern: str, length: int) -> bool:
    """Return whether a pattern needs few steps on every text of this length.

    Without a repeat, each position costs at most two to the number of choices. A single repeat
    without a choice or a reference to a group costs at most the square of the length.
    """
    if len(pattern) > _LONG:
        return False
    repeats = len(_COUNT_OF_REPEATS.findall(pattern))
    choices = len(_COUNT_OF_CHOICES.findall(pattern))
    if not repeats:
        return choices <= _CHOICES
    single = repeats == 1 and not choices and not _BACKREFERENCE.search(pattern)
    return single and length <= _SHORT


class _Worker:
    """A worker process; it ends with the object that started it."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER), str(limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for this process, which ends the worker.
            process_group=0,
        )
        self._requests = cast("IO[bytes]", process.stdin)
        replies = cast("IO[bytes]", process.stdout)
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(
            target=_forward_replies, args=(replies, self._replies), daemon=True
        )
        reader.start()
        self._end = weakref.finalize(self, _stop, process, reader)
        if self._reply(_STARTING_S) != b"r":
            self._end()
            raise EvaluatorError("the process that searches for patterns did not start")

    def search(self, pattern: str, text: str) -> bool | None:
        """Return whether the pattern matches; None after the limit, which also ends the process."""
        parts = [part.encode("utf-8", "surrogatepass") for part in (pattern, text)]
        self._requests.write(struct.pack("<QQ", *map(len, parts)) + b"".join(parts))
        self._requests.flush()
        reply = self._reply(_BUSY * self._limit_s)
        if not reply:
            self._end()
            return None
        return reply == b"1"

    def _reply(self, limit_s: float) -> bytes:
        """Return the next byte of the process, or nothing if it ended or the time is over."""
        try:
            return self._replies.get(timeout=limit_s)
        except queue.Empty:
            return b""


def _forward_replies(replies: IO[bytes], queued: queue.SimpleQueue[bytes]) -> None:
    while reply := replies.read(1):
        queued.put(reply)
    queued.put(b"")


def _stop(process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
    process.kill()
    process.wait()
    reader.join()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
