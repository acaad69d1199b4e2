"""The command line: `scoreline COMMAND`; nothing heavy is imported before a command runs."""

from __future__ import annotations

from orchestration.cli.program import program


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    program(prog_name="scoreline")
