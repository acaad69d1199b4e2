"""Progress of runs: a bar on a terminal, a line every few seconds elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from warehouse.foreign_text import show_hidden_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as Bars

INTERVAL_S = 5.0
"""The seconds between two lines, if there is something new to say."""

REPEAT_S = 30.0
"""The seconds after which a line is repeated while nothing changes."""

PHRASES = {
    "ingest": "reading questions and predictions",
    "ask": "asking systems",
    "ingest_2": "reading predictions",
    "judge": "asking the judge",
    "leaderboard": "ranking and comparing systems",
    "find": "looking for problems",
    "published": "publishing",
}
"""What the steps of a run do; the others check something."""


class Progress:
    """What a run is doing, in words and in finished steps.

    Attributes:
        text: What the run is doing.
        steps: The number of steps; None while it is unknown.
        finished: The number of finished steps.
        answers: The number of answers from systems.
    """

    def __init__(self) -> None:
        self.text = "reading the configuration and the input"
        self.steps: int | None = None
        self.finished = 0
        self.answers = 0
        self._evaluators = 0
        self._scored: set[str] = set()

    def begin(self, steps: int, evaluators: int) -> None:
        """Start a run of some steps, one of which scores with some evaluators."""
        self.steps, self._evaluators = steps, evaluators

    def step(self, name: str) -> None:
        """Start a step."""
        if name == "score":
            self._scored = set()
            self._describe_scoring()
        else:
            self.describe(PHRASES.get(name, "checking the tables"))

    def scored(self, evaluator: str) -> None:
        """Count an evaluator whose scores are complete."""
        self._scored.add(evaluator)
        self._describe_scoring()

    def done(self) -> None:
        """End a step."""
        self.finished += 1

    def describe(self, text: str) -> None:
        """Say what the run is doing; names of models come from outside."""
        self.text = show_hidden_line(text)

    def _describe_scoring(self) -> None:
        at = min(len(self._scored) + 1, self._evaluators)
        self.describe(f"scoring {at} of {self._evaluators} evaluators")


class ProgressBar(Progress):
    """A bar with what the run is doing, and the number of finished steps."""

    def __init__(self, bars: Bars) -> None:
        super().__init__()
        self.bars = bars
        self.task = bars.add_task(self.text, total=None)

    def begin(self, steps: int, evaluators: int) -> None:
        """Start a run of some steps."""
        super().begin(steps, evaluators)
        self.bars.update(self.task, total=steps)

    def done(self) -> None:
        """End a step."""
        super().done()
        self.bars.advance(self.task)

    def describe(self, text: str) -> None:
        """Say what the run is doing."""
        super().describe(text)
        self.bars.update(self.task, description=self.text)


# Models are created before the progress, so they find it here.
_shown: list[Progress] = []


def show_model_progress(model: str, done: int, total: int) -> None:
    """Show the progress of a download or computation of a model."""
    for progress in _shown:
        progress.describe(f"{model}: {done:,} of {total:,}")


def show_judge_progress(settled: int) -> None:
    """Show the number of replies from the judge."""
    for progress in _shown:
        progress.describe(f"asking the judge: {settled:,} replies")


def show_answers(count: int) -> None:
    """Add to the number of answers from systems."""
    for progress in _shown:
        progress.answers += count
        progress.describe(f"asking systems: {progress.answers:,} answers")


@contextmanager
def show_progress(*, quiet: bool, lines: bool = False) -> Iterator[Progress]:
    """Show on standard error what a run is doing while the block runs.

    Args:
        quiet: Whether to show nothing.
        lines: Whether to write lines if standard error is not a terminal; by default nothing.
    """
    if quiet:
        yield Progress()
    elif sys.stderr.isatty():
        with _bar() as bar, _visible(bar):
            yield bar
    elif lines:
        progress = Progress()
        with _lines(progress), _visible(progress):
            yield progress
    else:
        yield Progress()


@contextmanager
def _visible(progress: Progress) -> Iterator[None]:
    _shown.append(progress)
    try:
        yield
    finally:
        _shown.remove(progress)


@contextmanager
def _bar() -> Iterator[ProgressBar]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        TextColumn("{task.description:30}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("steps"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        bar = ProgressBar(bars)
        bars.refresh()
        yield bar


@contextmanager
def _lines(progress: Progress) -> Iterator[None]:
    """Write what a run is doing from a thread, so that a long step does not look like a hang."""
    ended = threading.Event()
    thread = threading.Thread(target=_write_lines, args=(progress, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _write_lines(progress: Progress, ended: threading.Event) -> None:
    begun = time.monotonic()
    written, written_at = "", begun
    while not ended.wait(INTERVAL_S):
        now, text = time.monotonic(), progress.text
        if text == written and now - written_at < REPEAT_S:
            continue
        written, written_at = text, now
        sys.stderr.write(f"{text} ({now - begun:.0f} s)\n")
        sys.stderr.flush()
