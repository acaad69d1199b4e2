"""A warehouse that may not be written: one clear line, code 2, and all of it as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.support.command import without_progress
from tests.support.judge_server import JudgeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project that has been run."""
    with JudgeServer() as server:
        trial = Trial(tmp_path_factory.mktemp("done") / "home", server)
        code, _, err = trial.ended()
    assert code == 0, err
    return trial.home


@pytest.fixture
def anybodys() -> Iterator[Path]:
    """A folder that others may enter; pytest's own keeps them out."""
    with TemporaryDirectory(prefix="scoreline-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.timeout(900)
@pytest.mark.parametrize("what", ["file", "folder", "everything"])
def test_a_run_says_what_cannot_be_written_and_ends_with_code_2(
    done: Path, anybodys: Path, what: str
) -> None:
    if os.geteuid() != 0:
        pytest.fail("only root can become somebody who may not write")
    with JudgeServer() as server:
        trial = Trial(anybodys / "home", server)
        shutil.copytree(done, trial.home, dirs_exist_ok=True)
        trial.write()
        # Something is to be done, so that the warehouse has to be written.
        trial.predictions["late"] = trial.predictions["plain"]
        trial.write()
        for path in (trial.home, *trial.home.rglob("*")):
            os.chown(path, 65534, 65534)
        for path in _forbidden(trial, what):
            os.chown(path, 0, 0)
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = trial.tables()
        code, out, err = trial.ended(prefix=NOBODY)
        assert code == 2, err
        assert out == ""
        (line,) = without_progress(err).splitlines()
        assert line.startswith("error: ")
        assert str(trial.home) in line
        assert "ermission denied" in line or "ead-only" in line
        assert "should not happen" not in err
        assert trial.tables() == before
        for path in _forbidden(trial, what):
            path.chmod(0o777)
        code, _, err = trial.ended()
        assert code == 0, err
    assert {row[1] for row in trial.tables()["predictions"]} == {"plain", "wordy", "late"}


def _forbidden(trial: Trial, what: str) -> list[Path]:
    folder = trial.warehouse.parent
    if what == "file":
        return [trial.warehouse]
    if what == "folder":
        return [folder]
    return [folder, *folder.rglob("*"), trial.home]
