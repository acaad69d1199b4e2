"""The example whose systems are asked: its guide is followed word for word."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.support.documents import ROOT, blocks
from tests.support.services import takes_minutes

GUIDE = "docs/compare-live.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A copy of the examples in which the guide's commands were run, and what they printed."""
    folder = tmp_path_factory.mktemp("guide")
    ignored = shutil.ignore_patterns(".scoreline", "published", "__pycache__")
    for name in ("live-rag", "compare-rag"):
        shutil.copytree(ROOT / "examples" / name, folder / "examples" / name, ignore=ignored)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = {}
    for line in (line for block in blocks(GUIDE) for line in block if line):
        done = subprocess.run(
            shlex.split(line),
            cwd=folder,
            env={**os.environ, "PATH": programs},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
        printed[line] = done.stdout
    return folder, printed


@takes_minutes
def test_the_guide_works_as_written(followed: tuple[Path, dict[str, str]]) -> None:
    _, printed = followed
    assert len(printed) == 5
    plan, ask, run, compare, answers = printed.values()
    assert "96 answers to ask systems for" in plan
    assert ask.splitlines() == ["stems, bicycle-library: 3 asked"]
    assert "closed-book" in run
    assert "no significant difference between stems and words on 24 questions" in compare
    assert answers.split().count("0") == 4


@takes_minutes
def test_the_leaderboard_ranks_what_the_versions_do(
    followed: tuple[Path, dict[str, str]],
) -> None:
    folder, _ = followed
    copy = folder / "examples" / "live-rag" / "published" / "scoreline.duckdb"
    with duckdb.connect(copy, read_only=True) as opened:
        rows = opened.execute(
            "SELECT system, mean FROM leaderboard "
            "WHERE slice = 'all' AND evaluator = 'citation' AND metric = 'f1' AND mean IS NOT NULL"
        ).fetchall()
        answered = opened.execute("SELECT count(*), count(error) FROM answers").fetchall()
    means = dict(rows)
    assert means["stems"] > means["rare-words"] > means["words"]
    # A model without documents cites nothing: the metric does not apply to it.
    assert set(means) == {"stems", "rare-words", "words"}
    assert answered == [(4 * 24, 0)]
