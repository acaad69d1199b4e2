"""What a run is narrowed to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a run is narrowed to.

    Attributes:
        benchmarks: The benchmarks; empty: all.
        systems: The systems; empty: all.
        evaluators: The evaluators; empty: all.
        judge: Whether the judge model may be asked.
        force: Whether to score again what is up to date.
    """

    benchmarks: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    judge: bool = True
    force: bool = False
