"""A judge that cannot be called ends a run before a system is asked, and paid, for answers."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.judge.errors import JudgeRefused, JudgeUnreachable
from evaluators.engines.judge.reachable import require_reachable
from evaluators.engines.judge.settings import JudgeSettings
from tests.orchestration.asked_project import AskedProject
from tests.support.scripted_reply import Reply
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


UNKNOWN = Reply(status=404, code="model_not_found", content="The model `judge` does not exist")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (
            Reply(status=401, content="Incorrect API key: sk-refused-17"),
            "the judge refuses the key: ",
        ),
        (UNKNOWN, "the judge refuses the model or the address: "),
    ],
)
def test_a_refused_key_or_model_ends_the_run_before_a_system_is_asked(
    asking: AskedProject, server: JudgeServer, model: Reply, expected: str
) -> None:
    asking.judge = {"model": "openai/judge", "api_base": server.url, "api_key_env": "JUDGE_KEY"}
    server.model = model
    ended = asking.scoreline("run", JUDGE_KEY="sk-refused-17")
    assert ended.code == 2
    assert asking.asked() == {}
    assert server.count == 0
    assert set(server.looked_up) == {("/v1/models/judge", "Bearer sk-refused-17")}
    assert expected in ended.messages
    assert "sk-refused-17" not in ended.err


@pytest.mark.parametrize(
    "model",
    [
        Reply(status=404, content="Not Found"),
        Reply(status=401, content="You lack the scope api.model.read"),
        Reply(status=403, content="not allowed"),
        Reply(status=500, content="Incorrect API key"),
        Reply(body=b"<html>", status=405),
        Reply(status=302, headers={"location": "http://127.0.0.1:1/"}),
        Reply(cut=True),
        Reply(body=b"x" * 1000, endless=True),
    ],
)
def test_a_server_that_says_nothing_of_its_models_may_be_called(
    server: JudgeServer, model: Reply
) -> None:
    server.model = model
    require_reachable(JudgeSettings(model="openai/judge", api_base=server.url))
    assert server.looked_up == [("/v1/models/judge", "Bearer none")]


def test_other_providers_are_not_asked_for_models(server: JudgeServer) -> None:
    require_reachable(JudgeSettings(model="ollama_chat/judge", api_base=server.url))
    # The connection that was tried: a server that stops before it has closed it leaks it.
    while not server.connections or server.open_connections:
        time.sleep(0.01)
    assert server.looked_up == []


def test_the_address_of_openai_is_that_of_the_environment(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env")
    server.model = UNKNOWN
    with pytest.raises(JudgeRefused, match="refuses the model"):
        require_reachable(JudgeSettings(model="openai/a/b c"))
    assert server.looked_up == [("/v1/models/a/b%20c", "Bearer sk-env")]
