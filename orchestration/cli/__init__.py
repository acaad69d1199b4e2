"""The command line: `scoreline COMMAND`; nothing heavy is imported before a command runs."""

from __future__ import annotations


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    from orchestration.cli.program import program

    program(prog_name="scoreline")
