"""The guard: a process that kills process groups when its parent ends without having done so.

Its parent writes `+N` when it starts the group N and `-N` when that has ended, one per line. At
the end of the input, which comes also if the parent is killed, it kills the groups that are left.

`child.Guard` starts it as a separate program, which loads quickly.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """Read groups until the input ends, then kill those that are left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin.buffer:
        change = groups.add if line.startswith(b"+") else groups.discard
        change(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:
            continue  # it has ended


if __name__ == "__main__":
    main()
