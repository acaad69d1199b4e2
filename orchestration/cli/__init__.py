"""The command line, `scoreline COMMAND`; heavy imports wait until a command runs."""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

from orchestration import interrupts
from orchestration.cli import closed_pipes


def main() -> None:
    """Run the command line and exit with its exit code."""
    interrupts.install()
    atexit.register(interrupts.ignore)
    closed_pipes.install()
    # Processes that Scoreline starts must not import from the current folder: it may hold a
    # `warehouse.py` or `signal.py` of yours.
    os.environ["PYTHONSAFEPATH"] = "1"
    if folders := os.environ.get("PYTHONPATH"):
        # Dagster drops the first one, which it takes for the current folder.
        os.environ["PYTHONPATH"] = os.pathsep.join([os.devnull, folders])

    # The default of 700 triggers a thousand useless collections while Dagster is imported.
    gc.set_threshold(50_000)
    # Skips the garbage collection at exit, which takes most of a second.
    atexit.register(gc.freeze)
    try:
        from orchestration.cli.program import program

        program(prog_name="scoreline")
    except KeyboardInterrupt:
        # Before the command, or after it.
        sys.exit(interrupts.exit_code(interrupts.received_signal() or signal.SIGINT))
