"""`scoreline doctor` on the judge: its replies, its price, and warnings about its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from orchestration.doctor.engines import model_family
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = "sk-secret-of-the-doctor"


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)


def diagnose(
    home: Path, judge: dict[str, Any], **more: Any
) -> tuple[int, dict[str, tuple[str, str]]]:
    """Return the exit code and the diagnoses of the judge by subject."""
    project = JudgedProject(home / "home", judge, **more)
    project.write()
    config = ["--config", str(project.config), "--format", "json"]
    result = CliRunner().invoke(program, ["doctor", *config])
    assert KEY not in result.output
    diagnoses = json.loads(result.stdout)
    assert all("\n" not in each["message"] for each in diagnoses)
    own = [each for each in diagnoses if each["subject"].startswith("judge")]
    return result.exit_code, {each["subject"]: (each["state"], each["message"]) for each in own}


def judge_at(server: JudgeServer, **keys: Any) -> dict[str, Any]:
    return {"model": "openai/a-judge", "api_base": server.url, "api_key_env": "JUDGE_KEY", **keys}


def test_judge_with_price(tmp_path: Path, server: JudgeServer) -> None:
    prices = {"usd_per_million_in": 0.5, "usd_per_million_out": 2, "budget_usd": 3}
    code, judge = diagnose(tmp_path, judge_at(server, **prices))
    assert code == 0
    assert set(judge) == {"judge", "judge price"}
    assert judge["judge"][0] == "ok"
    assert judge["judge"][1].startswith(f"'openai/a-judge' at {server.url} answers in ")
    assert judge["judge price"] == (
        "ok",
        "0.5 US dollars per million input tokens, 2 output, at most 3 per run",
    )
    assert judge["judge"][1].endswith("; its reply to an evaluator is usable")
    assert server.count == 1


def test_budget_without_price_fails(tmp_path: Path, server: JudgeServer) -> None:
    code, judge = diagnose(tmp_path, judge_at(server, budget_usd=3))
    assert code == 1
    assert judge["judge price"][0] == "fail"
    assert "judge.usd_per_million_in" in judge["judge price"][1]


def test_daily_budget_without_price_fails(tmp_path: Path, server: JudgeServer) -> None:
    more = {"automation": {"daily_budget_usd": 3}}
    before = server.count
    code, judge = diagnose(tmp_path, judge_at(server), more=more)
    assert code == 1
    state, message = judge["judge price"]
    assert state == "fail"
    assert message.startswith("automation.daily_budget_usd cannot be enforced")
    assert server.count == before


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            Reply(status=401, content=f"Incorrect API key provided: {KEY}"),
            "refuses the key",
        ),
        (Reply(status=404, content="no such model"), "refuses the model or the address"),
        (Reply(status=500, content="on fire"), "gives no verdict: transport: on fire"),
        (Reply(body=b"<html>Log in</html>"), "does not answer"),
    ],
)
def test_failing_judge(tmp_path: Path, said: Reply, words: str) -> None:
    with JudgeServer(lambda _: said) as server:
        code, judge = diagnose(tmp_path, judge_at(server))
    assert code == 1
    assert judge["judge"][0] == "fail"
    assert words in judge["judge"][1]
    assert "check judge.model" in judge["judge"][1]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            Reply(content="I would\nrather \x1b[31mnot say. " * 20),
            r"there is no JSON object in the reply; it replied 'I would\nrather \x1b[31mnot say. I",
        ),
        (Reply(content='{"noncommittal": false}'), "statements: Field required"),
        (Reply(refusal="No."), "refusal: No.; it replied 'No.'"),
        (Reply(content=f"My key is {KEY}."), "it replied 'My key is ***.'"),
    ],
)
def test_judge_whose_replies_are_not_usable(tmp_path: Path, said: Reply, shown: str) -> None:
    with JudgeServer(lambda _: said) as server:
        code, judge = diagnose(tmp_path, judge_at(server))
    assert (code, judge["judge"][0]) == (1, "fail")
    assert shown in judge["judge"][1]
    assert len(judge["judge"][1]) < 700


def test_judge_whose_reply_needs_a_repair(tmp_path: Path) -> None:
    with JudgeServer([Reply(content="Well, no.")]) as server:
        code, judge = diagnose(tmp_path, judge_at(server))
    assert (code, judge["judge"][0]) == (0, "warn")
    assert "only the repaired one was" in judge["judge"][1]
    assert "it replied 'Well, no.'" in judge["judge"][1]


def test_missing_key_of_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    code, judge = diagnose(tmp_path, {"model": "groq/llama-3.1-8b-instant"})
    assert (code, judge["judge"][0]) == (1, "fail")
    assert "GROQ_API_KEY is not set" in judge["judge"][1]


def test_unreachable_judge(tmp_path: Path) -> None:
    with JudgeServer() as server:
        gone = judge_at(server)
    code, judge = diagnose(tmp_path, gone)
    assert (code, judge["judge"][0]) == (1, "fail")


def test_warnings(tmp_path: Path, server: JudgeServer) -> None:
    odd = {"model": "openai/gpt-4o-mini", "temperature": 0, "replicates": 3}
    answers: list[dict[str, Any]] = [{"question_id": "q0", "answer": "Maps."}]
    code, judge = diagnose(
        tmp_path, judge_at(server, **odd), predictions={"gpt-4.1@may": answers, "claude": answers}
    )
    assert code == 0
    assert judge["judge repeats"][0] == judge["judge family"][0] == "warn"
    assert "'gpt-4.1@may'" in judge["judge family"][1]
    assert "claude" not in judge["judge family"][1]
    state, price = judge["judge price"]
    assert (state, "set judge.budget_usd" in price) == ("warn", True)


def test_recorded_replies(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    file = tmp_path / "home" / "said.jsonl"
    file.write_text('{"evaluator": "faithfulness", "question_id": "q0", "reply": "yes"}\n')
    code, judge = diagnose(tmp_path, {"model": "recorded:said.jsonl"})
    assert (code, judge["judge"][0]) == (0, "ok")
    file.write_text('{"evaluator": "faithfulness", "question_id": "q0"}\n')
    code, judge = diagnose(tmp_path, {"model": "recorded:said.jsonl"})
    assert (code, judge["judge"][0]) == (1, "fail")
    assert "said.jsonl, line 1" in judge["judge"][1]


def test_human_judge_without_labels(tmp_path: Path) -> None:
    code, judge = diagnose(tmp_path, {"model": "human"})
    assert (code, judge["judge"][0]) == (0, "warn")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("openai/gpt-4o-mini", "gpt"),
        ("groq/llama-3.1-8b-instant", "llama"),
        ("my-Llama3-rag", "llama"),
        ("ollama/qwen2.5:7b", "qwen"),
        ("open-mixtral-8x7b", "mistral"),
        ("vertex_ai/gemma-3", "gemini"),
        ("phishing-filter", None),
        ("ollama/mine", None),
        ("rag", None),
    ],
)
def test_model_family(name: str, expected: str | None) -> None:
    assert model_family(name) == expected
