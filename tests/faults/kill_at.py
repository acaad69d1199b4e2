"""Runs `scoreline` in this process, and kills it where it removes or renames temporary files.

    python -m tests.faults.kill_at PLACE ARGUMENT...

A place is the function that owns a temporary folder, such as `snapshot.py:_publish`; at its end all
its files are there. For the place `none` nothing is killed, and the places go to standard output.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestration.cli import main

if TYPE_CHECKING:
    from types import FrameType

ROOT = Path(__file__).parents[2]
MECHANISM = {"scratch.py", "atomic.py", "kill_at.py"}
EVENTS = {"os.rename", "shutil.rmtree"}


def place_of(frame: FrameType | None) -> str:
    """The first function of the project on the stack that is not the mechanism itself."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and ".venv" not in path.parts and path.name not in MECHANISM:
            return f"{path.name}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "exit"


def watch(place: str) -> None:
    """Kill this process at a place, or write the places."""
    seen: set[str] = set()

    def notice(event: str, given: tuple[Any, ...]) -> None:
        if event not in EVENTS or ".scoreline-" not in str(given[0]):
            return
        found = place_of(sys._getframe(1))
        if found == place and os.path.lexists(given[0]):
            os.kill(os.getpid(), signal.SIGKILL)
        if place == "none" and found not in seen and os.path.lexists(given[0]):
            seen.add(found)
            os.write(1, f"PLACE {found}\n".encode())

    sys.addaudithook(notice)


if __name__ == "__main__":
    watch(sys.argv[1])
    sys.argv[1:] = sys.argv[2:]
    main()
