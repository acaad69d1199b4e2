"""The typical changes of the Dagster guide, in a browser with a running daemon."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.orchestration.conftest import scoreline
from tests.orchestration.daemon import interface, until
from tests.orchestration.interface_page import Page
from tests.orchestration.story_project import BENCHMARKS, StoryProject
from tests.support.judge_server import JudgeServer, faithful
from tests.support.services import takes_longest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selenium import webdriver

    from tests.orchestration.daemon import Interface
    from tests.support.scripted_reply import Reply

pytestmark = [
    pytest.mark.browser,
    pytest.mark.timeout(1500),
    takes_longest,
]


def answers(project: StoryProject, benchmark: str) -> int:
    """How many answers a judge can be asked about: failures are not put to it."""
    files = (project.home / benchmark).glob("predictions_*.jsonl")
    rows = [row for file in files for row in project.lines(f"{benchmark}/{file.name}")]
    return sum("error" not in row for row in rows)


def test_the_four_typical_changes(tmp_path: Path, browser: webdriver.Chrome) -> None:
    project = StoryProject(tmp_path)
    with JudgeServer() as judge:
        project.write(judge.url)
        assert scoreline(tmp_path, "run").code == 0
        both = sum(answers(project, name) for name in BENCHMARKS)
        assert judge.count == both
        with interface(tmp_path) as dev:
            page = Page(browser, dev)
            a_new_metric(page, project)
            assert judge.count == both
            a_changed_prompt(page, project)
            assert judge.count == 2 * both
            one_corrected_question(page, project)
            assert judge.count == 2 * both
            a_new_system(page, project)
            assert judge.count == 2 * both + 5


def a_new_metric(page: Page, project: StoryProject) -> None:
    """Another evaluator for both benchmarks: all are graded by it, and by nothing else."""
    before = project.runs()
    project.configure(lambda benchmark: benchmark["evaluators"].append("rouge"))
    page.reload()
    assert page.backfill('key:"scores/rouge"+') == "Success"
    assert {(name, evaluator) for name, _, _, evaluator in project.graded_after(before)} == {
        (name, "rouge") for name in BENCHMARKS
    }
    sql = "SELECT DISTINCT benchmark FROM leaderboard WHERE evaluator = 'rouge' ORDER BY ALL"
    assert project.published(sql) == [(name,) for name in BENCHMARKS]
    # Both benchmarks were one run, and publishing was another.
    latest = [run for run in page.dev.runs() if "dagster/backfill" in run["tags"]]
    assert [run["status"] for run in latest] == ["SUCCESS", "SUCCESS"]
    assert "rouge.rouge_l" in page.standings("south")["reader"]


def a_changed_prompt(page: Page, project: StoryProject) -> None:
    """Another question to the judge: every answer is put to it again, and only graded by it."""
    before = project.runs()
    old = project.rows("SELECT DISTINCT signature FROM scores WHERE evaluator = 'byop'")

    def reword(benchmark: dict[str, Any]) -> None:
        byop = benchmark["parameters"]["byop"]
        byop["prompt_template"] = f"Think twice. {byop['prompt_template']}"

    project.configure(reword)
    page.reload()
    assert page.backfill('key:"judgments/byop"+') == "Success"
    assert {evaluator for *_, evaluator in project.graded_after(before)} == {"byop"}
    new = project.rows("SELECT DISTINCT signature FROM scores WHERE evaluator = 'byop'")
    assert len(new) == 1
    assert new != old
    published = "SELECT DISTINCT signature FROM leaderboard WHERE evaluator = 'byop'"
    assert project.published(published) == new


def one_corrected_question(page: Page, project: StoryProject) -> None:
    """Another gold sentence for one question: its answers are graded again where that matters."""
    before = project.runs()
    shown = {name: page.standings(name)["reader"]["citation.f1"] for name in BENCHMARKS}
    rows = project.lines("north/questions.jsonl")
    rows[0]["gold_sentence_ids"] = ["S1"]
    project.rewrite("north/questions.jsonl", rows)
    assert page.backfill('key:"questions"+', ["north"]) == "Success"
    assert project.graded_after(before) == {
        ("north", system, rows[0]["question_id"], "citation") for system in ("keyword", "reader")
    }
    assert page.standings("north")["reader"]["citation.f1"] < shown["north"]
    assert page.standings("south")["reader"]["citation.f1"] == shown["south"]


def a_new_system(page: Page, project: StoryProject) -> None:
    """A file of predictions: its rows are graded by everything, those of others by nothing."""
    before = project.runs()
    rows = project.lines("south/predictions_reader.jsonl")
    told = [{**row, "answer": f"I think: {row['answer']}"} for row in rows if "error" not in row]
    project.rewrite("south/predictions_fresh.jsonl", told[:5])
    assert page.backfill('key:"predictions"+', ["south"]) == "Success"
    graded = project.graded_after(before)
    assert {(name, system) for name, system, _, _ in graded} == {("south", "fresh")}
    assert {evaluator for *_, evaluator in graded} == {
        *("document_retrieval", "citation", "byop", "rouge"),
    }
    assert set(page.standings("south")) == {"fresh", "keyword", "reader"}
    sql = "SELECT DISTINCT benchmark FROM leaderboard WHERE system = 'fresh'"
    assert project.published(sql) == [("south",)]


@pytest.mark.parametrize("by_force", [False, True])
def test_a_terminated_run_leaves_complete_steps(
    tmp_path: Path, browser: webdriver.Chrome, by_force: bool
) -> None:
    calm, stopped = StoryProject(tmp_path / "calm"), StoryProject(tmp_path / "stopped")
    with JudgeServer() as judge:
        calm.home.mkdir()
        calm.write(judge.url)
        assert scoreline(calm.home, "run").code == 0
    with JudgeServer(slowly) as judge:
        stopped.home.mkdir()
        stopped.write(judge.url)
        limited = stopped.config.read_text(encoding="utf-8")
        stopped.config.write_text(
            limited.replace("judge:\n", "judge:\n  concurrency: 1\n"), encoding="utf-8"
        )
        with interface(stopped.home) as dev:
            page = Page(browser, dev)
            page.launch("*")
            until("the first questions to the judge", lambda: judge.count >= 2)
            run = dev.runs()[0]["runId"]
            with held(dev) if by_force else nullcontext():
                page.terminate(by_force=by_force)
                until("the status", lambda: dev.runs()[0]["status"] == "CANCELED")
                nothing_is_scored(stopped, calm)
                # What a process was told that hears of no termination, nobody else knows;
                # otherwise only the question that was under way may be asked again.
                repeated = judge.count + 1 if by_force else 1
                judge.script = None
                assert scoreline(stopped.home, "run").code == 0
                assert stopped.everything() == calm.everything()
            statuses = {each["runId"]: each["status"] for each in dev.runs()}
            assert statuses[run] == "CANCELED"
        asked = [digest for _, digest in judge.arrivals]
        assert len(asked) - len(set(asked)) <= repeated
        # Nor has a process that went on too late changed anything.
        assert stopped.everything() == calm.everything()
        assert scoreline(stopped.home, "run").code == 0
        assert judge.count == len(asked)
    assert stopped.everything() == calm.everything()


def slowly(request: dict[str, Any]) -> Reply:
    """A judge's answer that takes its time, so that a run can be stopped while it asks."""
    return replace(faithful(request), delay=2.0)


def nothing_is_scored(stopped: StoryProject, calm: StoryProject) -> None:
    """What was read is there as a whole, and nothing was made of it."""
    questions = "SELECT count(*) FROM questions"
    assert stopped.rows(questions) == calm.rows(questions)
    assert stopped.rows("SELECT * FROM scores") == []
    assert stopped.rows("SELECT * FROM leaderboard") == []


@contextmanager
def held(dev: Interface) -> Iterator[None]:
    """Have the process of the run that is under way do nothing until the end of the `with`.

    As one that hangs: it is there, holds what it holds, and hears of no termination.
    """
    run = str(dev.runs()[0]["runId"])
    process = dev.process(run)
    os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)
    until("the end of its process", lambda: ended(process))


def ended(process: int) -> bool:
    """Whether a process is gone, or waits only for somebody to take note of its end."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
