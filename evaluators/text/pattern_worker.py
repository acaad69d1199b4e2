"""The process that searches for patterns: reads a pattern and a text, writes whether it is found.

A search that takes more processor time than the first argument says (seconds) ends it.

Started by `patterns.Matcher` as a program of its own, so that it loads nothing and can be killed.
"""

from __future__ import annotations

import re
import signal
import struct
import sys

_LENGTHS = struct.Struct("<QQ")


def main() -> None:
    """Answer one byte a request, `1` or `0`, until the requests end; `r` says that it is ready."""
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    alarm = getattr(signal, "setitimer", None)
    reply = b"r"
    while True:
        replies.write(reply)
        replies.flush()
        head = requests.read(_LENGTHS.size)
        if len(head) < _LENGTHS.size:
            return
        pattern, text = (
            requests.read(length).decode("utf-8", "surrogatepass")
            for length in _LENGTHS.unpack(head)
        )
        if alarm:  # ends this process, even if the one that waits for it is gone
            alarm(signal.ITIMER_PROF, float(sys.argv[1]))
        reply = b"1" if re.search(pattern, text) else b"0"
        if alarm:
            alarm(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
