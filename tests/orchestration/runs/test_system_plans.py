"""What `scoreline plan` says of systems that are asked: calls, price, keys and judge calls."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.orchestration.asked_project import AskedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9/v1"
"""The address of a model that is never called."""

PRICES = {"usd_per_million_in": 1.0, "usd_per_million_out": 2.0}


@pytest.fixture
def project(tmp_path: Path) -> AskedProject:
    """Return a project that asks one function six questions."""
    return AskedProject(tmp_path / "project", systems={"rag": {"python": "my_rag.py:answer"}})


def planned(project: AskedProject) -> dict[tuple[str, str], dict[str, Any]]:
    done = project.scoreline("plan", "--format", "json")
    assert done.code == 0, done.err
    return {(row["benchmark"], row["evaluator"]): row for row in json.loads(done.out)}


def test_a_question_of_two_benchmarks_is_counted_once(project: AskedProject) -> None:
    project.more = {"same": {}}
    rows = planned(project)
    assert rows["rooms", "answers/rag"]["calls"] == 6
    assert rows["same", "answers/rag"]["calls"] == 0
    assert "6 answers to ask systems for;" in project.scoreline("plan").out


@takes_minutes
def test_every_order_of_the_options_is_a_call(project: AskedProject) -> None:
    project.questions = [
        {"question_id": f"q{n}", "question": f"{n} + 1?", "choices": ["1", "2", "3"]}
        for n in range(2)
    ]
    task = {"mcqa": {"few_shot": 0, "permutations": "cyclic"}}
    project.systems = {"m": {"model": "openai/m", "api_base": NOWHERE, "task": task, **PRICES}}
    row = planned(project)["rooms", "answers/m"]
    assert (row["samples"], row["calls"]) == (2, 6)
    assert "2 answers to ask systems for, in 6 calls;" in project.scoreline("plan").out


@takes_minutes
def test_the_price_is_at_most_the_budget(project: AskedProject) -> None:
    project.systems["rag"]["budget_usd"] = 0.75
    project.systems["free"] = {"python": "my_rag.py:short"}
    project.more = {"second": {"questions": "others.jsonl"}}
    project.write()
    other = {"question_id": "o", "question": "Where?", "expected_answer": "x"}
    (project.home / "others.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    rows = planned(project)
    # A function's costs are unknown, so the first benchmark may spend all.
    assert rows["rooms", "answers/rag"]["usd"] == 0.75
    assert rows["second", "answers/rag"]["usd"] == 0.0
    assert rows["rooms", "answers/free"]["usd"] is None
    last = project.scoreline("plan", "--system", "rag").out.splitlines()[-1]
    assert last.endswith("They cost at most 0.75 US dollars, and may reach a budget before.")


@takes_minutes
def test_the_price_of_a_model_below_its_budget_is_its_own(project: AskedProject) -> None:
    model = {"model": "openai/m", "api_base": NOWHERE, "max_tokens": 100, **PRICES}
    project.systems = {"m": {**model, "budget_usd": 5.0}}
    usd = planned(project)["rooms", "answers/m"]["usd"]
    # Six replies of 100 tokens at 2 dollars a million, and a few tokens of the questions.
    assert 0.0012 < usd < 0.0014
    project.systems["m"]["budget_usd"] = 0.001
    assert planned(project)["rooms", "answers/m"]["usd"] == 0.001


@takes_minutes
def test_a_key_that_is_not_set_is_named(project: AskedProject) -> None:
    http = {"url": NOWHERE, "headers": {"X-Key": "${ABSENT_RAG_KEY}"}, "body": "{{ question }}"}
    model = {"model": "openai/m", "api_base": NOWHERE, "api_key_env": "ABSENT_MODEL_KEY"}
    project.systems = {"service": {"http": http}, "m": model}
    done = project.scoreline("plan")
    assert done.code == 0, done.err
    for system, variable in (("service", "ABSENT_RAG_KEY"), ("m", "ABSENT_MODEL_KEY")):
        expected = f"note: a run would fail at the system {system!r}: the environment variable "
        assert f"{expected}{variable} is not set: export {variable}=..." in done.err


def judged(project: AskedProject, address: str) -> None:
    project.systems = {"cited": {"python": "my_rag.py:cited"}}
    project.benchmark = {"evaluators": ["faithfulness"]}
    project.judge = {"model": "openai/j", "api_base": address, **PRICES}


@takes_minutes
def test_judge_calls_of_answers_that_are_missing_are_estimated(project: AskedProject) -> None:
    judged(project, NOWHERE)
    row = planned(project)["rooms", "faithfulness"]
    # Each answer is divided into statements, and these are checked.
    assert (row["samples"], row["calls"], row["held"]) == (6, 2 * 6, 0)
    assert row["usd"] > 0
    assert "what these add above is an estimate" in project.scoreline("plan").out
    assert project.asked() == {}
    assert not (project.home / ".scoreline").exists()


@takes_minutes
def test_the_estimate_is_what_a_run_pays(project: AskedProject) -> None:
    with JudgeServer() as server:
        judged(project, server.url)
        project.scoreline("ask", "--limit", "2")
        before = planned(project)["rooms", "faithfulness"]
        assert project.scoreline("run").code == 0
        assert (before["samples"], before["calls"]) == (6, len(server.requests))
        # The file is a part of the version: all answers are to be given again.
        project.seconds = 0.001
        row = planned(project)["rooms", "faithfulness"]
        assert (row["samples"], row["calls"], row["held"]) == (6, 2 * 6, 0)


@takes_minutes
def test_an_answer_without_passages_makes_others_without(project: AskedProject) -> None:
    judged(project, NOWHERE)
    project.systems = {"rag": {"python": "my_rag.py:answer"}}
    assert planned(project)["rooms", "faithfulness"]["calls"] == 2 * 6
    project.scoreline("ask", "--limit", "1")
    assert planned(project)["rooms", "faithfulness"]["calls"] == 0
