"""A judge that cannot be called ends a run before a system is asked, and paid, for answers."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.judge.check import require_reachable
from evaluators.engines.judge.errors import JudgeUnreachable
from evaluators.engines.judge.settings import JudgeSettings
from tests.orchestration.asked_project import AskedProject
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.judge_server import JudgeServer


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
    return port


@pytest.fixture
def asking(tmp_path: Path) -> AskedProject:
    systems = {"rag": {"python": "my_rag.py:cited"}, "more": {"python": "my_rag.py:short"}}
    return AskedProject(tmp_path, systems=systems, benchmark={"evaluators": ["faithfulness"]})


@pytest.mark.parametrize("ran_before", [False, pytest.param(True, marks=takes_minutes)])
def test_no_system_is_asked_while_no_server_answers(
    asking: AskedProject, server: JudgeServer, ran_before: bool
) -> None:
    variables = {"OPENAI_API_KEY": "none"}
    asking.judge = {"model": "openai/judge", "api_base": server.url}
    if ran_before:
        assert asking.scoreline("run", **variables).code == 0
        asking.questions = [{**each, "question": "Why?"} for each in asking.questions]
        asking.asked()
    server.stop()
    ended = asking.scoreline("run", **variables)
    assert ended.code == 2
    assert asking.asked() == {}
    (message,) = [line for line in ended.messages.splitlines() if "\r" not in line]
    assert message == (
        f"error: the judge 'openai/judge' at {server.url} does not answer: no connection to "
        f"127.0.0.1:{server.port}: Connection refused"
    )
    # Without the judge, answers are wanted all the same.
    assert asking.scoreline("run", "--no-judge", **variables).code == 0
    assert sum(asking.asked().values()) == 2 * len(asking.questions)


@takes_minutes
def test_answers_in_the_ledger_need_no_judge(asking: AskedProject, server: JudgeServer) -> None:
    variables = {"OPENAI_API_KEY": "none"}
    asking.judge = {"model": "openai/judge", "api_base": server.url}
    assert asking.scoreline("run", **variables).code == 0
    asking.asked()
    (asking.home / ".scoreline" / "warehouse.duckdb").unlink()
    server.stop()
    assert asking.scoreline("run", **variables).code == 0
    assert asking.asked() == {}


@pytest.mark.parametrize("proxy", [False, True])
def test_an_address_behind_a_proxy_is_not_checked(
    monkeypatch: pytest.MonkeyPatch, proxy: bool
) -> None:
    port = free_port()
    settings = JudgeSettings(model="openai/judge", api_base=f"http://127.0.0.1:{port}/v1")
    for name in ("no_proxy", "NO_PROXY", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if proxy:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        require_reachable(settings)
        return
    with pytest.raises(JudgeUnreachable, match=f"no connection to 127.0.0.1:{port}"):
        require_reachable(settings)


@pytest.mark.parametrize("ran_before", [False, pytest.param(True, marks=takes_minutes)])
def test_a_judge_without_its_key_ends_the_run_before_a_system_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ran_before: bool
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    project = AskedProject(tmp_path, systems={"rag": {"python": "my_rag.py:cited"}})
    if ran_before:
        assert project.scoreline("run").code == 0
        project.asked()
        project.questions = [{**each, "question": "Why?"} for each in project.questions]
    project.benchmark["evaluators"] = ["faithfulness"]
    project.judge = {"model": "openai/gpt-4o-mini"}
    if ran_before:
        project.judge["api_key_env"] = "JUDGE_KEY"
    ended = project.scoreline("run")
    assert ended.code == 2
    assert ("JUDGE_KEY" if ran_before else "OPENAI_API_KEY") in ended.err
    assert project.asked() == {}
    if not ran_before:
        assert not (tmp_path / "published").exists()
