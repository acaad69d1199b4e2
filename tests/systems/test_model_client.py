"""Models as systems, over a real server of the OpenAI protocol."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calls.errors import CallFailure, TransientFailure
from systems.client import Answer, ReturnedError, SystemRefused, WrongShape
from systems.clients import make_client
from systems.settings import ModelSystem
from systems.tasks.rgb import Rgb
from systems.tasks.task import TaskPrompt
from tests.support.faulty_replies import LIES, bomb
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply, rendered
from tests.systems.service import QUESTION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from calls.completion import Completion

GOOD = Reply(content="the Seine")
KEY = "sk-very-secret-0123456789"
PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}
PROVIDERS = pytest.mark.parametrize("provider", ["openai", "hosted_vllm"])


def system(server: JudgeServer, **changes: Any) -> ModelSystem:
    """Settings of a model of a server."""
    plain = {"name": "small", "home": Path(), "model": "openai/small", "api_base": server.url}
    return ModelSystem(**plain | {"timeout_s": 20} | changes)


def ask(
    script: list[Reply] | Callable[[dict[str, Any]], Reply],
    question: Mapping[str, Any] = QUESTION,
    repeat: int = 0,
    **changes: Any,
) -> tuple[Any, list[dict[str, Any]]]:
    """Ask one question; return the answer or the failure, and the requests."""
    with JudgeServer(script) as server:
        outcome = asyncio.run(ask_once(system(server, **changes), question, repeat))
        return outcome, server.requests


async def ask_once(
    settings: ModelSystem, question: Mapping[str, Any], repeat: int = 0
) -> Answer | CallFailure | SystemRefused:
    """Ask one question; return the answer or the failure."""
    try:
        client = make_client(settings, [question])
        await client.open()
        return await client.ask(client.request(question), repeat)
    except (CallFailure, SystemRefused) as failure:
        return failure


@PROVIDERS
def test_only_what_is_set_is_sent(provider: str) -> None:
    answer, requests = ask([GOOD], model=f"{provider}/small")
    assert answer.fields == {"answer": "the Seine"}
    assert (answer.tokens_in, answer.tokens_out) == (100, 20)
    assert answer.served_by == "judge-2026-01-01 fp_1"
    assert answer.first_token_s is None
    assert requests == [
        {
            "model": "small",
            "messages": [{"role": "user", "content": "Which river flows through Paris?"}],
        }
    ]


def test_sampling_parameters_are_sent_where_set() -> None:
    given = {"temperature": 0.0, "top_p": 0.5, "seed": 7, "max_tokens": 9, "stop": ("\n", "Q:")}
    _, requests = ask([GOOD], repeat=2, **given)
    sent = requests[0]
    assert {name: sent[name] for name in given} == {**given, "seed": 9, "stop": ["\n", "Q:"]}


HOSTILE = '{{ 7*7 }} {% raw %} "quotes" \\ {braces}\n\n{{ question }}'


def test_a_hostile_question_is_text_in_the_prompt(tmp_path: Path) -> None:
    prompt = "Answer in {{ tags.lang }}.\n\nQuestion: {{ question }}\n"
    question = {**QUESTION, "question": HOSTILE}
    expected = f"Answer in en.\n\nQuestion: {HOSTILE}"
    (tmp_path / "p.j2").write_text(prompt, encoding="utf-8")
    for given, end in ((prompt, ""), (str(tmp_path / "p.j2"), "\n")):
        _, requests = ask([GOOD], question, prompt=given)
        assert requests[0]["messages"] == [{"role": "user", "content": expected + end}]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompt": "{{ questoin }}"}, r"systems\.small\.prompt, line 1: unknown name 'questoin'"),
        ({"prompt": "Hello"}, "every request would be the same"),
        ({"prompt": "/nowhere/p.j2"}, r"/nowhere/p\.j2: No such file"),
        ({"api_key_env": "NOT_SET_ANYWHERE"}, "systems.small: the environment variable NOT_SET_A"),
        ({"prompt": "{{ question + 1 }}"}, "TypeError: .*question 'q/1 ä'"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(
    changes: dict[str, Any], message: str
) -> None:
    refused, requests = ask([GOOD], **changes)
    with pytest.raises(SystemRefused, match=message):
        raise refused
    assert requests == []


@pytest.mark.parametrize(
    ("said", "fields"),
    [
        (Reply(content=""), {"answer": ""}),
        (Reply(content=None), {"answer": ""}),
        (Reply(content=None, refusal="I cannot."), {"answer": "I cannot."}),
        (
            Reply(content="a", finish="length"),
            {"answer": "a", "extra": {"finish_reason": "length"}},
        ),
        (Reply(content="a\0b"), {"answer": "a\ufffdb"}),
        (Reply(content="a\ud800b"), {"answer": "a?b"}),
    ],
)
def test_whatever_the_model_says_is_its_answer(said: Reply, fields: dict[str, Any]) -> None:
    answer, _ = ask([said])
    assert answer.fields == fields


def test_the_cost_is_that_of_the_tokens() -> None:
    answer, _ = ask([GOOD], **PRICES)
    assert answer.fields["cost_usd"] == pytest.approx(100e-6 + 40e-6)
    answer, _ = ask([GOOD], model="openai/gpt-4o-mini")
    assert answer.fields["cost_usd"] == pytest.approx(100 * 0.15e-6 + 20 * 0.6e-6)
    unknown, _ = ask([Reply(content="x", usage=None)], **PRICES)
    assert "cost_usd" not in unknown.fields
    assert (unknown.tokens_in, unknown.tokens_out) == (None, None)


def test_the_highest_possible_cost() -> None:
    def most(**changes: Any) -> float | None:
        settings = ModelSystem(**{"name": "m", "home": Path(), "model": "openai/small"} | changes)
        client = make_client(settings, [QUESTION])
        return client.most_usd(client.request(QUESTION))

    assert most() is None
    assert most(**PRICES) is None  # replies may have any length
    assert most(usd_per_million_in=1.0, usd_per_million_out=0.0) is not None
    assert most(usd_per_million_in=0.0, usd_per_million_out=0.0) == 0.0
    limited = most(**PRICES, max_tokens=1000)
    assert limited is not None
    assert 1000 * 2e-6 + 6e-6 < limited < 1000 * 2e-6 + 40e-6
    assert most(model="openai/gpt-4o-mini") == pytest.approx(16384 * 0.6e-6, rel=0.01)


@pytest.mark.parametrize(
    ("said", "kind", "reason", "billed"),
    [
        (Reply(status=429, content="busy"), TransientFailure, "rate_limit", False),
        (Reply(status=500, content="oops"), TransientFailure, "transport: oops", False),
        (Reply(body=b"<html>"), TransientFailure, "transport: ", False),
        (Reply(content="x" * 50, cut=True), TransientFailure, "transport: ", True),
        (Reply(status=400, content="bad option"), ReturnedError, "bad_request: bad option", False),
        (Reply(status=413, content="too long"), ReturnedError, "context_overflow: ", False),
        (
            Reply(status=400, content="against our content_policy_violation rules"),
            ReturnedError,
            "content_filter: ",
            False,
        ),
        (Reply(content=None, finish="content_filter"), ReturnedError, "content_filter: ", True),
        (LIES["large"][0], ReturnedError, "larger than 1 MB, the limit of systems.small.max", True),
        (LIES["tokens below zero"][0], ReturnedError, "bad_answer: ", True),
        (Reply(status=401, content="no"), SystemRefused, "small: the model refuses the key", None),
        (Reply(status=404, content="no"), SystemRefused, "the model refuses the model or", None),
    ],
)  # fmt: skip
def test_failures(said: Reply, kind: type[Exception], reason: str, billed: bool | None) -> None:
    failure, requests = ask([said] * 9, max_reply_mb=1)
    assert isinstance(failure, kind), failure
    assert reason in str(failure)
    assert "judge" not in str(failure)
    assert len(requests) == 1
    if billed is not None:
        assert failure.billed == billed  # type: ignore[attr-defined]


def test_a_busy_server_says_when_it_will_answer() -> None:
    failure, _ = ask([Reply(status=429, content="busy", headers={"retry-after": "7"})])
    assert (failure.busy, failure.retry_after) == (True, 7.0)


def test_a_slow_server_is_a_time_out() -> None:
    failure, _ = ask([Reply(content="x", delay=30)], timeout_s=0.5)
    assert isinstance(failure, TransientFailure)
    assert str(failure) == "timeout"


def test_a_server_that_is_not_there(unused_port: int) -> None:
    settings = ModelSystem(
        name="small", home=Path(), model="openai/small", api_base=f"http://127.0.0.1:{unused_port}"
    )
    failure = asyncio.run(ask_once(settings, QUESTION))
    assert isinstance(failure, TransientFailure)


def test_another_origin_gets_nothing() -> None:
    with JudgeServer() as other:
        away = Reply(status=307, headers={"location": f"{other.url}/chat/completions"})
        failure, _ = ask([away])
        assert other.connections == 0
    assert isinstance(failure, SystemRefused)
    assert "set systems.small.api_base to it" in str(failure)


def test_a_compressed_answer_is_limited() -> None:
    packed = Reply(body=bomb(100), headers={"content-encoding": "gzip"})
    failure, _ = ask([packed])
    assert isinstance(failure, ReturnedError)


class Letters(Rgb):
    """A task of two requests, whose answer is made of the likeliest first tokens."""

    def prompts(self, question: Mapping[str, Any]) -> Sequence[TaskPrompt]:
        """Ask twice."""
        return [
            TaskPrompt(
                messages=[{"role": "user", "content": f"{turn} {question['question']}"}],
                top_logprobs=2,
                max_tokens=1,
            )
            for turn in ("first", "second")
        ]

    def read(
        self, question: Mapping[str, Any], completions: Sequence[Completion]
    ) -> Mapping[str, Any]:
        """Return what came."""
        if any(each.top_logprobs is None for each in completions):
            raise WrongShape(f"no log-probabilities for {question['question_id']!r}")
        listed = [dict(each.top_logprobs[0]) for each in completions if each.top_logprobs]
        return {"answer": " ".join(each.text or "" for each in completions), "extra": listed}


def lettered(request: dict[str, Any], *, value: Any = -0.25) -> Reply:
    """A completion with log-probabilities, which follow from the request."""
    letter = request["messages"][0]["content"][0]
    body = json.loads(rendered(Reply(content=letter)).partition(b"\r\n\r\n")[2])
    top = [{"token": letter, "logprob": value, "bytes": None}]
    top += [{"token": " B", "logprob": -2.5, "bytes": None}]
    body["choices"][0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
    return Reply(body=json.dumps(body).encode())


@PROVIDERS
def test_a_task_reads_log_probabilities_of_all_its_requests(provider: str) -> None:
    answer, requests = ask(lettered, model=f"{provider}/small", task=Letters(), **PRICES)
    assert answer.fields["answer"] == "f s"
    assert answer.fields["extra"] == [{"f": -0.25, " B": -2.5}, {"s": -0.25, " B": -2.5}]
    assert (answer.tokens_in, answer.tokens_out) == (200, 40)
    assert answer.fields["cost_usd"] == pytest.approx(280e-6)
    for sent in requests:
        assert (sent["logprobs"], sent["top_logprobs"], sent["max_tokens"]) == (True, 2, 1)


def test_a_task_without_log_probabilities_says_so() -> None:
    failure, _ = ask([GOOD] * 2, task=Letters())
    assert isinstance(failure, WrongShape)


@pytest.mark.parametrize(("status", "kind"), [(500, TransientFailure), (402, SystemRefused)])
def test_one_failed_request_of_a_task_fails_the_question(
    status: int, kind: type[TransientFailure | SystemRefused]
) -> None:
    def script(request: dict[str, Any]) -> Reply:
        is_first = request["messages"][0]["content"].startswith("first")
        return lettered(request) if is_first else Reply(status=status, content="oops", delay=0.3)

    failure, _ = ask(script, task=Letters())
    assert isinstance(failure, kind)
    assert failure.billed  # the other request


@pytest.mark.parametrize("status", [200, 400, 401, 404, 413, 429, 500])
def test_no_answer_and_no_failure_holds_the_key(
    status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SMALL_KEY", KEY)
    with JudgeServer(lambda _: Reply(status=status, content=f"{'x' * 150} {KEY} {KEY}")) as server:
        settings = system(server, api_key_env="SMALL_KEY")
        outcome = asyncio.run(ask_once(settings, QUESTION))
        assert server.headers["authorization"] == f"Bearer {KEY}"
    client = make_client(settings, [QUESTION])
    shown = f"{outcome!r} {outcome} {caplog.text} {settings!r} {client!r}"
    assert "sk-very" not in shown
    assert "0123456789" not in shown
