"""Systems that answer each question several times, from asking to plans and exports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.orchestration.asked_project import AskedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = takes_minutes

RAG = """
import itertools, os
from pathlib import Path

def answer(question):
    number = int(question["question_id"][1:])
    asked = Path(__file__).with_name("asked.txt")
    with asked.open("a") as file:
        file.write(question["question_id"] + "\\n")
    before = asked.read_text().split().count(question["question_id"])
    # Of question n, the first n answers are right.
    return f"Room {number}" if before <= number else "I do not know."
"""


@pytest.fixture
def project(tmp_path: Path) -> AskedProject:
    made = AskedProject(
        tmp_path / "project",
        systems={"rag": {"python": "rag.py:answer", "concurrency": 1}},
        benchmark={"repeats": 3, "evaluators": ["tokens_presence", "rouge"]},
    )
    made.questions = [
        {**question, "constraints": [f"Room {n}"]} for n, question in enumerate(made.questions[:4])
    ]
    made.home.mkdir()
    (made.home / "rag.py").write_text(RAG, encoding="utf-8")
    return made


def passes(project: AskedProject) -> dict[str, float]:
    return dict(
        project.rows(
            "SELECT metric, mean FROM leaderboard WHERE slice = 'all' AND metric LIKE 'passes%'"
        )
    )


def test_each_question_is_asked_as_often_as_configured(project: AskedProject) -> None:
    done = project.scoreline("run")
    assert done.code == 0, done.err
    assert project.asked() == {f"q{n}": 3 for n in range(4)}
    assert project.rows("SELECT question_id, repeat FROM predictions ORDER BY ALL") == [
        (f"q{n}", repeat) for n in range(4) for repeat in range(3)
    ]
    assert project.rows("SELECT count(*), max(repeat) FROM answers") == [(12, 2)]
    assert passes(project) == {
        "passes": pytest.approx(6 / 12),
        "passes_pass_at_2": pytest.approx((0 + 2 / 3 + 1 + 1) / 4),
        "passes_pass_hat_2": pytest.approx((0 + 0 + 1 / 3 + 1) / 4),
        "passes_pass_at_3": 3 / 4,
        "passes_pass_hat_3": 1 / 4,
        "passes_of_all": pytest.approx(6 / 12),
    }
    # The same again asks nothing.
    done = project.scoreline("run", "--format", "json")
    assert (done.code, sum(project.asked().values())) == (0, 0)
    assert json.loads(done.out)["scored"] == 0


def test_the_variance_is_split(project: AskedProject) -> None:
    """Worked out by hand: values 000, 100, 110, 111 of four questions.

    Within: (0 + 2/3 + 2/3 + 0) / 8 = 1/6. Between the means 0, 1/3, 2/3, 1: 3 * (5/9) / 3 = 5/9;
    less the part of the answers, (5/9 - 1/6) / 3 = 7/54.
    """
    assert project.scoreline("run").code == 0
    found = project.rows(
        "SELECT n_questions, n_answers, question, answer, judge FROM variance "
        "WHERE metric = 'passes'"
    )
    assert found == [(4, 12, pytest.approx(7 / 54), pytest.approx(1 / 6), None)]


def test_more_and_fewer_repeats_ask_only_what_is_new(project: AskedProject) -> None:
    assert project.scoreline("run").code == 0
    project.asked()
    project.benchmark["repeats"] = 4
    assert project.scoreline("run").code == 0
    assert project.asked() == {f"q{n}": 1 for n in range(4)}
    assert "passes_pass_hat_4" in passes(project)
    project.benchmark["repeats"] = 1
    assert project.scoreline("run").code == 0
    assert sum(project.asked().values()) == 0
    assert passes(project) == {"passes": 3 / 4, "passes_of_all": 3 / 4}
    assert project.rows("SELECT count(*) FROM answer_scores WHERE repeat > 0") == [(0,)]
    assert project.rows("SELECT count(*) FROM variance") == [(0,)]
    assert project.rows("SELECT why, count(*) FROM v_stale GROUP BY why") == []


@pytest.mark.parametrize("repeats", [1, 4])
def test_an_evaluator_that_is_left_out_keeps_its_scores(
    project: AskedProject, repeats: int
) -> None:
    assert project.scoreline("run").code == 0
    before = passes(project)
    project.benchmark["repeats"] = repeats
    done = project.scoreline("run", "--evaluator", "rouge")
    assert done.code == 0, done.err
    assert passes(project).items() <= before.items()
    stale = "SELECT evaluator, metric FROM problems WHERE kind = 'stale_scores'"
    assert project.rows(stale) == [("tokens_presence", "passes")]
    assert project.scoreline("run").code == 0
    assert project.rows(stale) == []
    # So it is with questions.
    project.questions = project.questions[:3]
    assert project.scoreline("run", "--evaluator", "rouge").code == 0
    assert project.rows(stale) == [("tokens_presence", "passes")]


def test_a_changed_answer_is_scored_alone(project: AskedProject) -> None:
    project.systems = {}
    project.benchmark = {"predictions": "p.jsonl", "evaluators": ["tokens_presence"]}

    def write(last: str) -> None:
        rows: list[dict[str, Any]] = [
            {"system": "a", "question_id": f"q{n}", "repeat": repeat, "answer": f"Room {repeat}"}
            for n in range(4)
            for repeat in range(3)
        ]
        rows[-1]["answer"] = last
        lines = [json.dumps(row) + "\n" for row in rows]
        (project.home / "p.jsonl").write_text("".join(lines), encoding="utf-8")

    write("Room 2")
    assert project.scoreline("run").code == 0
    assert passes(project)["passes"] == pytest.approx(3 / 12)
    write("Room 3")
    done = project.scoreline("run", "--format", "json")
    assert json.loads(done.out)["scored"] == 1
    assert passes(project)["passes"] == pytest.approx(4 / 12)


def answer_from_files(project: AskedProject, *evaluators: str, **answers: int) -> None:
    """Give each system as many answers to each question as said; every second one is right."""
    project.systems = {}
    project.benchmark = {"predictions": "p.jsonl", "evaluators": list(evaluators)}
    project.questions = [{**each, "expected_label": "right"} for each in project.questions]
    rows: list[dict[str, Any]] = [
        {
            "system": system,
            "question_id": f"q{n}",
            "repeat": repeat,
            "answer": f"Room {n}" if (n + repeat) % 2 else "I do not know.",
            "label": "wrong" if (n + repeat) % 2 else "right",
        }
        for system, count in answers.items()
        for n in range(4)
        for repeat in range(count)
    ]
    lines = [json.dumps(row) + "\n" for row in rows]
    (project.home / "p.jsonl").write_text("".join(lines), encoding="utf-8")


def scored_answers(project: AskedProject) -> dict[str, int]:
    query = "SELECT system, count(*) FROM answer_scores WHERE metric = 'accuracy' GROUP BY ALL"
    return dict(project.rows(query))


def test_no_mean_is_left_where_a_single_answer_remains(project: AskedProject) -> None:
    """Also of a system that had one answer while another one had several."""
    answer_from_files(project, "classification", a=3, b=1)
    assert project.scoreline("run").code == 0
    assert scored_answers(project) == {"a": 12, "b": 4}
    answer_from_files(project, "classification", a=1, b=1)
    done = project.scoreline("run")
    assert done.code == 0, done.err
    assert scored_answers(project) == {"a": 4, "b": 4}
    assert project.rows("SELECT count(n_answers), max(len(values)) FROM grades") == [(0, 1)]
    f1 = "SELECT system, n FROM leaderboard WHERE metric = 'f1' AND slice = 'all' ORDER BY ALL"
    assert project.rows(f1) == [("a", 4), ("b", 4)]


@pytest.mark.parametrize(("before", "now"), [(1, 3), (3, 1), (3, 4)])
def test_other_systems_keep_their_scores(project: AskedProject, before: int, now: int) -> None:
    answer_from_files(project, "classification", a=before, b=before)
    assert project.scoreline("run").code == 0
    answer_from_files(project, "classification", a=now, b=now)
    done = project.scoreline("run", "--system", "a")
    assert done.code == 0, done.err
    assert scored_answers(project) == {"a": 4 * now, "b": 4 * before}
    counted = (
        "SELECT system, n FROM leaderboard "
        "WHERE metric IN ('accuracy', 'f1') AND slice = 'all' ORDER BY ALL"
    )
    assert sorted(project.rows(counted)) == sorted(
        [("a", 4), ("a", 4 * now), ("b", 4), ("b", 4 * before)]
    )
    assert project.scoreline("run").code == 0
    assert scored_answers(project) == {"a": 4 * now, "b": 4 * now}


def test_an_evaluator_that_has_not_run_again_keeps_its_variance(project: AskedProject) -> None:
    answer_from_files(project, "rouge", "looping_detection", a=4)
    assert project.scoreline("run").code == 0
    answer_from_files(project, "rouge", "looping_detection", a=3)
    done = project.scoreline("run", "--evaluator", "rouge")
    assert done.code == 0, done.err
    counted = "SELECT max(repeat), evaluator FROM answer_scores GROUP BY evaluator ORDER BY ALL"
    assert project.rows(counted) == [(2, "rouge"), (3, "looping_detection")]
    evaluators = "SELECT DISTINCT evaluator FROM variance ORDER BY ALL"
    assert project.rows(evaluators) == [("looping_detection",), ("rouge",)]


def test_a_judge_judges_every_answer(project: AskedProject) -> None:
    project.benchmark["evaluators"] = ["byop"]
    with JudgeServer() as server:
        project.judge = {"model": "openai/a-judge", "api_base": server.url}
        done = project.scoreline("run")
        assert done.code == 0, done.err
        # Equal answers to a question are one call: Room n, or not.
        assert server.count == 6
        firsts = "SELECT question_id, repeat FROM asks WHERE step = 0 ORDER BY ALL"
        assert project.rows(firsts) == [(f"q{n}", repeat) for n in range(4) for repeat in range(3)]
        project.benchmark["evaluators"] = ["byop", "rouge"]
        assert project.scoreline("run").code == 0
        assert server.count == 6
        (row,) = project.rows("SELECT count(*) FROM answer_scores WHERE metric = 'passes'")
        assert row == (12,)
        assert "byop, judge, repeat 2, step 0: " in project.scoreline("show", "q1").out
        project.benchmark["repeats"] = 1
        assert project.scoreline("run").code == 0
        assert server.count == 6
    assert project.rows(firsts) == [(f"q{n}", 0) for n in range(4)]


def test_composites_combine_each_answer(project: AskedProject) -> None:
    project.benchmark["evaluators"] = ["rubric_judge", "evidence_overlap", "rubric_combined"]
    for question in project.questions:
        question["rubric"] = {"description": "Is it right?", "scale": {"1": "no", "5": "yes"}}
        question |= {"doc_id": "d", "gold_sentence_ids": ["S1"]}
    with JudgeServer() as server:
        project.judge = {"model": "openai/a-judge", "api_base": server.url}
        assert project.scoreline("run").code == 0
    counts = project.rows(
        "SELECT evaluator, count(*) FROM answer_scores "
        "WHERE metric IN ('combined', 'answer_score') GROUP BY evaluator ORDER BY evaluator"
    )
    assert counts == [("rubric_combined", 12), ("rubric_judge", 12)]


def test_plan_says_what_another_answer_is_worth(project: AskedProject) -> None:
    project.systems["other"] = {"python": "rag.py:answer", "version": "b", "concurrency": 1}
    project.benchmark["evaluators"] = ["rouge"]
    done = project.scoreline("plan", "--format", "json")
    asked = {row["evaluator"]: row["calls"] for row in json.loads(done.out)}
    assert (asked["answers/rag"], asked["answers/other"]) == (12, 12)
    assert project.scoreline("run").code == 0
    said = project.scoreline("plan", "--detect", "0.1").out
    assert "one more answer to each of 4 questions is worth" in " ".join(said.split())


def test_exported_answers_can_be_read_again(project: AskedProject, tmp_path: Path) -> None:
    assert project.scoreline("run").code == 0
    expected = passes(project)
    out = tmp_path / "out"
    done = project.scoreline(
        "export", "--benchmark", "rooms", "--as", "predictions", "--out", str(out)
    )
    assert done.code == 0, done.err
    (file,) = out.rglob("*.jsonl")
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert sorted({row.get("repeat", 0) for row in rows}) == [0, 1, 2]
    project.systems = {}
    project.benchmark = {"predictions": str(file), "evaluators": ["tokens_presence"]}
    for row in rows:
        row["system"] = "rag"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert project.scoreline("run").code == 0
    assert passes(project) == expected


def test_show_prints_every_answer(project: AskedProject) -> None:
    assert project.scoreline("run").code == 0
    said = project.scoreline("show", "q1").out
    assert (said.count("Room 1\n"), said.count("I do not know.\n")) >= (1, 2)
    assert "answers, repeat 2" in said


def test_only_systems_that_are_asked_have_repeats(project: AskedProject) -> None:
    project.systems = {}
    (project.home / "p.jsonl").write_text(
        '{"system": "a", "question_id": "q0"}\n', encoding="utf-8"
    )
    project.benchmark = {"repeats": 3, "predictions": "p.jsonl", "evaluators": ["rouge"]}
    done = project.scoreline("run")
    assert done.code == 2
    assert "number their answers by the field `repeat`" in " ".join(done.err.split())
