"""The pools `judge` and `models`: parallel runs, and runs that wait."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
import yaml

from orchestration import instance
from orchestration.config import load
from tests.evaluators.engines.echo_server import EchoServer
from tests.orchestration.daemon import interface, until
from tests.orchestration.story_project import BENCHMARKS, StoryProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_longest

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.orchestration.daemon import Interface

FILES = [["questions"], ["predictions"]]
ASKS = ("judge", [*FILES, ["judgments", "byop"]])
SCORES = ("score", [["scores", "byop"], ["scores", "perplexity"]])


def three_at_once(project: StoryProject, limit: int) -> None:
    """Allow three runs at once, and of each pool as many as the limit says."""
    file = instance.create_instance(load.load_config(project.config).project) / instance.SETTINGS
    told = file.read_text(encoding="utf-8")
    assert re.search(r"max_concurrent_runs: 1\n.*default_limit: 1\n", told, re.DOTALL)
    told = told.replace("max_concurrent_runs: 1", "max_concurrent_runs: 3")
    told = told.replace("default_limit: 1", f"default_limit: {limit}")
    file.write_text(told, encoding="utf-8")


def side_by_side(
    dev: Interface, step: str, assets: list[list[str]], held: AbstractContextManager[None]
) -> int:
    """The most steps of a pool that were under way at once, of two runs that have one each.

    They are held in the middle of their step until the queue has looked at both. It looks at runs
    in their order, so that it has when a later one is done, which needs no pool.
    """
    with held:
        first, second = (dev.launch(name, name, assets) for name in BENCHMARKS)
        later = dev.launch(BENCHMARKS[0], BENCHMARKS[0], FILES)
        until("a run that needs no pool", lambda: dev.status(later) == "SUCCESS")
        until("the first step", lambda: step in dev.steps(first))
        if dev.status(second) != "QUEUED":
            until("the second step", lambda: step in dev.steps(second))
    until("both runs", lambda: {dev.status(run) for run in (first, second)} == {"SUCCESS"})
    (begun, ended), (begun_too, ended_too) = (dev.steps(run)[step] for run in (first, second))
    assert ended is not None
    assert ended_too is not None
    return 2 if begun < ended_too and begun_too < ended else 1


@takes_longest
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("limit", [1, 2])
def test_a_pool_limits_concurrent_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setenv("MODEL_KEY", "none")
    project = StoryProject(tmp_path)
    with JudgeServer() as judge, EchoServer() as model:
        project.write(judge.url)
        project.configure(lambda benchmark: benchmark["evaluators"].append("perplexity"))
        document = yaml.safe_load(project.config.read_text(encoding="utf-8"))
        document["judge"]["concurrency"] = 1
        document["models"] = {
            "language_model": "litellm:text-completion-openai/tiny",
            "api_base": model.address,
            "api_key_env": "MODEL_KEY",
        }
        document["execution"] = {"executor": "multiprocess", "max_concurrent": 2}
        project.config.write_text(yaml.safe_dump(document), encoding="utf-8")
        three_at_once(project, limit)
        with interface(project.home) as dev:
            assert side_by_side(dev, *ASKS, judge.held()) == limit
            assert side_by_side(dev, *SCORES, model.held()) == limit
        # Each run puts one question at a time.
        assert judge.most <= limit
        assert model.prompts
