"""`scoreline plan` and `scoreline run` with a judge: output, files and exit codes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from calls.budget import format_usd
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer, faithful
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

KEY = "sk-secret-of-the-command"
SAMPLES = 8
QUESTIONS = SAMPLES // 2  # both systems retrieve the same passages
PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch) -> JudgedProject:
    monkeypatch.setenv("JUDGE_KEY", KEY)
    judge = {
        "model": "openai/a-judge",
        "api_base": server.url,
        "api_key_env": "JUDGE_KEY",
        "max_attempts": 1,
        **PRICES,
    }
    project = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    project.write()
    return project


def scoreline(project: JudgedProject, *arguments: str) -> Result:
    result = project.scoreline(*arguments)
    assert KEY not in result.output
    return result


def planned(project: JudgedProject) -> dict[str, Any]:
    result = scoreline(project, "plan", "--format", "json")
    assert result.exit_code == 0, result.output
    (row,) = json.loads(result.stdout)
    return dict(row)


@takes_minutes
def test_plan_before_and_after_the_run(project: JudgedProject, server: JudgeServer) -> None:
    before = planned(project)
    assert (before["benchmark"], before["evaluator"]) == ("rooms", "context_relevancy")
    assert (before["samples"], before["calls"], before["held"]) == (SAMPLES, QUESTIONS, 0)
    assert before["usd"] == pytest.approx((before["tokens_in"] + 2 * before["tokens_out"]) / 1e6)
    assert server.count == 0
    assert sorted(path.name for path in project.home.iterdir()) == [
        *("plain.answers.jsonl", "questions.jsonl", "scoreline.yaml", "wordy.answers.jsonl"),
    ]
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("judge: ")]
    assert line.startswith(f"judge: {QUESTIONS} calls; ")
    ((tokens, cost),) = project.rows(
        "SELECT sum(tokens_in + tokens_out)::INT, sum(cost_usd) FROM judgments"
    )
    assert line.endswith(f"{tokens:,} tokens; {format_usd(cost)} US dollars")
    after = planned(project)
    assert (after["samples"], after["calls"], after["usd"]) == (0, 0, 0)
    assert server.count == QUESTIONS
    table = scoreline(project, "plan").stdout
    assert table.splitlines()[-1] == "0 samples to score, 0 judge calls."
    again = scoreline(project, "run", "--force")
    assert "judge: " not in again.stderr


def test_plan_without_price(project: JudgedProject) -> None:
    assert project.judge is not None
    for name in PRICES:
        del project.judge[name]
    project.write()
    assert planned(project)["usd"] is None
    last = scoreline(project, "plan").stdout.splitlines()[-1]
    assert "the price is unknown" in last
    assert f"{SAMPLES} samples to score, {QUESTIONS} judge calls" in last


def test_plan_counts_no_call_of_an_evaluator_that_is_not_applicable(
    project: JudgedProject,
) -> None:
    # Without an embedding model a run makes none of its calls.
    project.evaluators = ["answer_correctness"]
    project.write()
    assert planned(project)["calls"] == 0
    shown = scoreline(project, "plan")
    assert "not applicable: answer_correctness (models.embedding)" in shown.stderr
    assert shown.stdout.splitlines()[-1] == f"{SAMPLES} samples to score, 0 judge calls."


def test_plan_counts_replicates(project: JudgedProject) -> None:
    assert project.judge is not None
    project.judge["replicates"] = 3
    project.write()
    assert planned(project)["calls"] == 3 * QUESTIONS


def test_plan_shows_significant_digits_of_a_small_price(project: JudgedProject) -> None:
    usd = planned(project)["usd"]
    assert 0 < usd < 0.005
    last = scoreline(project, "plan").stdout.splitlines()[-1]
    assert last.endswith(f" tokens and {format_usd(usd)} US dollars.")
    assert " 0.00 " not in last


@pytest.mark.parametrize(
    ("own", "variable"), [(None, "GROQ_API_KEY"), ("MY_KEY", "MY_KEY"), ("MY_KEY", None)]
)
def test_plan_names_a_missing_key(
    project: JudgedProject, monkeypatch: pytest.MonkeyPatch, own: str | None, variable: str | None
) -> None:
    assert project.judge is not None
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    del project.judge["api_base"]
    project.judge |= {"model": "groq/llama-3.1-8b-instant", "api_key_env": own}
    if variable is None:
        monkeypatch.setenv("MY_KEY", KEY)
    project.write()
    shown = scoreline(project, "plan")
    assert shown.exit_code == 0
    if variable is None:
        assert "key" not in shown.stderr
    else:
        assert f"the environment variable {variable} is not set" in shown.stderr


@takes_minutes
def test_no_judge_calls_with_no_judge(project: JudgedProject, server: JudgeServer) -> None:
    ran = scoreline(project, "run", "--no-judge")
    assert ran.exit_code == 0, ran.output
    assert server.count == 0
    assert "judge: " not in ran.stderr
    assert project.statuses() == {"judge_error": SAMPLES}


@takes_minutes
def test_unusable_replies_are_counted(project: JudgedProject, server: JudgeServer) -> None:
    server.script = lambda _: Reply(content="I would rather not say.")
    ran = scoreline(project, "run")
    assert ran.exit_code == 1, ran.output
    assert ran.output.startswith(f"the judge gave no usable reply to any of {QUESTIONS} calls")
    assert f"judge: {QUESTIONS} calls, {QUESTIONS} without a usable reply; " in ran.stderr
    (row, *_) = json.loads(scoreline(project, "sql", "FROM questions", "--format", "json").stdout)
    shown = scoreline(project, "show", row["question_id"]).stdout
    assert shown.count("judge, step 0: I would rather not say.") == 2


@takes_minutes
@pytest.mark.parametrize("wrong", ["key", "down"])
def test_unreachable_judge_ends_the_run_with_one_line(project: JudgedProject, wrong: str) -> None:
    assert project.judge is not None
    refused = Reply(status=401, content=f"Incorrect API key provided: {KEY}")
    with JudgeServer(lambda _: refused) as server:
        project.judge["api_base"] = server.url
        project.write()
        if wrong == "down":
            server.stop()
        ran = scoreline(project, "run")
        assert server.count == (wrong == "key")
    assert (ran.exit_code, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    told = "error: the judge refuses the key: " if wrong == "key" else "error: the judge "
    assert line.startswith(told)
    assert ("does not answer" in line) == (wrong == "down")


@takes_minutes
def test_a_spent_budget_is_no_fault_of_the_judge_and_a_second_run_goes_on(
    project: JudgedProject, server: JudgeServer
) -> None:
    """A reply costs 0.1, and at most 0.6: two thirds of the budget."""
    assert project.judge is not None
    prices = {"usd_per_million_in": 0, "usd_per_million_out": 1_000}
    project.judge |= {"budget_usd": 0.9, "max_tokens": 600, "concurrency": 1, **prices}
    project.questions = [
        {"question_id": f"q{number}", "question": f"What is in room {number}?"}
        for number in range(6)
    ]
    for system in project.predictions:
        project.predictions[system] = [
            {"question_id": f"q{number}", "answer": "Maps.", "contexts": [f"{system} {number}."]}
            for number in range(6)
        ]
    project.write()
    server.script = lambda request: replace(faithful(request), usage=(100, 100))
    ran = scoreline(project, "run")
    assert ran.exit_code == 1
    line = "budget of 0.90 US dollars reached at 0.90 spent, with 0.10 to set aside for the next "
    assert f"{line}call: 3 of 12 judge calls not made; run again to go on" in ran.stderr
    assert "judge: 9 calls; " in ran.stderr
    assert "the run is incomplete: its budget was reached" in ran.stderr.splitlines()[-1]
    assert "a problem of the judge" not in ran.output
    problems = project.rows(
        "SELECT severity, message FROM problems WHERE kind = 'budget_reached' ORDER BY system"
    )
    lost = dict(
        project.rows(
            "SELECT system, count(*) FROM scores WHERE status = 'judge_error' GROUP BY system"
        )
    )
    message = (
        "the judge was not asked about {} of 6 samples of {} for "
        "context_relevancy.context_relevancy: the budget of 0.90 US dollars was reached at 0.90 "
        "spent; run again to go on"
    )
    assert problems == [
        ("high", message.format(count, system)) for system, count in sorted(lost.items())
    ]
    assert project.rows("SELECT * FROM problems WHERE kind = 'judge_failure'") == []
    gate = ["gate", "--benchmark", "rooms", "--system", "plain", "--baseline", "wordy"]
    compared = scoreline(project, *gate)
    assert compared.exit_code == 2
    assert "3 samples were not judged by 'context_relevancy' on 'rooms', because the " in (
        compared.stderr
    )
    assert "changed" not in compared.stderr
    again = scoreline(project, "run")
    assert again.exit_code == 0, again.output
    assert "budget of" not in again.stderr
    assert server.count == 12
    assert project.statuses() == {"scored": 12}
