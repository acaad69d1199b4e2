"""Systems that are asked: answers are asked for once, and scored as those of files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from orchestration.config.load import load_config
from orchestration.definitions import build_definitions
from tests.orchestration.asked_project import AskedProject
from tests.support.services import takes_minutes


@pytest.fixture
def project(tmp_path: Path) -> AskedProject:
    """Return a project whose run asks two functions six questions each."""
    return AskedProject(tmp_path / "project")


def test_a_run_asks_scores_and_publishes(project: AskedProject) -> None:
    done = project.scoreline("run")
    assert done.code == 0, done.err
    assert "rag, rooms: 6 asked; 1.50 US dollars" in done.messages
    assert sum(project.asked().values()) == 12
    means = project.rows(
        "SELECT system, mean FROM leaderboard WHERE metric = 'rouge_l' AND slice = 'all' ORDER BY 1"
    )
    # `Room` has half of the two words of each expected answer, and nothing else: F1 is 2/3.
    assert means == [("rag", pytest.approx(1.0)), ("short", pytest.approx(2 / 3))]
    answers = project.rows(
        "SELECT system, count(*), sum(cost_usd), count(error), min(attempts), max(repeat), "
        "bool_and(latency_s > 0) FROM answers GROUP BY system ORDER BY system"
    )
    assert answers == [("rag", 6, 1.5, 0, 1, 0, True), ("short", 6, None, 0, 1, 0, True)]
    assert project.rows("SELECT count(*) FROM judgments JOIN answers USING (digest)") == [(12,)]
    insights = {kind for (kind,) in project.rows("SELECT kind FROM insights")}
    assert "fastest" in insights


@takes_minutes
def test_only_what_changed_is_asked_again(project: AskedProject) -> None:
    project.scoreline("run")
    project.asked()
    assert project.scoreline("run").code == 0
    assert project.asked() == {}
    # What is right does not change an answer, but its score.
    project.questions[1]["expected_answer"] = "Hall 1"
    assert "2 scored" in project.scoreline("run").messages
    assert project.asked() == {}
    project.questions[2]["question"] = "Where now?"
    project.scoreline("run")
    assert project.asked() == {"answer q2": 1, "short q2": 1}
    project.questions.append({"question_id": "q6", "question": "?", "expected_answer": "Room 6"})
    project.scoreline("run")
    assert project.asked() == {"answer q6": 1, "short q6": 1}
    project.systems["rag"]["version"] = "2"
    project.scoreline("run")
    assert project.asked() == {f"answer q{number}": 1 for number in range(7)}
    assert project.scoreline("run", "--force", "--system", "short").code == 0
    assert project.asked() == {f"short q{number}": 1 for number in range(7)}


@takes_minutes
def test_a_changed_source_file_is_another_version(project: AskedProject) -> None:
    project.scoreline("run")
    project.asked()
    project.seconds = 0.001
    project.scoreline("run")
    assert sum(project.asked().values()) == 12


@takes_minutes
def test_asked_systems_stand_beside_those_of_files(project: AskedProject) -> None:
    project.write()
    lines = [json.dumps({"question_id": f"q{n}", "answer": f"Room {n}"}) for n in range(6)]
    (project.home / "old.jsonl").write_text("\n".join(lines), encoding="utf-8")
    project.benchmark = {"predictions": "{system}.jsonl"}
    # Only files that the pattern names: questions.jsonl would be a system, too.
    project.benchmark["predictions"] = "o{system}.jsonl"
    done = project.scoreline("run")
    assert done.code == 0, done.err
    systems = project.rows("SELECT DISTINCT system FROM leaderboard ORDER BY 1")
    assert systems == [("ld",), ("rag",), ("short",)]


@takes_minutes
def test_a_system_that_is_no_longer_asked_leaves_the_leaderboard(project: AskedProject) -> None:
    project.scoreline("run")
    project.benchmark = {"systems": ["rag"]}
    assert project.scoreline("run").code == 0
    assert project.rows("SELECT DISTINCT system FROM leaderboard") == [("rag",)]
    assert project.rows("SELECT DISTINCT system FROM answers") == [("rag",)]


@takes_minutes
def test_a_budget_leaves_questions_out_and_says_so(project: AskedProject) -> None:
    project.systems["rag"] |= {"budget_usd": 1.0, "concurrency": 1}
    done = project.scoreline("run")
    assert done.code == 1
    assert "2 not asked: its budget was reached" in done.messages
    left_out = project.rows("SELECT question_id FROM predictions WHERE not_asked = 1 ORDER BY 1")
    assert left_out == [("q4",), ("q5",)]
    project.asked()
    done = project.scoreline("run")
    assert done.code == 0, done.err
    assert project.asked() == {"answer q4": 1, "answer q5": 1}
    assert project.rows("SELECT count(*) FROM predictions WHERE not_asked = 1") == [(0,)]


@takes_minutes
def test_a_daily_budget_holds_for_all_runs(project: AskedProject) -> None:
    project.systems = {"rag": {"python": "my_rag.py:answer", "daily_budget_usd": 1.0}}
    project.systems["rag"]["concurrency"] = 1
    assert project.scoreline("ask", "--limit", "3").code == 0
    (row, *_) = json.loads(project.scoreline("plan", "--format", "json").out)
    assert (row["calls"], row["usd"]) == (3, 0.25)
    done = project.scoreline("run")
    assert done.code == 1
    assert "2 not asked: its budget was reached" in done.messages
    assert project.scoreline("run").code == 1
    assert sum(project.asked().values()) == 4
    (row, *_) = json.loads(project.scoreline("plan", "--format", "json").out)
    assert (row["calls"], row["usd"]) == (2, 0.0)
    project.systems["rag"]["daily_budget_usd"] = 2.0
    assert project.scoreline("run").code == 0
    assert sum(project.asked().values()) == 2


def test_a_wrong_shape_of_the_first_answer_ends_the_run(project: AskedProject) -> None:
    project.systems["odd"] = {"python": "odd.py:answer"}
    project.write()
    (project.home / "odd.py").write_text("def answer(question):\n    return {'answr': 'x'}\n")
    done = project.scoreline("run")
    assert done.code == 2
    assert "the first answer of the system 'odd': unknown field 'answr' (did you mean" in done.err
    assert not (project.home / "published").exists()


@takes_minutes
def test_an_error_of_the_system_is_a_failed_answer(project: AskedProject) -> None:
    project.systems["odd"] = {"python": "odd.py:answer"}
    project.write()
    code = "def answer(question):\n    if question['question_id'] == 'q3':\n"
    (project.home / "odd.py").write_text(code + "        raise ValueError('no')\n    return 'x'\n")
    done = project.scoreline("run")
    assert done.code == 0, done.err
    assert "odd, rooms: 6 asked, 1 with an error of the system; most often: Value" in done.messages
    ((error,),) = project.rows("SELECT error FROM predictions WHERE error IS NOT NULL")
    assert error.startswith("ValueError: no (odd.py:3")
    ((failed, mean),) = project.rows(
        "SELECT n_target_error, mean FROM leaderboard "
        "WHERE system = 'odd' AND metric = 'rouge_l' AND slice = 'all'"
    )
    assert (failed, mean) == (1, 0.0)


@takes_minutes
def test_ask_asks_without_scoring(project: AskedProject, tmp_path: Path) -> None:
    done = project.scoreline("ask", "--system", "rag", "--limit", "2", "--out", str(tmp_path / "a"))
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "rag, rooms: 2 asked; 0.50 US dollars"
    assert project.asked() == {"answer q0": 1, "answer q1": 1}
    assert not (project.home / "published").exists()
    written = (tmp_path / "a" / "rooms" / "rag.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["answer"] for line in written] == ["Room 0", "Room 1"]
    assert project.scoreline("ask").code == 0
    assert sum(project.asked().values()) == 10
    assert project.scoreline("ask").out == "0 asked: the ledger has the answers\n"
    exported = project.scoreline("export", "--as", "predictions", "--out", str(tmp_path / "b"))
    assert exported.code == 0, exported.err
    assert len((tmp_path / "b" / "short.jsonl").read_text("utf-8").splitlines()) == 6
    assert project.scoreline("run").code == 0
    assert project.asked() == {}


@takes_minutes
def test_what_ask_writes_can_be_read_as_predictions(project: AskedProject, tmp_path: Path) -> None:
    project.scoreline("run")
    project.scoreline("export", "--as", "predictions", "--out", str(tmp_path / "out"))
    other = AskedProject(tmp_path / "other", systems={})
    other.benchmark = {"predictions": str(tmp_path / "out" / "{system}.jsonl")}
    assert other.scoreline("run").code == 0
    query = "SELECT * EXCLUDE (published_at) FROM leaderboard ORDER BY ALL"
    assert other.rows(query) == project.rows(query)


def test_plan_says_what_would_be_asked(project: AskedProject) -> None:
    done = project.scoreline("plan", "--format", "json")
    rows = {row["evaluator"]: row for row in json.loads(done.out)}
    assert rows["answers/rag"]["calls"] == 6
    project.scoreline("ask", "--limit", "4")
    project.asked()
    done = project.scoreline("plan", "--format", "json")
    rows = {row["evaluator"]: row for row in json.loads(done.out)}
    assert (rows["answers/rag"]["calls"], rows["answers/rag"]["held"]) == (2, 4)
    assert project.asked() == {}


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ({"a": {}}, "systems.a: expected one of python, http, model, command, found none of them"),
        ({"a": {"python": "x.py:f", "model": "m"}}, "found python and model"),
        ({"a": {"python": "absent.py:f"}}, "systems.a.python: there is no file 'absent.py'"),
        ({"a": {"python": "my_rag.py"}}, "expected FILE_OR_MODULE:FUNCTION"),
        ({"a": {"python": "my_rag:f", "prompt": "x"}}, "only a system with `model` has this key"),
        ({"a": {"model": "m", "prompt": "no.j2"}}, "there is no file 'no.j2'"),
        (
            {"a": {"model": "m", "start_timeout_s": 5}},
            "systems.a.start_timeout_s: only a system with `python` or `command` has this key",
        ),
        (
            {"a": {"http": {"url": "http://h", "headers": {"X-Api-Key": "secret"}}}},
            "systems.a.http.headers.X-Api-Key: expected an environment variable",
        ),
        ({"a": {"pyton": "my_rag.py:f"}}, "unknown key 'pyton' (did you mean 'python'?)"),
        ({"a b": {"python": "my_rag.py:f"}}, "'a b' cannot name a system"),
    ],
)
def test_faults_of_the_configuration_are_named(
    project: AskedProject, systems: dict[str, dict[str, object]], message: str
) -> None:
    project.systems = systems
    done = project.scoreline("run")
    assert done.code == 2
    assert message in done.err
    assert "secret" not in done.err


def test_an_unknown_system_of_a_benchmark_is_named(project: AskedProject) -> None:
    project.benchmark = {"systems": ["rga"]}
    done = project.scoreline("run")
    assert done.code == 2
    assert "unknown system 'rga' (did you mean 'rag'?)" in done.err


def test_answers_are_assets_between_questions_and_predictions(project: AskedProject) -> None:
    project.write()
    loaded = load_config(project.home / "scoreline.yaml").project
    graph = build_definitions(loaded).resolve_asset_graph()
    answers = dg.AssetKey(["answers", "rag"])
    assert graph.get(answers).parent_keys == {dg.AssetKey("questions")}
    assert answers in graph.get(dg.AssetKey("predictions")).parent_keys


@takes_minutes
def test_a_killed_run_is_resumed_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    questions = [
        {"question_id": f"q{n}", "question": "?", "expected_answer": "x"} for n in range(60)
    ]
    systems = {"short": {"python": "my_rag.py:short", "concurrency": 4}}
    project = AskedProject(tmp_path / "p", systems=systems, questions=questions, seconds=0.1)
    project.write()
    log = project.home / "asked.txt"
    for _ in range(3):
        before = len(log.read_text().splitlines()) if log.is_file() else 0
        process = subprocess.Popen(
            [sys.executable, "-m", "orchestration.cli", "run"],
            cwd=project.home,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not log.is_file() or len(log.read_text().splitlines()) < before + 10:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert project.scoreline("run").code == 0
    asked = project.asked()
    # Each of three kills may have lost the calls in progress and the answers being stored.
    assert len(asked) == 60
    assert sum(asked.values()) <= 60 + 3 * 2 * 4
    assert project.rows("SELECT count(*) FROM predictions WHERE error IS NULL") == [(60,)]


@takes_minutes
def test_answers_to_an_earlier_text_are_not_scored(project: AskedProject) -> None:
    project.scoreline("run")
    project.questions[1]["question"] = "Where was 1?"
    del project.questions[3]
    done = project.scoreline("plan", "--format", "json")
    assert done.code == 0, done.err
    assert project.scoreline("run", "--system", "rag").code == 0
    rows = "SELECT system, question_id FROM predictions WHERE not_asked = 1"
    assert project.rows(rows) == [("short", "q1")]
    project.asked()
    assert project.scoreline("run").code == 0
    assert project.asked() == {"short q1": 1}
    assert project.rows(rows) == []


@takes_minutes
def test_answers_that_were_asked_for_again_are_published(project: AskedProject) -> None:
    project.scoreline("run")
    project.seconds = 0.05
    assert project.scoreline("ask", "--force", "--system", "short").code == 0
    # The source file is another version; only `ask` has been called since.
    project.asked()
    assert project.scoreline("run").code == 0
    assert project.asked() == {f"answer q{number}": 1 for number in range(6)}
    ((least,),) = project.rows("SELECT min(latency_s) FROM predictions WHERE system = 'short'")
    assert least >= 0.05


@takes_minutes
def test_one_system_in_two_benchmarks_is_asked_once(project: AskedProject) -> None:
    project.more = {"others": {"systems": ["rag"]}}
    assert project.scoreline("run").code == 0
    assert project.asked()["answer q0"] == 1
    assert project.scoreline("run", "--benchmark", "rooms", "--force").code == 0
    done = project.scoreline("run")
    assert done.code == 0, done.err
    different = project.rows(
        "SELECT count(*) FROM predictions AS a JOIN predictions AS b USING (system, question_id) "
        "WHERE a.benchmark = 'rooms' AND b.benchmark = 'others' AND a.latency_s <> b.latency_s"
    )
    assert different == [(0,)]


@takes_minutes
def test_a_program_is_a_version_of_its_own(project: AskedProject) -> None:
    project.systems = {"shell": {"command": ["./rag.sh"]}}
    project.write()
    script = project.home / "rag.sh"

    def write(answer: str) -> None:
        reply = '{"question_id": "\'"$id"\'", "answer": "' + answer + '"}'
        find = 'id=$(printf \'%s\' "$line" | sed \'s/.*"question_id": *"\\([^"]*\\)".*/\\1/\')'
        loop = f"while read -r line; do\n{find}\nprintf '%s\\n' '{reply}'\ndone\n"
        script.write_text(f"#!/bin/sh\n{loop}", encoding="utf-8")
        script.chmod(0o755)

    write("Room 1")
    done = project.scoreline("run")
    assert done.code == 0, done.err
    write("Hall 1")
    assert project.scoreline("run").code == 0
    assert project.rows("SELECT DISTINCT answer FROM predictions") == [("Hall 1",)]


@takes_minutes
def test_a_system_that_is_read_from_a_file_now_is_exported_from_it(
    project: AskedProject, tmp_path: Path
) -> None:
    project.scoreline("run")
    lines = [json.dumps({"question_id": f"q{n}", "answer": "from the file"}) for n in range(6)]
    (project.home / "file_rag.jsonl").write_text("\n".join(lines), encoding="utf-8")
    project.benchmark = {"systems": ["short"], "predictions": "file_{system}.jsonl"}
    assert project.scoreline("run").code == 0
    project.scoreline("export", "--as", "predictions", "--out", str(tmp_path / "out"))
    first = (tmp_path / "out" / "rag.jsonl").read_text("utf-8").splitlines()[0]
    assert json.loads(first)["answer"] == "from the file"


@takes_minutes
def test_no_system_is_asked_before_all_have_started(project: AskedProject) -> None:
    project.systems = {
        "quick": {"python": "quick.py:answer"},
        "slow": {"python": "slow.py:answer"},
    }
    project.write()
    look = "from pathlib import Path\ndef answer(question): return str(Path('started').exists())\n"
    (project.home / "quick.py").write_text(look, encoding="utf-8")
    start = f"import time, pathlib\ntime.sleep(2)\npathlib.Path('started').touch()\n{look}"
    (project.home / "slow.py").write_text(start, encoding="utf-8")
    # The libraries of one system would otherwise load while the other is timed.
    assert project.scoreline("run").code == 0
    found = project.rows("SELECT answer, count(*) FROM predictions GROUP BY ALL")
    assert found == [("True", 12)]
