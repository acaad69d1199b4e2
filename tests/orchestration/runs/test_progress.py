"""Progress: a bar on a terminal, lines elsewhere, and neither when quiet."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING

import pytest

from orchestration.runs import progress as module
from orchestration.runs.progress import (
    ProgressBar,
    show_judge_progress,
    show_model_progress,
    show_progress,
)
from tests.support.command import scoreline
from tests.support.services import takes_minutes
from tests.support.terminal import stream_terminal

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("quiet", "lines"), [(True, True), (False, False)])
def test_nothing_is_shown(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quiet: bool, lines: bool
) -> None:
    monkeypatch.setattr(module, "INTERVAL_S", 0.01)
    with show_progress(quiet=quiet, lines=lines) as progress:
        progress.begin(3, 2)
        progress.step("score")
        show_model_progress("models.embedding: m", 1, 2)
        time.sleep(0.05)
    assert capfd.readouterr() == ("", "")


def wait_for(capfd: pytest.CaptureFixture[str], text: str) -> None:
    """Wait until a line with a text has been written to standard error."""
    for _ in range(500):
        time.sleep(0.01)
        if re.search(rf"^{re.escape(text)} \(\d+ s\)$", capfd.readouterr().err, re.MULTILINE):
            return
    pytest.fail(f"no line {text!r}")


def test_lines_say_in_units_what_is_done(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "INTERVAL_S", 0.01)
    with show_progress(quiet=False, lines=True) as progress:
        wait_for(capfd, "reading the configuration and the input")
        progress.begin(3, 12)
        progress.step("score")
        wait_for(capfd, "scoring 1 of 12 evaluators")
        progress.scored("citation")
        progress.scored("rouge")
        # Another benchmark of the same evaluator.
        progress.scored("rouge")
        wait_for(capfd, "scoring 3 of 12 evaluators")
        show_judge_progress(1_204)
        wait_for(capfd, "asking the judge: 1,204 replies")
        time.sleep(0.1)
        # It is said once, until it changes or half a minute has passed.
        assert capfd.readouterr().err == ""
        monkeypatch.setattr(module, "REPEAT_S", 0.05)
        wait_for(capfd, "asking the judge: 1,204 replies")
    show_judge_progress(1_205)


def test_a_terminal_shows_the_progress_of_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with show_progress(quiet=False) as progress:
        assert isinstance(progress, ProgressBar)
        progress.begin(3, 1)
        progress.step("score")
        (task,) = progress.bars.tasks
        assert (task.description, task.total) == ("scoring 1 of 1 evaluators", 3)
        show_model_progress("models.embedding: m", 1_000, 2_500)
        assert task.description == "models.embedding: m: 1,000 of 2,500"
        progress.done()
        assert task.completed == 1
    show_model_progress("models.embedding: m", 2_500, 2_500)


@takes_minutes
def test_a_run_on_a_terminal_says_what_it_does_from_the_start(own_project: Path) -> None:
    begun, first, printed = time.monotonic(), None, ""
    for part in stream_terminal(own_project, "run", "--force"):
        first = first or time.monotonic() - begun
        printed += part
    assert first is not None
    # One second on an idle machine.
    assert first < 5
    said = ["reading the configuration and the input", "starting Dagster"]
    said += ["ranking and comparing systems", "publishing"]
    places = [printed.index(text) for text in said]
    assert places == sorted(places)
    assert re.search(r"scoring [123] of 3 evaluators", printed)
    # The bar is gone at the end.
    assert printed.rstrip().splitlines()[-1].endswith("published/index.html")


@takes_minutes
def test_a_quiet_run_is_silent_on_a_terminal(own_project: Path) -> None:
    assert "".join(stream_terminal(own_project, "run", "--force", "--quiet")) == ""


@takes_minutes
def test_no_line_goes_to_standard_output(own_project: Path) -> None:
    ended = scoreline(own_project, "run", "--force")
    assert ended.code == 0
    assert not re.search(r"\(\d+ s\)", ended.out)
