"""Runs with a panel of judges: real servers on loopback, one for each member."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

SAMPLES = 8
CALLS = SAMPLES // 2  # both systems retrieve the same passages
PRICES = {"usd_per_million_in": 0, "usd_per_million_out": 1_000}


def finds(*keys: str) -> Callable[[dict[str, Any]], Reply]:
    """A judge that finds these of the three sentences useful."""
    content = json.dumps({"reasoning": "", "useful_keys": keys})
    return lambda _: Reply(content=content, usage=(100, 100))


def differs(request: dict[str, Any]) -> Reply:
    """A judge that finds a sentence less useful about rooms with odd numbers."""
    is_odd = any(f"room {number}?" in str(request["messages"]) for number in (1, 3))
    return finds(*(["0a"] if is_odd else ["0a", "0b"]))(request)


def fails(_: dict[str, Any]) -> Reply:
    return Reply(status=500, content="out of order")


@pytest.fixture
def servers() -> Iterator[list[JudgeServer]]:
    scripts = [finds("0a", "0b"), differs, finds("0a")]
    with ExitStack() as stack:
        yield [stack.enter_context(JudgeServer(script)) for script in scripts]


@pytest.fixture
def project(tmp_path: Path, servers: list[JudgeServer]) -> JudgedProject:
    members = [
        {"model": f"openai/judge-{letter}", "api_base": server.url, **PRICES}
        for letter, server in zip("abc", servers, strict=True)
    ]
    judge = {"panel": members, "max_attempts": 1, "max_tokens": 200}
    made = JudgedProject(tmp_path / "home", judge, evaluators=["context_relevancy"])
    made.write()
    return made


def scoreline(project: JudgedProject, *arguments: str) -> Result:
    project.write()
    result = CliRunner().invoke(program, [*arguments, "--config", str(project.config)])
    assert "Traceback" not in result.output, result.output
    return result


def counts(servers: list[JudgeServer]) -> list[int]:
    return [server.count for server in servers]


@takes_minutes
def test_a_panel_votes_and_is_measured(project: JudgedProject, servers: list[JudgeServer]) -> None:
    planned = json.loads(scoreline(project, "plan", "--format", "json").stdout)
    assert [row["calls"] for row in planned] == [3 * CALLS]
    # 250 tokens for a reply that nothing is known about.
    assert planned[0]["usd"] == pytest.approx(3 * CALLS * 250 / 1_000)
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    assert counts(servers) == [CALLS] * 3
    assert "judge: 12 calls;" in ran.stderr

    # Of three sentences, two are useful for the first member, one for the third; the second
    # agrees with the first on even rooms.
    rows = project.rows("SELECT question_id, value, detail FROM scores ORDER BY ALL")
    assert len(rows) == SAMPLES
    for question, value, detail in rows:
        is_odd = question in ("q1", "q3")
        assert value == pytest.approx(1 / 3 if is_odd else 2 / 3)
        shown = {
            member: each["context_relevancy"]
            for member, each in json.loads(detail)["panel"]["values"].items()
        }
        assert shown == {
            "openai/judge-a": pytest.approx(2 / 3),
            "openai/judge-b": pytest.approx(value),
            "openai/judge-c": pytest.approx(1 / 3),
        }
    assert project.rows("SELECT model, count(*) FROM judgments GROUP BY ALL ORDER BY ALL") == [
        (f"openai/judge-{letter}", CALLS) for letter in "abc"
    ]
    assert project.rows("SELECT count(DISTINCT member), count(*) FROM asks") == [(3, 3 * SAMPLES)]
    ((evaluator, metric, n, alpha, low, high, agreement),) = project.rows(
        "SELECT * EXCLUDE benchmark FROM panel"
    )
    assert (evaluator, metric, n) == ("context_relevancy", "context_relevancy", SAMPLES)
    # The second agrees with one of the others on each sample, these never with each other.
    assert agreement == {
        "openai/judge-a": 0.25,
        "openai/judge-b": 0.5,
        "openai/judge-c": 0.25,
    }
    # By definition: two of the three pairs of each sample differ, as do 12 * 12 of the 12 * 23
    # pairs of all 24 values.
    assert alpha == pytest.approx(1 - (2 / 3) / (12 * 12 / (12 * 23)))
    assert low < alpha < high
    (problem,) = project.rows("SELECT kind FROM problems WHERE kind = 'panel_disagreement'")
    assert problem == ("panel_disagreement",)

    (page,) = project.home.glob("published/report/rooms-*/index.html")
    shown = page.read_text(encoding="utf-8")
    assert "Agreement of the judges" in shown
    assert "<bdi>openai/judge-b</bdi> 0.50" in shown

    again = scoreline(project, "run", "--force")
    assert again.exit_code == 0
    assert counts(servers) == [CALLS] * 3
    assert project.rows("SELECT question_id, value, detail FROM scores ORDER BY ALL") == rows


@takes_minutes
def test_only_a_changed_member_is_asked(project: JudgedProject, servers: list[JudgeServer]) -> None:
    scoreline(project, "run")
    assert project.judge is not None
    project.judge["panel"][2]["model"] = "openai/judge-d"
    scoreline(project, "run")
    assert counts(servers) == [CALLS, CALLS, 2 * CALLS]
    # Another combination of the same verdicts asks nothing.
    project.judge["combine"] = "mean"
    scoreline(project, "run")
    assert counts(servers) == [CALLS, CALLS, 2 * CALLS]
    values = project.rows("SELECT DISTINCT question_id IN ('q1', 'q3'), value FROM scores")
    assert dict(values) == {True: pytest.approx(4 / 9), False: pytest.approx(5 / 9)}
    # As does a single judge that was a member.
    project.judge = {**project.judge["panel"][0], "max_attempts": 1, "max_tokens": 200}
    scoreline(project, "run")
    assert counts(servers) == [CALLS, CALLS, 2 * CALLS]
    assert project.rows("SELECT count(*) FROM panel") == [(0,)]


@takes_minutes
def test_a_member_that_fails_leaves_the_vote_and_is_asked_again(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    servers[1].script = fails
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    rows = project.rows(
        "SELECT DISTINCT status, value, detail ->> '$.panel.reasons.\"openai/judge-b\"' FROM scores"
    )
    ((status, value, reason),) = rows
    assert (status, value) == ("scored", pytest.approx(0.5))
    assert reason.startswith("judge_error: ")
    servers[1].script = differs
    scoreline(project, "run")
    assert counts(servers) == [CALLS, 2 * CALLS, CALLS]
    assert project.rows(
        "SELECT count(*) FROM scores WHERE (detail -> '$.panel.reasons') IS NOT NULL"
    ) == [(0,)]
    scoreline(project, "run")
    assert counts(servers) == [CALLS, 2 * CALLS, CALLS]


@takes_minutes
def test_the_third_judges_where_the_first_two_disagree(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    assert project.judge is not None
    project.judge["escalate"] = True
    scoreline(project, "run")
    assert counts(servers) == [CALLS, CALLS, CALLS // 2]
    values = project.rows("SELECT DISTINCT question_id IN ('q1', 'q3'), value FROM scores")
    assert dict(values) == {True: pytest.approx(1 / 3), False: pytest.approx(2 / 3)}
    ((n, agreement),) = project.rows("SELECT n, agreement FROM panel")
    assert n == SAMPLES
    assert agreement == {"openai/judge-a": 0.5, "openai/judge-b": 0.5, "openai/judge-c": None}
    gated = scoreline(
        project,
        "gate",
        "--system",
        "plain",
        "--baseline",
        "wordy",
        "--tolerance",
        "0.5",
        "--metric",
        "context_relevancy",
    )
    assert "different models" not in gated.output


@takes_minutes
def test_a_wrong_key_of_any_member_ends_the_run(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    with JudgeServer(lambda _: Reply(status=401, content="Incorrect API key")) as server:
        assert project.judge is not None
        project.judge["panel"][1]["api_base"] = server.url
        ran = scoreline(project, "run")
        assert server.count == 1
    assert (ran.exit_code, ran.stdout) == (2, "")
    line = ran.stderr.splitlines()[-1]
    assert line.startswith("error: the judge 'openai/judge-b' refuses the key")
    # What the others replied is kept.
    project.judge["panel"][1]["api_base"] = servers[1].url
    scoreline(project, "run")
    assert counts(servers) == [CALLS] * 3


@takes_minutes
def test_the_budget_holds_for_all_members(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    """A reply costs 0.1, and at most 0.2."""
    assert project.judge is not None
    project.judge |= {"budget_usd": 0.75, "concurrency": 1}
    ran = scoreline(project, "run")
    assert ran.exit_code == 1
    assert "budget" in ran.stderr
    ((spent,),) = project.rows("SELECT sum(cost_usd) FROM judgments")
    assert 0.4 < spent <= 0.75
    # Samples with two of three verdicts have a score, and are completed later.
    for _ in range(3):
        ran = scoreline(project, "run")
    assert ran.exit_code == 0
    assert sum(counts(servers)) == 3 * CALLS
    complete = project.rows(
        "SELECT count(*) FROM scores WHERE (detail -> '$.panel.incomplete') IS NULL"
    )
    assert complete == [(SAMPLES,)]


@takes_minutes
def test_recorded_members_have_the_same_addresses(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    for name, keys in (("ann", ["0a"]), ("ben", ["0a", "0b"]), ("cem", ["0a", "0b"])):
        lines = [
            {
                "evaluator": "context_relevancy",
                "question_id": f"q{number}",
                "reply": {"reasoning": "", "useful_keys": keys},
            }
            for number in range(4)
            if (name, number) != ("cem", 3)
        ]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (home / f"{name}.jsonl").write_text(text, encoding="utf-8")
    names = ["recorded:ann.jsonl", "recorded:ben.jsonl", "recorded:cem.jsonl"]
    project = JudgedProject(home, {"panel": names}, evaluators=["context_relevancy"])
    ran = scoreline(project, "run")
    assert ran.exit_code == 0, ran.output
    values = project.rows("SELECT DISTINCT question_id, value FROM scores ORDER BY ALL")
    # One reply is missing, so that two members are left.
    assert [value for _, value in values] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0.5])
    tested = scoreline(
        project, "robustness", "--benchmark", "rooms", "--evaluator", "context_relevancy"
    )
    assert tested.exit_code == 2
    assert "recorded replies" in tested.output


@takes_minutes
def test_members_are_compared_with_human_labels(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    import polars as pl

    from warehouse.store import Warehouse

    project.more = {}
    scoreline(project, "run")
    labels = [
        {
            "benchmark": "rooms",
            "system": system,
            "question_id": f"q{number}",
            "evaluator": "context_relevancy",
            "metric": "context_relevancy",
            "value": 1 / 3 if number % 2 else 2 / 3,
            "annotator": "ann",
        }
        for system in ("plain", "wordy")
        for number in range(4)
    ]
    Warehouse(project.project().warehouse).append("labels", pl.DataFrame(labels))
    scoreline(project, "run", "--force")
    rows = project.rows(
        "SELECT member, is_regular, n_compared, agreement, kappa FROM panel_calibration "
        "ORDER BY ALL"
    )
    # The threshold is the middle of the scale.
    assert rows == [
        ("openai/judge-a", 1, SAMPLES, 0.5, 0.0),
        ("openai/judge-b", 1, SAMPLES, 1.0, 1.0),
        ("openai/judge-c", 1, SAMPLES, 0.5, 0.0),
    ]
    assert sum(counts(servers)) == 3 * CALLS


def test_doctor_checks_every_member(project: JudgedProject, servers: list[JudgeServer]) -> None:
    servers[2].script = lambda _: Reply(status=404, content="no such model")
    shown = scoreline(project, "doctor", "--format", "json")
    states = {row["subject"]: row["state"] for row in json.loads(shown.stdout)}
    judges = {subject: state for subject, state in states.items() if subject.startswith("judge")}
    assert judges.keys() == {
        *(f"judge openai/judge-{letter}" for letter in "abc"),
        *(f"judge price openai/judge-{letter}" for letter in "abc"),
    }
    assert judges["judge openai/judge-c"] == "fail"
    assert shown.exit_code == 1


@takes_minutes
def test_robustness_tests_the_verdict_of_the_panel(
    project: JudgedProject, servers: list[JudgeServer]
) -> None:
    """The second member obeys the answer that it is shown first; the others outvote it."""
    scoreline(project, "run")
    assert project.judge is not None
    servers[1].script = finds("0a", "0b", "1a")
    servers[2].script = finds("0a", "0b")
    project.judge["panel"][2]["model"] = "openai/judge-d"
    shown = scoreline(
        project,
        *("robustness", "--benchmark", "rooms", "--evaluator", "context_relevancy"),
        *("--format", "json"),
    )
    assert shown.exit_code == 0, shown.output
    order = json.loads(shown.stdout)[0]
    assert (order["variation"], order["compared"], order["changed"]) == (
        "reversed order",
        SAMPLES,
        0,
    )
    assert servers[1].count > CALLS


@takes_minutes
def test_python_takes_a_panel(tmp_path: Path, servers: list[JudgeServer]) -> None:
    import scoreline as api

    members = [
        {"model": f"openai/judge-{letter}", "api_base": server.url}
        for letter, server in zip("abc", servers, strict=True)
    ]
    questions = [{"question_id": "q0", "question": "What is in room 0?"}]
    answers = [{"question_id": "q0", "answer": "Maps.", "contexts": ["Maps. Charts. Keys."]}]
    found = api.evaluate(
        questions,
        {"one": answers},
        evaluators=["context_relevancy"],
        judge={"panel": members, "combine": "mean"},
        ledger=tmp_path / "ledger",
    )
    (row,) = found.scores.rows(named=True)
    assert row["status"] == "scored", row
    assert sorted(json.loads(row["detail"])["panel"]["values"]) == [
        member["model"] for member in members
    ]
