"""A benchmark larger than the memory limit: the run spills to disk instead of failing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks import large
from tests.support.services import takes_longest

if TYPE_CHECKING:
    from pathlib import Path


CONSTANT_BYTES = 1e9
"""The programs of both processes of a run."""


@takes_longest
def test_three_million_questions(tmp_path: Path) -> None:
    found = large.measure(3_000_000, tmp_path, "300MB")
    # The limits of two processes (the run, and the one that validates), their programs, and 300
    # bytes for the scores and evidence of each question.
    assert found.peak_bytes < 2 * 300e6 + CONSTANT_BYTES + 3_000_000 * 300


@takes_longest
def test_questions_of_two_kilobytes(tmp_path: Path) -> None:
    found = large.measure(250_000, tmp_path, "200MB", question_bytes=2_000)
    assert found.peak_bytes < 2 * 200e6 + CONSTANT_BYTES + 250_000 * 300
