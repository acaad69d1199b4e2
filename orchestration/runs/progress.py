"""How far a run has come, on a terminal; nothing where nobody watches."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bars

    from orchestration.runs.events import Progress


class Quiet:
    """Shows nothing: for pipes, files and tests."""

    def begin(self, steps: int) -> None:
        """A run of so many steps begins."""

    def step(self, name: str) -> None:
        """A step begins."""

    def done(self) -> None:
        """A step has ended."""


class Bar:
    """One bar: how many steps of the run are done, and which one is at work."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.task = bars.add_task("starting", total=None)

    def begin(self, steps: int) -> None:
        """A run of so many steps begins."""
        self.bars.update(self.task, total=steps)

    def step(self, name: str) -> None:
        """A step begins."""
        self.bars.update(self.task, description=name.replace("__", "/"))

    def done(self) -> None:
        """A step has ended."""
        self.bars.advance(self.task)

    def note(self, what: str) -> None:
        """Say what the step is doing."""
        self.bars.update(self.task, description=what)


_watched: list[Bar] = []
"""The bar that is shown, if one is: models are made before it, and told of no other."""


def model_at_work(model: str, done: int, total: int) -> None:
    """Shows how far a model is with what it fetches or computes, where somebody watches."""
    for bar in _watched:
        bar.note(f"{model}: {done:,} of {total:,}")


def judge_at_work(settled: int) -> None:
    """Shows how many questions came back from the judge, where somebody watches."""
    for bar in _watched:
        bar.note(f"judge: {settled:,} replies")


@contextmanager
def shown(*, quiet: bool) -> Iterator[Progress]:
    """A bar on standard error while the block runs, or nothing where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield Quiet()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description:24}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = Bar(bars)
        _watched.append(bar)
        try:
            yield bar
        finally:
            _watched.remove(bar)
