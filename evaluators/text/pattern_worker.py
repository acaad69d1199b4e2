"""The pattern worker: a process that reads patterns and texts and writes whether they match.

A search that exceeds the CPU time of the first argument (seconds) ends the process.

`patterns.Matcher` starts it as a separate program, which loads quickly and can be killed.
"""

from __future__ import annotations

import re
import signal
import struct
import sys

_LENGTHS = struct.Struct("<QQ")


def main() -> None:
    """Write `r` when ready, then `1` or `0` for each request until the input ends."""
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
        if alarm:  # ends this process even if its parent is gone
            alarm(signal.ITIMER_PROF, float(sys.argv[1]))
        reply = b"1" if re.search(pattern, text) else b"0"
        if alarm:
            alarm(signal.ITIMER_PROF, 0)


if __name__ == "__main__":
    main()
