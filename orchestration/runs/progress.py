"""Progress bars for runs on a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bars

    from orchestration.runs.events import Progress


class NoProgress:
    """Shows nothing: for pipes, files and tests."""

    def begin(self, steps: int) -> None:
        """Start a run of this many steps."""

    def step(self, name: str) -> None:
        """Start a step."""

    def done(self) -> None:
        """End a step."""


class ProgressBar:
    """A bar with the number of finished steps and the name of the current one."""

    def __init__(self, bars: Bars) -> None:
        self.bars = bars
        self.task = bars.add_task("starting", total=None)

    def begin(self, steps: int) -> None:
        """Start a run of this many steps."""
        self.bars.update(self.task, total=steps)

    def step(self, name: str) -> None:
        """Start a step."""
        self.bars.update(self.task, description=name.replace("__", "/"))

    def done(self) -> None:
        """End a step."""
        self.bars.advance(self.task)

    def describe(self, text: str) -> None:
        """Describe what the current step does."""
        self.bars.update(self.task, description=text)


# Models are created before the bar, so they find it here.
_visible_bars: list[ProgressBar] = []


def show_model_progress(model: str, done: int, total: int) -> None:
    """Show the progress of a download or computation of a model, if a bar is visible."""
    for bar in _visible_bars:
        bar.describe(f"{model}: {done:,} of {total:,}")


def show_judge_progress(settled: int) -> None:
    """Show the number of replies from the judge, if a bar is visible."""
    for bar in _visible_bars:
        bar.describe(f"judge: {settled:,} replies")


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Progress]:
    """Show a bar on standard error while the block runs; no bar if that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield NoProgress()
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
        bar = ProgressBar(bars)
        _visible_bars.append(bar)
        try:
            yield bar
        finally:
            _visible_bars.remove(bar)
