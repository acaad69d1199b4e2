"""Progress bars on a terminal, and none elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from orchestration.runs.progress import (
    NoProgress,
    ProgressBar,
    progress_bar,
    show_judge_progress,
    show_model_progress,
)

if TYPE_CHECKING:
    import pytest


def test_there_is_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress_bar(quiet=False) as progress:
        assert isinstance(progress, NoProgress)
        show_model_progress("models.embedding: m", 1, 2)


def test_a_terminal_shows_the_progress_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_bar(quiet=False) as progress:
        assert isinstance(progress, ProgressBar)
        progress.begin(3)
        progress.step("score")
        show_model_progress("models.embedding: m", 1_000, 2_500)
        (task,) = progress.bars.tasks
        assert task.description == "models.embedding: m: 1,000 of 2,500"
        assert task.total == 3
        show_judge_progress(1_204)
        assert task.description == "judge: 1,204 replies"
    show_model_progress("models.embedding: m", 2_500, 2_500)
