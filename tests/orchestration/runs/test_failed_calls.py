"""Calls without a usable outcome are made again by `run --retry`, and what they cost stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assets.judging.retry import reopen_calls
from tests.orchestration.asked_project import AskedProject
from tests.support.judge_server import JudgeServer, faithful
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.orchestration.judged_project import JudgedProject


CALLS = 4
"""Both systems retrieve the same passages."""


def unusable(_: object) -> Reply:
    return Reply(content="Well.", usage=(100, 10))


def cost(tokens_in: int, tokens_out: int) -> float:
    return (tokens_in * 1.0 + tokens_out * 2.0) / 1e6


def test_unusable_replies_are_asked_for_again(priced: JudgedProject, server: JudgeServer) -> None:
    billed: list[tuple[int, int]] = []

    def counting(request: dict[str, Any]) -> Reply:
        said = answer(request)
        assert said.usage is not None
        billed.append(said.usage)
        return said

    # One question gets no usable reply, the others do.
    def answer(request: dict[str, Any]) -> Reply:
        is_first = "What is kept in room 0?" in request["messages"][1]["content"]
        return unusable(request) if is_broken and is_first else faithful(request)

    is_broken = True
    server.script = counting
    first = priced.scoreline("run")
    before = server.count
    failed = priced.statuses()["parse_failure"]
    assert failed > 0
    assert "`scoreline run --retry` asks again" in first.output
    assert "nothing has changed" in priced.scoreline("run").output
    assert server.count == before
    # It still fails: the cost of both is there.
    priced.scoreline("run", "--retry")
    assert server.count > before
    assert priced.statuses()["parse_failure"] == failed
    is_broken = False
    before = server.count
    again = priced.scoreline("run", "--retry")
    assert again.exit_code == 0, again.output
    assert server.count == before + 1
    assert "judge: 1 calls" in again.output
    assert set(priced.statuses()) == {"scored"}
    assert "judge_failure" not in {kind for (kind,) in priced.rows("SELECT kind FROM problems")}
    spent = sum(cost(*each) for each in billed)
    rows = "SELECT sum(cost_usd), sum(attempts)::INT FROM judgments"
    assert priced.rows(rows) == [(pytest.approx(spent), server.count)]
    assert priced.rows("SELECT sum(cost_usd) FROM v_cost") == [(pytest.approx(spent),)]
    # There is nothing left to retry.
    assert "nothing has changed" in priced.scoreline("run", "--retry").output
    assert server.count == before + 1


@takes_minutes
def test_a_run_goes_on_with_a_retry_that_was_killed(
    priced: JudgedProject, server: JudgeServer
) -> None:
    server.script = unusable
    assert priced.scoreline("run").exit_code == 1
    server.script = faithful
    before = server.count
    # As far as a retry comes that is killed before its first call.
    reopened = reopen_calls(priced.project(), ["rooms"], [], [], judge=True, ask=True)
    assert reopened.verdicts == CALLS
    again = priced.scoreline("run")
    assert "nothing has changed" not in again.output
    assert server.count == before + CALLS
    assert set(priced.statuses()) == {"scored"}
    assert "nothing has changed" in priced.scoreline("run").output


@takes_minutes
def test_force_asks_again_for_what_is_not_usable_and_for_nothing_else(
    priced: JudgedProject, server: JudgeServer
) -> None:
    server.script = unusable
    assert priced.scoreline("run").exit_code == 1
    before = server.count
    server.script = faithful
    forced = priced.scoreline("run", "--force", "--evaluator", "context_relevancy")
    assert forced.exit_code == 0, forced.output
    assert server.count == before + CALLS
    assert set(priced.statuses()) == {"scored"}
    priced.scoreline("run", "--force")
    assert server.count == before + CALLS


def test_a_judge_that_answers_nothing_ends_the_run_with_code_1(
    priced: JudgedProject, server: JudgeServer
) -> None:
    server.script = lambda _: Reply(status=500, content="on fire")
    failed = priced.scoreline("run")
    assert failed.exit_code == 1
    text = f"the judge gave no usable reply to any of {CALLS} calls"
    assert text in failed.stderr
    assert failed.stderr.index(text) < failed.stderr.index("judge: ")
    assert "transport: on fire" in failed.stderr
    server.script = None
    assert priced.scoreline("run").exit_code == 0


FLAKY = """
from pathlib import Path

def answer(question):
    home = Path(__file__).parent
    with (home / "asked.txt").open("a") as file:
        file.write(question["question_id"] + "\\n")
    if (home / "broken").exists() and question["question_id"] in ("q1", "q3"):
        raise ValueError("out of order")
    return {"answer": "Room " + question["question_id"][1:], "cost_usd": 0.25}
"""


@takes_minutes
def test_errors_of_a_system_are_asked_again(tmp_path: Path) -> None:
    project = AskedProject(tmp_path, systems={"rag": {"python": "flaky.py:answer"}})
    (tmp_path / "flaky.py").write_text(FLAKY, "utf-8")
    (tmp_path / "broken").touch()
    project.scoreline("run")
    ((message,),) = project.rows("SELECT message FROM problems WHERE kind = 'failed_answers'")
    assert str(message).endswith("2 of 6 questions; `scoreline run --retry` asks again")
    assert len(project.asked()) == 6
    assert "nothing has changed" in project.scoreline("run").err
    # Who wants other scores of an evaluator does not want other answers.
    project.scoreline("run", "--force", "--evaluator", "rouge")
    project.scoreline("run", "--retry", "--evaluator", "rouge")
    assert project.asked() == {}
    (tmp_path / "broken").unlink()
    project.scoreline("run", "--retry")
    assert project.asked() == {"q1": 1, "q3": 1}
    assert project.rows("SELECT count(*) FROM predictions WHERE error IS NOT NULL") == [(0,)]
    assert project.rows("SELECT min(value) FROM scores WHERE metric = 'rouge_l'") == [(1.0,)]
    assert "nothing has changed" in project.scoreline("run", "--retry").err
    # The cost of an answer is its own, also where it was asked for again.
    project.scoreline("run", "--force")
    assert project.rows("SELECT sum(cost_usd) FROM answers") == [(6 * 0.25,)]
    assert project.rows("SELECT sum(cost_usd) FROM judgments") == [(12 * 0.25,)]
