"""The connections of a judge end with it: LiteLLM would keep them until the process ends."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.judge.check import check_judge
from evaluators.engines.judge.ledger_judge import LedgerJudge
from tests.evaluators.engines.judge.questions import YES, about, origin, settings
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 10.0


def open_sessions() -> set[int]:
    """The ids of the open sessions of aiohttp; other tests may have left some."""
    import aiohttp

    # Not by `isinstance`: it reads `__class__`, and torch has an object that warns of that.
    found = [each for each in gc.get_objects() if type(each) is aiohttp.ClientSession]
    return {id(each) for each in found if not each.closed}


def ask(server: JudgeServer, provider: str) -> None:
    with LedgerJudge(settings(server, model=f"{provider}/m"), FolderLedger()) as judge:
        futures = [judge.ask(about(str(number)), origin(str(number))) for number in range(4)]
        assert all(each.result(60) for each in futures)


def check(server: JudgeServer, provider: str) -> None:
    check_judge(settings(server, model=f"{provider}/m"), about("x"), FolderLedger())


@pytest.mark.parametrize("use", [ask, check])
@pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])
def test_no_connection_stays_open(use: Callable[[JudgeServer, str], None], provider: str) -> None:
    before = open_sessions()
    with JudgeServer(lambda _: Reply(content=YES)) as server:
        use(server, provider)
        end = time.monotonic() + PATIENCE_S
        while server.open_connections and time.monotonic() < end:
            time.sleep(0.01)
        assert server.connections > 0
        assert server.open_connections == 0
    assert open_sessions() <= before
