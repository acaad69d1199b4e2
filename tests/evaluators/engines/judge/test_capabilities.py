"""The probe: what is wrong with key, model or address in one line, and what a model takes."""

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
from tests.judge_server import JudgeServer, Said
from tests.ledgers import FolderLedger

if TYPE_CHECKING:
    from collections.abc import Callable

GOOD = Said(content=YES)
READY = Said(content='{"ready": true}')

WRONG = {
    "key": (Said(status=401, content=f"Incorrect API key provided: {KEY}"), "the key"),
    "forbidden": (Said(status=403, content="not for you"), "the key"),
    "model": (Said(status=404, content="The model does not exist"), "the model or the address"),
    "credit": (Said(status=402, content="pay first"), "the account"),
    "quota": (
        Said(status=429, content="insufficient_quota: check your plan", code="insufficient_quota"),
        "the account",
    ),
    "key by 400": (Said(status=400, content="API key not valid."), "the key"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_said_in_one_line_before_anything_is_asked(
    wrong: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said, named = WRONG[wrong]
    monkeypatch.setenv(KEY_ENV, KEY)
    ledger = FolderLedger()
    with JudgeServer(probe=lambda _: said) as server, caplog.at_level(logging.DEBUG):
        with LedgerJudge(settings(server, api_key_env=KEY_ENV), ledger) as judge:
            futures = [judge.ask(about(str(n)), origin(f"q{n}")) for n in range(50)]
            failures = [future.exception(30) for future in futures]
            later = judge.ask(about("later"), origin("later")).exception(30)
        assert (len(server.probes), server.count) == (1, 0)
        assert server.headers["authorization"] == f"Bearer {KEY}".lower()
    assert all(isinstance(failure, JudgeRefused) for failure in [*failures, later])
    line = str(later)
    assert line.startswith(f"the judge refuses {named}: ")
    assert "\n" not in line
    assert KEY not in line + caplog.text + repr(judge) + repr(later)
    assert ledger.kept == []


def test_a_wrong_key_in_the_middle_of_a_run_stops_it_and_keeps_what_was_paid() -> None:
    with JudgeServer([GOOD, Said(status=401, content="key revoked")]) as server:
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
    page = Said(body=b"<html>Welcome</html>", headers=PAGE)
    with JudgeServer(probe=lambda _: page) as server:
        with pytest.raises(JudgeUnreachable, match="does not answer: transport"):
            put(server)
        assert server.count == 0


def test_a_missing_key_is_named_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_ENV, raising=False)
    with JudgeServer() as server, pytest.raises(BadJudgeSettings, match=KEY_ENV):
        put(server, api_key_env=KEY_ENV)


@pytest.mark.parametrize("said", [Said(status=500, content="oops"), Said(status=429, content="x")])
def test_a_server_that_is_only_busy_is_asked_all_the_same(said: Said) -> None:
    with JudgeServer([GOOD], probe=lambda _: said) as server:
        reply, _ = put(server)
    assert isinstance(reply, Verdict)


def refusing(*words: str) -> Callable[[dict[str, Any]], Said]:
    """A model that does not take some parameters."""

    def script(request: dict[str, Any]) -> Said:
        form = (request.get("response_format") or {"type": "text"})["type"]
        for word in words:
            if word in request or word == form:
                return Said(status=400, content=f"Unsupported parameter: {word!r}")
        return READY

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
    with JudgeServer([GOOD], probe=refusing(*refused)) as server:
        put(server)
        (asked,) = server.requests
    assert (asked.get("response_format") or {}).get("type") == form
    assert (asked.get("temperature") == 0.0, asked.get("top_p") == 1.0) == (sampling, sampling)
    assert ("seed" in asked) == seed
    assert "JSON schema: " in asked["messages"][0]["content"]


def test_a_schema_that_the_model_does_not_take_falls_back_for_that_schema_alone() -> None:
    def script(request: dict[str, Any]) -> Said:
        strict = request["response_format"]["type"] == "json_schema"
        return Said(status=400, content="Invalid schema for response_format") if strict else GOOD

    with JudgeServer(script) as server:
        with LedgerJudge(settings(server), FolderLedger()) as judge:
            for text in ("a", "b"):
                assert isinstance(judge.ask(about(text), origin(text)).result(30), Verdict)
        forms = [each["response_format"]["type"] for each in server.requests]
    assert forms == ["json_schema", "json_object", "json_object"]


def test_structured_output_can_be_switched_off() -> None:
    with JudgeServer([GOOD]) as server:
        put(server, structured_output="off")
        assert "response_format" not in server.requests[0] | server.probes[0]


def test_the_doctor_reports_how_the_judge_answers() -> None:
    with JudgeServer() as server:
        told = check_judge(settings(server), about("a"), FolderLedger()).message
        assert server.count == 1
    assert told.startswith(f"'openai/judge' at {server.url} answers in ")
    assert told.endswith("s as 'judge-2026-01-01 fp_1', constrained to JSON schemas")
    refusal = Said(status=401, content="no")
    with JudgeServer(probe=lambda _: refusal) as server, pytest.raises(JudgeRefused, match="key"):
        check_judge(settings(server), about("a"), FolderLedger())


def test_a_key_that_was_not_named_is_not_sent_to_a_server_of_ones_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with JudgeServer([GOOD]) as server:
        put(server)
        assert server.headers["authorization"] == "bearer none"
