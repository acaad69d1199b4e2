"""A disk that fills up at any moment of a run: a clear error, the warehouse whole, and the way on.

The disk is a small file system in memory, of which a file takes all but a few kilobytes.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZE_MB = 64


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.fail("only root may mount the small disk that is filled here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path, left_kb: int) -> Path:
    """Take all of a disk but so many kilobytes."""
    ballast = disk / "ballast"
    free = os.statvfs(disk)
    with ballast.open("wb") as file:
        file.write(b"x" * max(0, free.f_bavail * free.f_frsize - left_kb * 1024))
    return ballast


@pytest.mark.timeout(900)
def test_a_run_that_finds_no_room_says_so_and_the_next_one_goes_on(
    disk: Path, tmp_path: Path
) -> None:
    with JudgeServer() as server:
        undisturbed = Trial(tmp_path / "undisturbed", server)
        code, _, err = undisturbed.ended()
        assert code == 0, err
        trial = Trial(disk / "home", server)
        failed = 0
        # From none at all to enough: each run comes farther than the one before.
        for left_kb in (0, 512, 1024, 2048, 4096, 8192):
            ballast = fill(disk, left_kb)
            known = trial.warehouse.exists()
            before = trial.tables()["grades"] if known else []
            code, out, err = trial.ended()
            ballast.unlink()
            if code == 0:
                break
            failed += 1
            assert (code, out) == (2, ""), err
            assert "disk" in err or "No space left" in err, err
            assert "should not happen" not in err, err
            if trial.warehouse.exists():
                # Whatever was committed is whole: a later run never has less than an earlier one.
                assert len(trial.tables()["grades"]) >= len(before)
        assert failed >= 2
        code, _, err = trial.ended()
        assert code == 0, err
    expected = undisturbed.tables()
    for path in (trial.warehouse, trial.home / "published" / "scoreline.duckdb"):
        found = trial.tables(path)
        # A run that follows a publication has looked for drift as well.
        found["validations"] = [row for row in found["validations"] if row[0] != "drift"]
        assert found == expected
