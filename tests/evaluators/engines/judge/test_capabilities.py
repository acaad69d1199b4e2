"""The first call: what is wrong with key, model or address in one line, and what a model takes."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.engines.judge.check import check_judge
from evaluators.engines.judge.errors import (
    BadJudgeSettings,
    JudgeRefused,
    JudgeUnreachable,
)
from evaluators.engines.judge.ledger_judge import LedgerJudge
from evaluators.engines.judge.settings import JudgeSettings
from evaluators.outcome import JudgeError
from tests.evaluators.engines.judge.questions import (
    KEY,
    KEY_ENV,
    PAGE,
    YES,
    Verdict,
    about,
    origin,
    put,
    settings,
)
from tests.support.judge_server import JudgeServer, Reply
from tests.support.ledgers import FolderLedger

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = Reply(content=YES)

WRONG = {
    "key": (Reply(status=401, content=f"Incorrect API key provided: {KEY}"), "the key"),
    "forbidden": (Reply(status=403, content="not for you"), "the key"),
    "model": (
        Reply(status=404, content="The model does not exist"),
        "the model or the address",
    ),
    "credit": (Reply(status=402, content="pay first"), "the account"),
    "quota": (
        Reply(status=429, content="insufficient_quota: check your plan", code="insufficient_quota"),
        "the account",
    ),
    "key by 400": (Reply(status=400, content="API key not valid."), "the key"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_in_one_line_before_anything_is_asked(
    wrong: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said, named = WRONG[wrong]
    monkeypatch.setenv(KEY_ENV, KEY)
    ledger = FolderLedger()
    with JudgeServer(lambda _: said) as server, caplog.at_level(logging.DEBUG):
        with LedgerJudge(settings(server, api_key_env=KEY_ENV), ledger) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(50)]
            failures = [future.exception(30) for future in futures]
            later = judge.ask(about("later"), origin("later")).exception(30)
        assert server.count == 1
        assert server.headers["authorization"] == f"Bearer {KEY}"
    assert all(isinstance(failure, JudgeRefused) for failure in [*failures, later])
    line = str(later)
    assert line.startswith(f"the judge refuses {named}: ")
    assert "\n" not in line
    assert KEY not in line + caplog.text + repr(judge) + repr(later)
    assert ledger.kept == []


def test_a_wrong_key_in_the_middle_of_a_run_stops_it_and_keeps_what_was_paid() -> None:
    with JudgeServer([GOOD, Reply(status=401, content="key revoked")]) as server:
        ledger = FolderLedger()
        with LedgerJudge(settings(server, concurrency=1), ledger) as judge:
            first = judge.ask(about("1"), origin("q1"))
            assert isinstance(first.result(30), Verdict)
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(2, 40)]
            failures = {type(future.exception(30)) for future in futures}
        assert failures == {JudgeRefused}
        assert server.count == 2
    assert len(ledger.kept) == 1


def test_a_server_that_is_down_from_the_start_stops_the_run(unused_port: int) -> None:
    plain = JudgeSettings(model="openai/judge", api_base=f"http://127.0.0.1:{unused_port}/v1")
    with LedgerJudge(plain, FolderLedger()) as judge:
        failure = judge.ask(about("a"), origin()).exception(30)
    assert isinstance(failure, JudgeUnreachable)
    told = f"the judge 'openai/judge' at {plain.api_base} does not answer: transport: no connection"
    assert str(failure).startswith(told)
    assert "object at 0x" not in str(failure)  # It would be another reason in every run.


def test_a_server_that_goes_down_stops_the_run_once_nothing_else_comes() -> None:
    with JudgeServer([GOOD]) as server:
        judge = LedgerJudge(settings(server, concurrency=4, max_attempts=2), FolderLedger())
        assert isinstance(judge.ask(about("a"), origin()).result(120), Verdict)
    with judge:
        futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(40)]
        failures = [future.exception(120) for future in futures]
    kinds = {type(failure) for failure in failures}
    assert kinds == {JudgeError, JudgeUnreachable}
    assert "run again to continue" in str(failures[-1])


def test_an_address_where_something_else_answers_is_named() -> None:
    page = Reply(body=b"<html>Welcome</html>", headers=PAGE)
    with JudgeServer(lambda _: page) as server:
        with pytest.raises(JudgeUnreachable, match="does not answer: transport"):
            put(server)
        assert server.count == 2


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_ENV, raising=False)
    with JudgeServer() as server, pytest.raises(BadJudgeSettings, match=KEY_ENV):
        put(server, api_key_env=KEY_ENV)


@pytest.mark.parametrize(
    "said", [Reply(status=500, content="oops"), Reply(status=429, content="x")]
)
def test_a_server_that_is_only_busy_is_asked_all_the_same(said: Reply) -> None:
    with JudgeServer([said, GOOD]) as server:
        reply, _ = put(server)
    assert isinstance(reply, Verdict)


def refusing(*words: str) -> Callable[[dict[str, Any]], Reply]:
    """A model that does not take some parameters."""

    def script(request: dict[str, Any]) -> Reply:
        form = (request.get("response_format") or {"type": "text"})["type"]
        for word in words:
            if word in request or word == form:
                return Reply(status=400, content=f"Unsupported parameter: {word!r}")
        return GOOD

    return script


@pytest.mark.parametrize(
    ("refused", "form", "sampling", "seed"),
    [
        ((), "json_schema", True, True),
        (("json_schema",), "json_object", True, True),
        (("json_schema", "json_object"), None, True, True),
        (("temperature",), "json_schema", False, True),
        (("temperature", "seed", "json_schema"), "json_object", False, False),
    ],
)
def test_a_model_is_asked_in_the_manner_that_it_takes(
    refused: tuple[str, ...], form: str | None, sampling: bool, seed: bool
) -> None:
    with JudgeServer(refusing(*refused)) as server:
        put(server)
        asked = server.requests[-1]
    assert (asked.get("response_format") or {}).get("type") == form
    assert (asked.get("temperature") == 0.0, asked.get("top_p") == 1.0) == (sampling, sampling)
    assert ("seed" in asked) == seed
    assert "JSON schema: " in asked["messages"][0]["content"]


def test_a_schema_that_the_model_does_not_take_falls_back_for_that_schema_alone() -> None:
    def script(request: dict[str, Any]) -> Reply:
        strict = request["response_format"]["type"] == "json_schema"
        return Reply(status=400, content="Invalid schema for response_format") if strict else GOOD

    with JudgeServer(script) as server:
        with LedgerJudge(settings(server), FolderLedger()) as judge:
            for text in ("a", "b"):
                assert isinstance(judge.ask(about(text), origin(text)).result(30), Verdict)
        forms = [each["response_format"]["type"] for each in server.requests]
    assert forms == ["json_schema", "json_object", "json_object"]


def test_structured_output_can_be_switched_off() -> None:
    with JudgeServer([GOOD]) as server:
        put(server, structured_output="off")
        assert "response_format" not in server.requests[0]


def test_the_doctor_reports_how_the_judge_answers() -> None:
    with JudgeServer() as server:
        told = check_judge(settings(server), about("a"), FolderLedger()).message
        assert server.count == 1
    assert told.startswith(f"'openai/judge' at {server.url} answers in ")
    assert told.endswith("s as 'judge-2026-01-01 fp_1', constrained to JSON schemas")
    refusal = Reply(status=401, content="no")
    with JudgeServer(lambda _: refusal) as server, pytest.raises(JudgeRefused, match="key"):
        check_judge(settings(server), about("a"), FolderLedger())


@pytest.mark.parametrize(
    "said",
    [
        Reply(status=400, content="The model `judge` does not exist"),
        Reply(status=400, content="Invalid model: judge"),
        Reply(status=404, content="model 'judge' not found, try pulling it first"),
    ],
)
def test_an_unknown_model_ends_the_run_whatever_the_status(said: Reply) -> None:
    with JudgeServer(lambda _: said) as server:
        with pytest.raises(JudgeRefused, match="the judge refuses the model"):
            put(server)
        assert server.count == 1


@pytest.mark.parametrize("model", ["no-such-model", "no-such-provider/model"])
def test_a_model_of_no_known_provider_ends_the_run(model: str) -> None:
    with LedgerJudge(JudgeSettings(model=model), FolderLedger()) as judge:
        failure = judge.ask(about("a"), origin()).exception(60)
    assert isinstance(failure, JudgeRefused)
    assert str(failure).startswith("the judge refuses the model: LLM Provider NOT provided")


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/gpt-4o-mini", "OPENAI_API_KEY"),
        ("groq/llama-3.1-8b-instant", "GROQ_API_KEY"),
        ("gemini/gemini-2.0-flash", "GEMINI_API_KEY"),
    ],
)
def test_a_missing_key_of_a_provider_ends_the_run_before_anything_is_sent(
    model: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in (variable, "GOOGLE_API_KEY"):
        monkeypatch.delenv(each, raising=False)
    with LedgerJudge(JudgeSettings(model=model), FolderLedger()) as judge:
        failure = judge.ask(about("a"), origin()).exception(60)
    assert isinstance(failure, BadJudgeSettings)
    assert variable in str(failure)


def test_a_missing_key_that_only_the_library_notices_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SAMBANOVA_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with JudgeServer() as server:
        with pytest.raises(JudgeRefused, match="the judge has no key: "):
            put(server, model="sambanova/judge", api_base=None, backoff_s=60)
        assert server.count == 0


@pytest.mark.parametrize("model", ["groq/judge", "anthropic/judge"])
def test_answers_that_the_library_cannot_read_are_not_tried_again(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`service_tier` is missing for groq; an answer of OpenAI's form has no `content`."""
    monkeypatch.setenv(KEY_ENV, KEY)
    changes = {"model": model, "api_key_env": KEY_ENV, "backoff_s": 60}
    with JudgeServer() as server:
        reason, ledger = put(server, **changes)
        assert server.count == 1
        assert str(reason).startswith("bad_answer: LiteLLM cannot read it (")
        assert "write openai/" in str(reason)
        # A run of many calls ends after two of them; both are stored, since they may be billed.
        with LedgerJudge(settings(server, **changes), ledger) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(50)]
            kinds = [type(future.exception(60)) for future in futures]
        assert server.count == 3
    assert set(kinds) <= {JudgeError, JudgeRefused}
    assert kinds[-1] is JudgeRefused
    ledger.ledger.flush()
    assert ledger.ledger.check().rows == 3


def test_a_rejected_request_does_not_end_the_others() -> None:
    def script(request: dict[str, Any]) -> Reply:
        is_odd = "odd" in str(request["messages"])
        return Reply(status=400, content="no") if is_odd else GOOD

    with JudgeServer(script) as server, LedgerJudge(settings(server), FolderLedger()) as judge:
        subjects = ["odd", *"abcdefgh"]
        futures = [judge.ask(about(each), origin(each)) for each in subjects]
        failures = [future.exception(60) for future in futures]
    assert isinstance(failures[0], JudgeError)
    assert failures[1:] == [None] * 8


def test_options_that_the_first_call_rejects_are_not_sent_again() -> None:
    def script(request: dict[str, Any]) -> Reply:
        if "temperature" in request:
            return Reply(status=400, content="Unsupported parameter: 'temperature'")
        return GOOD

    with JudgeServer(script) as server:
        with LedgerJudge(settings(server), FolderLedger()) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(20)]
            assert all(isinstance(future.result(60), Verdict) for future in futures)
        assert server.count == 21
