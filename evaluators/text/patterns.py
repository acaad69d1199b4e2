"""Patterns of users: searched with a time limit, so that none of them can hold up a run."""

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
# A busy machine may take so many times the limit on the clock. Where the process counts its own
# processor time, the clock only has to end one that hangs.
_BUSY = 100 if hasattr(signal, "setitimer") else 10
_CHOICES = 8
_SHORT = 4000
_LONG = 200
_COUNT_OF_REPEATS = re.compile(r"[*+{]")
_COUNT_OF_CHOICES = re.compile(r"[|?]")
_BACKREFERENCE = re.compile(r"\\[1-9]")


class PatternTimeout(Exception):  # noqa: N818 - a result with a reason
    """A search took longer than the limit, or the pattern did so too often to be tried again."""


class Matcher:
    """Searches texts for patterns with the meaning of Python's `re.search`.

    Patterns that cannot take long are searched here; all others in a process of its own, which
    ends when a search exceeds the limit. A pattern that has run away ten times is not tried
    again by the same matcher, so that it costs a run a bounded time.
    """

    def __init__(self, limit_s: float) -> None:
        """Prepare it.

        Args:
            limit_s: Seconds of processor time for one text, so that what else a machine has to do
                changes no result.
        """
        self._limit_s = limit_s
        self._worker: _Worker | None = None
        self._runaways: Counter[str] = Counter()
        self._lock = threading.Lock()

    def search(self, pattern: str, text: str) -> bool:
        """Whether a pattern that compiles is found anywhere in a text.

        Raises:
            RanAway: When that cannot be told within the limit.
        """
        if is_fast(pattern, len(text)):
            return _compiled(pattern).search(text) is not None
        with self._lock:
            if self._runaways[pattern] >= _MAX_TIMEOUTS:
                raise PatternTimeout(
                    f"{pattern!r} ran away on {_MAX_TIMEOUTS} texts and was not tried again"
                )
            if self._worker is None:
                self._worker = _Worker(self._limit_s)
            found = self._worker.search(pattern, text)
            if found is None:
                self._worker = None
                self._runaways[pattern] += 1
                raise PatternTimeout(f"{pattern!r} took longer than {self._limit_s:g} s")
            return found


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def is_fast(pattern: str, length: int) -> bool:
    """Whether a pattern needs few steps on every text of this length.

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
    """A process that searches; it ends with the object that started it."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        process = subprocess.Popen(  # noqa: S603 - this interpreter and a file of this package
            [sys.executable, "-I", "-S", "-W", "ignore", str(_WORKER), str(limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._requests = cast("IO[bytes]", process.stdin)
        replies = cast("IO[bytes]", process.stdout)
        self._replies: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_pass_on, args=(replies, self._replies), daemon=True)
        reader.start()
        self._end = weakref.finalize(self, _end, process, reader)
        if self._reply(_STARTING_S) != b"r":
            self._end()
            raise EvaluatorError("the process that searches for patterns did not start")

    def search(self, pattern: str, text: str) -> bool | None:
        """Whether the pattern is found; None, and the end of the process, after the limit."""
        parts = [part.encode("utf-8", "surrogatepass") for part in (pattern, text)]
        self._requests.write(struct.pack("<QQ", *map(len, parts)) + b"".join(parts))
        self._requests.flush()
        reply = self._reply(_BUSY * self._limit_s)
        if not reply:
            self._end()
            return None
        return reply == b"1"

    def _reply(self, limit_s: float) -> bytes:
        """The next byte of the process; none when it ended or the time is over."""
        try:
            return self._replies.get(timeout=limit_s)
        except queue.Empty:
            return b""


def _pass_on(replies: IO[bytes], taken: queue.SimpleQueue[bytes]) -> None:
    while reply := replies.read(1):
        taken.put(reply)
    taken.put(b"")


def _end(process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
    process.kill()
    process.wait()
    reader.join()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
