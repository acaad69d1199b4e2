"""The command line: `scoreline COMMAND`; nothing heavy is imported before a command runs."""

from __future__ import annotations

import atexit
import gc


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from orchestration.cli.program import program

    # The system takes back all memory at the end. Python would first look for garbage among
    # everything that was loaded, which takes most of a second.
    atexit.register(gc.freeze)
    program(prog_name="scoreline")
