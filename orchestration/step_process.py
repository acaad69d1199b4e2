"""Processes of steps: loaded by the process that they are forked from, before it forks any.

A step must not go on, unseen, when the process of its run was killed and the run is begun again:
both would ask the judge, and both would be paid for.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PARENT = os.getpid()
"""The process that steps are forked from; it ends with that of their run, however that ends."""

SET_PARENT_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of Linux; other systems have nothing like it."""


def _end_with_parent() -> None:
    # What a step forks in its turn is its own affair.
    if os.getppid() != PARENT:
        return
    ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != PARENT:
        os.kill(os.getpid(), signal.SIGKILL)


if sys.platform == "linux":
    os.register_at_fork(after_in_child=_end_with_parent)
