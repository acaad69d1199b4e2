"""Processes of this machine, told by their numbers."""

from __future__ import annotations

import os


def is_alive(pid: int) -> bool:
    """Whether a process of this machine is there, whoever it belongs to."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        # It belongs to somebody else.
        return True
    return True
