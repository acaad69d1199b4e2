"""Runs with a judge: nothing is paid twice, and no failure becomes a score.

The judge is a real HTTP server on loopback; it is asked through LiteLLM as any other.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.engines.judge.errors import JudgeRefused
from evaluators.flows.prompt import Instruction
from evaluators.library.retrieval.context_relevancy import ContextRelevancy
from tests.orchestration.judged_project import JudgedProject, predictions
from tests.support.judge_server import JudgeServer, faithful
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-secret-of-the-test"
SAMPLES = 8
FAITHFULNESS = 2 * SAMPLES
RELEVANCY = SAMPLES // 2  # both systems retrieve the same passages


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", KEY)


def judge(server: JudgeServer) -> dict[str, Any]:
    return {
        "model": "openai/a-judge",
        "api_base": server.url,
        "api_key_env": "JUDGE_KEY",
        "usd_per_million_in": 1.0,
        "usd_per_million_out": 2.0,
        "max_attempts": 2,
        "max_tokens": 500,
    }


@pytest.fixture
def project(tmp_path: Path, server: JudgeServer) -> JudgedProject:
    return JudgedProject(tmp_path / "home", judge(server))


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[JudgedProject, int]:
    with JudgeServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUDGE_KEY", KEY)
        project = JudgedProject(tmp_path_factory.mktemp("judged") / "home", judge(server))
        project.run()
        return project, server.count


@pytest.fixture
def judged(once: tuple[JudgedProject, int], project: JudgedProject) -> JudgedProject:
    """The project after a run, with a judge that has not been asked anything yet."""
    shutil.copytree(once[0].home, project.home)
    return project


def test_a_run_calls_the_judge_and_scores_once(
    once: tuple[JudgedProject, int], judged: JudgedProject, server: JudgeServer
) -> None:
    assert once[1] == FAITHFULNESS + RELEVANCY
    assert judged.statuses() == {"scored": 2 * SAMPLES}
    asks = judged.rows("SELECT evaluator, count(*) FROM asks GROUP BY ALL ORDER BY ALL")
    assert asks == [("context_relevancy", SAMPLES), ("faithfulness", FAITHFULNESS)]
    ((count, status, tokens_in, tokens_out, cost),) = judged.rows(
        "SELECT count(*), any_value(status), sum(tokens_in)::DOUBLE, "
        "sum(tokens_out)::DOUBLE, sum(cost_usd) "
        "FROM judgments"
    )
    assert (count, status) == (FAITHFULNESS + RELEVANCY, "scored")
    assert cost == pytest.approx((tokens_in * 1.0 + tokens_out * 2.0) / 1e6)
    before = judged.everything()
    judged.run(force=True)
    assert server.count == 0
    assert judged.everything() == before


@takes_minutes
def test_a_changed_formula_costs_nothing(
    judged: JudgedProject, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ContextRelevancy, "version", 2)
    judged.run()
    assert server.count == 0
    signatures = judged.rows(
        "SELECT DISTINCT signature FROM scores WHERE evaluator = 'context_relevancy'"
    )
    assert ["version:2" in signature for (signature,) in signatures] == [True]


@takes_minutes
def test_a_changed_prompt_repeats_only_its_evaluator(
    judged: JudgedProject, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluators.library.retrieval import context_relevancy

    other = Instruction("In other words: " + context_relevancy.FIND.text)
    monkeypatch.setattr(context_relevancy, "FIND", other)
    monkeypatch.setattr(ContextRelevancy, "prompts", (other,))
    judged.run()
    assert server.count == RELEVANCY


@takes_minutes
def test_a_new_system_is_judged_alone(judged: JudgedProject, server: JudgeServer) -> None:
    judged.predictions["late"] = predictions("late")
    judged.run()
    assert server.count == 2 * 4


@takes_minutes
def test_no_judge_makes_no_calls_and_invents_no_scores(
    project: JudgedProject, server: JudgeServer
) -> None:
    project.run(judge=False)
    assert server.count == 0
    assert project.statuses() == {"judge_error": 2 * SAMPLES}
    reasons = project.rows("SELECT DISTINCT reason FROM scores")
    assert [("not asked yet" in reason) for (reason,) in reasons] == [True]
    assert project.rows("SELECT count(*) FROM grades WHERE input_digest <> 0") == [(0,)]
    project.run()
    assert project.statuses() == {"scored": 2 * SAMPLES}


@takes_minutes
def test_a_missing_judge_is_the_reason_for_missing_scores(tmp_path: Path) -> None:
    project = JudgedProject(tmp_path / "home", None)
    project.run()
    assert project.statuses() == {"not_applicable": 2 * SAMPLES}
    assert project.rows("SELECT DISTINCT reason FROM scores") == [
        ("no judge is configured: set judge.model in scoreline.yaml",)
    ]


@takes_minutes
def test_a_budget_is_a_total_and_a_later_run_continues(
    project: JudgedProject, server: JudgeServer
) -> None:
    assert project.judge is not None
    project.judge |= {"budget_usd": 0.006, "concurrency": 1}
    project.run()
    ((spent,),) = project.rows("SELECT sum(cost_usd) FROM judgments")
    assert 0.005 < spent <= 0.006
    statuses = project.statuses()
    assert statuses["judge_error"] > 0
    reasons = project.rows("SELECT DISTINCT reason FROM scores WHERE status = 'judge_error'")
    assert [reason.startswith("budget") for (reason,) in reasons] == [True]
    asked = server.count
    del project.judge["budget_usd"]
    project.run()
    assert project.statuses() == {"scored": 2 * SAMPLES}
    assert server.count == FAITHFULNESS + RELEVANCY
    assert 0 < asked < server.count


@takes_minutes
def test_a_wrong_key_stops_the_run_and_keeps_paid_replies(
    project: JudgedProject, server: JudgeServer
) -> None:
    said = 0

    def script(request: dict[str, Any]) -> Reply:
        nonlocal said
        said += 1
        if said > 5:
            return Reply(status=401, content=f"Incorrect API key provided: {KEY}")
        return faithful(request)

    server.script = script
    assert project.judge is not None
    project.judge["concurrency"] = 1
    with pytest.raises(JudgeRefused) as refused:
        project.run()
    assert KEY not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert project.rows("SELECT count(*) FROM judgments WHERE status = 'scored'") == [(5,)]
    server.script = None
    project.run()
    assert project.statuses() == {"scored": 2 * SAMPLES}
    assert server.count == FAITHFULNESS + RELEVANCY + 1


@takes_minutes
def test_an_unusable_reply_is_no_score_and_is_not_repeated(
    project: JudgedProject, server: JudgeServer
) -> None:
    project.evaluators = ["context_relevancy"]
    server.script = lambda _: Reply(content="I would rather not say.")
    project.run()
    assert project.statuses() == {"parse_failure": SAMPLES}
    # It has been judged, if to no avail: the samples are not stale.
    assert project.rows("SELECT count(*) FROM grades WHERE input_digest = 0") == [(0,)]
    asked = server.count
    project.run(force=True)
    assert server.count == asked
    ((coverage, mean),) = project.rows(
        "SELECT DISTINCT coverage, mean FROM leaderboard WHERE slice = 'all'"
    )
    assert (coverage, mean) == (0.0, None)


@takes_minutes
def test_replicates_use_the_median_and_are_shown(
    project: JudgedProject, server: JudgeServer
) -> None:
    assert project.judge is not None
    project.judge["replicates"] = 3
    project.evaluators = ["context_relevancy"]
    project.run()
    assert server.count == 3 * RELEVANCY
    replicates = project.rows("SELECT DISTINCT replicate FROM judgments ORDER BY ALL")
    assert replicates == [(0,), (1_000,), (2_000,)]
    rows = project.rows("SELECT value, (detail -> 'replicates')::DOUBLE[] FROM scores")
    assert [value for value, _ in rows] == [sorted(said)[1] for _, said in rows]


@takes_minutes
def test_human_labels_replace_the_judge(project: JudgedProject) -> None:
    from warehouse.store import Warehouse

    project.judge = {"model": "human"}
    project.evaluators = ["sexism"]
    project.run()
    assert set(project.statuses()) == {"not_applicable"}
    labels = [
        {
            "benchmark": "rooms",
            "system": "plain",
            "question_id": "q0",
            "evaluator": "sexism",
            "metric": "passes",
            "value": value,
            "annotator": annotator,
        }
        for annotator, value in (("ann", 1.0), ("ben", 0.0), ("cem", 1.0))
    ]
    import polars as pl

    Warehouse(project.project().warehouse).append("labels", pl.DataFrame(labels))
    project.run(force=True)
    found = project.rows("SELECT metric, value FROM scores WHERE value IS NOT NULL ORDER BY ALL")
    assert found == [
        ("failures", 0.0),
        ("generation_failures", 0.0),
        ("parse_failures", 0.0),
        ("passes", 1.0),
    ]


@takes_minutes
def test_composites_use_the_judged_scores(project: JudgedProject) -> None:
    project.evaluators = ["ragas"]
    project.run()
    used = {name for (name,) in project.rows("SELECT DISTINCT evaluator FROM scores")}
    assert used == {
        "ragas",
        "faithfulness",
        "answer_relevancy",
        "context_precision",
        "context_recall",
    }
    rows = project.rows(
        "SELECT DISTINCT status, reason FROM scores WHERE evaluator = 'ragas' AND metric = 'ragas'"
    )
    # No embedding model is configured, so that no row has all parts; each says what is missing.
    assert {status for status, _ in rows} <= {"not_applicable", "parse_failure"}
    assert all(reason.partition(".")[0] in used for _, reason in rows)
    same = project.rows(
        "SELECT count(*) FROM scores AS whole JOIN scores AS part USING (system, question_id) "
        "WHERE whole.evaluator = 'ragas' AND whole.metric = 'faithfulness' "
        "AND part.evaluator = 'faithfulness' AND part.metric = 'faithfulness' "
        "AND whole.value IS NOT DISTINCT FROM part.value"
    )
    assert same == [(SAMPLES,)]


def test_no_file_contains_the_api_key(once: tuple[JudgedProject, int]) -> None:
    for path in once[0].home.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
