"""Runs that the command line starts, and their progress."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The part of the project that a run covers, and how.

    Attributes:
        benchmarks: The benchmarks; empty for all.
        systems: The systems; empty for all.
        evaluators: The evaluators; empty for all.
        judge: Whether the run may call the judge.
        force: Whether to ask systems again, unless evaluators are selected, and to score again
            what is up to date.
        retry: Whether to make calls again that had no usable outcome; `force` implies it.
        answers_only: Whether the run ends when the systems have answered.
        limit: How many questions of each benchmark systems are asked; None for all.
    """

    benchmarks: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    judge: bool = True
    force: bool = False
    retry: bool = False
    answers_only: bool = False
    limit: int | None = None
