"""The example project after the commands of its README, which all workers of a test run share."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import portalocker
import pytest

from tests.support.command import scoreline
from tests.support.documents import commands
from tests.support.services import REQUIRED

EXAMPLE = Path(__file__).parents[2] / "examples" / "handbook"
# Names resolve to nothing and connections are refused: whatever calls out, fails.
OFFLINE = {
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "all_proxy": "http://127.0.0.1:9",
    "HF_HUB_OFFLINE": "1",
}
PRINTED = "printed.txt"
FOLDER = "examples/handbook/"
STORY = tuple(command.words for command in commands(FOLDER + "README.md"))[:4]
"""The first commands of its README: an earlier run, a tag, the run of today, labels by people."""


def copied(home: Path) -> Path:
    """The example project in a folder of one's own, not yet run."""
    left = shutil.ignore_patterns(".scoreline", "published")
    return shutil.copytree(EXAMPLE, home, ignore=left)


def tell_story(home: Path) -> str:
    """Run the commands of `STORY` in a copy of the project; return what the run of today prints."""
    printed = ""
    for words in STORY:
        done = scoreline(home, *(word.removeprefix(FOLDER) for word in words[1:]), **OFFLINE)
        assert done.code == 0, done.err
        if words[1:] == ("run", "--config", FOLDER + "scoreline.yaml"):
            printed = done.out + done.messages
    return printed


def after_first_run(factory: pytest.TempPathFactory) -> Path:
    """The folder of the project after `STORY`, to be read or copied, and never changed.

    Whoever comes first makes it; what the run printed stands in `PRINTED` beside it. It takes as
    long as hundreds of other tests, so that it is left out of the everyday ones.
    """
    if not REQUIRED:
        pytest.skip("the example project takes long: SCORELINE_REQUIRE_SERVICES=1 runs it")
    base = factory.getbasetemp()
    together = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    whole = together / "handbook"
    whole.mkdir(exist_ok=True)
    home = whole / "home"
    with portalocker.Lock(whole / "lock", timeout=600):
        if not (whole / PRINTED).exists():
            shutil.rmtree(home, ignore_errors=True)
            (whole / PRINTED).write_text(tell_story(copied(home)), encoding="utf-8")
    return home
