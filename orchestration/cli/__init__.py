"""The command line, `scoreline COMMAND`; heavy imports wait until a command runs."""

from __future__ import annotations

import atexit
import gc
import os


def main() -> None:
    """Run the command line and exit with its exit code."""
    from orchestration.cli.program import program

    # Processes that Scoreline starts must not import from the current folder: it may hold a
    # `warehouse.py` or `signal.py` of yours.
    os.environ["PYTHONSAFEPATH"] = "1"

    # The default of 700 triggers a thousand useless collections while Dagster is imported.
    gc.set_threshold(50_000)
    # Skips the garbage collection at exit, which takes most of a second.
    atexit.register(gc.freeze)
    program(prog_name="scoreline")
