"""Processes of steps: loaded by the process that they are forked from, before it forks any.

A step must not go on, unseen, when the process of its run was killed and the run is begun again:
both would ask the judge, and both would be paid for.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait
from multiprocessing.util import register_after_fork


def _end_with_run(_: object) -> None:
    # Whoever asked for this process, not the one that it was forked from, which outlives both.
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


register_after_fork(_end_with_run, _end_with_run)
