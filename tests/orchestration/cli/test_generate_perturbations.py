"""`scoreline generate perturbations` as a user runs it, from the file of questions to the flips."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline as public
from tests.support.command import scoreline

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.command import Ended

QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "query": "When does the last ferry sail to the island?",
        "expected_answer": "At 22:10.",
        "doc_id": "ferries",
        "gold_sentence_ids": ["S2"],
        "tags": {"topic": "ferries"},
        "author": {"name": "Ann"},
    },
    {
        "question_id": "q2",
        "question": "מתי יוצאת המעבורת האחרונה אל האי?",
        "expected_answer": ["22:10", "at ten past ten"],
        "rubric": {"description": "Right?", "scale": {"1": "no", "5": "yes"}, "more": 1},
        "expected_label": "time",
    },
    {"question_id": "q3", "question": " "},
    {"question_id": "q4", "question": "Whn does it sail?", "perturbs": "q1", "perturbation": "old"},
]


def written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def save(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def perturb(folder: Path, *options: str, rows: list[dict[str, Any]] = QUESTIONS) -> Ended:
    if not (folder / "q.jsonl").exists():
        save(folder / "q.jsonl", rows)
    given = ["--questions", "q.jsonl", *options]
    if "--out" not in options:
        given += ["--out", "v.jsonl"]
    return scoreline(folder, "generate", "perturbations", *given)


def test_variants_have_the_fields_of_their_question(tmp_path: Path) -> None:
    done = perturb(tmp_path, "--seed", "5")
    assert (done.code, done.out) == (0, "v.jsonl\n")
    rows = written(tmp_path / "v.jsonl")
    kinds = ["typos", "case", "punctuation", "whitespace", "distractor"]
    assert [row["perturbation"] for row in rows if row["perturbs"] == "q1"] == kinds
    assert [row["perturbation"] for row in rows if row["perturbs"] == "q2"] == [
        kind for kind in kinds if kind != "case"
    ]
    assert len(rows) == len({row["question_id"] for row in rows}) == 9
    for row in rows:
        original = dict(QUESTIONS[0] if row["perturbs"] == "q1" else QUESTIONS[1])
        original["question"] = original.pop("query", original.get("question"))
        generated = row.pop("generated")
        assert generated["by"] == "scoreline generate perturbations"
        assert (generated["seed"], generated["version"]) == (5, 2)
        assert generated["edits"]
        kind = row.pop("perturbation")
        assert row.pop("perturbs") == original["question_id"]
        assert row.pop("question_id").startswith(f"{original.pop('question_id')}~{kind}-")
        assert row.pop("question") != original.pop("question")
        assert row == original
    assert done.err.splitlines() == [
        "9 variants (2 typos, 1 case, 2 punctuation, 2 whitespace, 2 distractor) of 4 questions",
        "note: all kinds: no variant of 1 question: no text",
        "note: all kinds: no variant of 1 question: perturbs another",
        "note: case: no variant of 1 question: no letter has another case",
    ]


def test_the_same_seed_gives_the_same_bytes_whatever_else_is_in_the_file(tmp_path: Path) -> None:
    perturb(tmp_path, "--seed", "5")
    first = (tmp_path / "v.jsonl").read_bytes()
    again = perturb(tmp_path, "--seed", "5")
    assert (again.code, (tmp_path / "v.jsonl").read_bytes()) == (0, first)
    perturb(tmp_path, "--seed", "6", "--out", "other.jsonl")
    assert (tmp_path / "other.jsonl").read_bytes() != first
    save(tmp_path / "q.jsonl", [{"question_id": "q0", "question": "Where?"}, *QUESTIONS[:2]])
    perturb(tmp_path, "--seed", "5", "--out", "more.jsonl")
    more = [row for row in written(tmp_path / "more.jsonl") if row["perturbs"] != "q0"]
    assert more == written(tmp_path / "v.jsonl")


def test_a_file_is_not_overwritten_silently(tmp_path: Path) -> None:
    perturb(tmp_path)
    path = tmp_path / "v.jsonl"
    path.write_text("reviewed by a person\n", "utf-8")
    refused = perturb(tmp_path)
    assert refused.code == 2
    assert refused.err == (
        "error: 'v.jsonl' exists and is not overwritten; --force overwrites, --out names another\n"
    )
    assert path.read_text("utf-8") == "reviewed by a person\n"
    assert perturb(tmp_path, "--force").code == 0
    assert len(written(path)) == 9
    assert {each.name for each in tmp_path.iterdir()} == {"q.jsonl", "v.jsonl"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kinds", "typo"), "--kinds: there is no kind 'typo' (did you mean 'typos'?)"),
        (("--kinds", "xyz"), "--kinds: there is no kind 'xyz'; known: typos, case, "),
        (("--kinds", " , "), "--kinds: expected one or more of typos, case, "),
        (("--out", "v.csv"), "--out: expected a file with the suffix .jsonl or .ndjson, got"),
        (("--out", "q.jsonl", "--force"), "--out: 'q.jsonl' is one of the files that are read"),
        (("--questions", "p.jsonl"), "p.jsonl: no such file"),
        (("--distractors", "none.txt"), "No such file or directory: 'none.txt'"),
        (("--distractors", "empty.txt"), "--distractors: 'empty.txt' holds no sentences"),
    ],
)
def test_slips_are_named(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "empty.txt").write_text("\n \n", "utf-8")
    done = perturb(tmp_path, *options)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "v.jsonl").exists()


def test_rows_that_are_not_valid_are_all_named_with_their_lines(tmp_path: Path) -> None:
    good = {"question_id": "q1", "question": "Where?"}
    rows = [good, {"question_id": 1.5}, good, {"question_id": "q5", "question": 5}]
    done = perturb(tmp_path, rows=rows)
    assert done.code == 2
    assert done.err.splitlines() == [
        "error: q.jsonl:2: question_id: expected text, found the number 1.5",
        "q.jsonl:3: the question_id 'q1' occurs twice, first in q.jsonl:1",
        "q.jsonl:4: question: expected text, found the number 5",
    ]


def test_sentences_of_your_own_are_the_distractors(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("Übrigens regnet es.\n", "utf-8")
    perturb(tmp_path, "--kinds", "distractor", "--distractors", "own.txt")
    rows = written(tmp_path / "v.jsonl")
    assert len(rows) == 2
    assert all("Übrigens regnet es." in row["question"] for row in rows)


def test_questions_and_variants_together_give_flips(tmp_path: Path) -> None:
    questions = [
        {"question_id": f"q{n}", "question": f"Is pier {n} open today?", "expected_label": "yes"}
        for n in range(4)
    ]
    perturb(tmp_path, "--kinds", "typos,case", rows=questions)
    both = (tmp_path / "q.jsonl").read_bytes() + (tmp_path / "v.jsonl").read_bytes()
    (tmp_path / "both.jsonl").write_bytes(both)
    rows = written(tmp_path / "both.jsonl")
    # A system that misunderstands every typo, and no capital.
    answers = [
        {
            "question_id": row["question_id"],
            "label": "no" if row.get("perturbation") == "typos" else "yes",
        }
        for row in rows
    ]
    save(tmp_path / "answers.jsonl", answers)
    results = public.evaluate(
        tmp_path / "both.jsonl",
        {"fragile": tmp_path / "answers.jsonl"},
        ["classification"],
        slices=["perturbation"],
    )
    flips = results.problems.filter(pl.col("kind") == "perturbation_flip")
    assert sorted(flips["question_id"].to_list()) == sorted(
        row["question_id"] for row in rows if row.get("perturbation") == "typos"
    )
    slices = results.leaderboard["slice"].unique().to_list()
    assert {"perturbation=typos", "perturbation=case"} <= set(slices)


MAPPED = """\
benchmarks:
  tickets:
    questions: tickets*.{csv,jsonl}
    predictions: "{system}.jsonl"
    columns:
      questions: {ticket: question_id, subject: question, solution: expected_answer}
    tags: [lang]
    evaluators: [rouge]
"""


def test_files_of_a_benchmark_are_read_as_it_reads_them(tmp_path: Path) -> None:
    configuration = MAPPED.replace("tickets*.{csv,jsonl}", "tickets*.*")
    (tmp_path / "scoreline.yaml").write_text(configuration, "utf-8")
    text = "ticket,subject,solution,lang\n7,When does the last ferry sail?,At ten.,en\n"
    (tmp_path / "tickets.csv").write_text(text, "utf-8")
    given = ("--questions", "tickets.csv", "--kinds", "case", "--out", "tickets-case.jsonl")
    done = scoreline(tmp_path, "generate", "perturbations", *given)
    assert done.code == 0, done.err
    (row,) = written(tmp_path / "tickets-case.jsonl")
    assert (row["perturbs"], row["expected_answer"], row["lang"]) == ("7", "At ten.", "en")
    # The benchmark reads the variants beside its own file.
    answers = [{"question_id": each, "answer": "At ten."} for each in ("7", row["question_id"])]
    save(tmp_path / "north.jsonl", answers)
    done = scoreline(tmp_path, "run", "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["scored"] > 0


def test_two_ways_to_read_a_file_need_a_choice(tmp_path: Path) -> None:
    other = MAPPED.replace("tickets:", "others:").replace("subject:", "solution:", 1)
    other = other.replace("solution: question, solution: expected_answer", "solution: question")
    configuration = MAPPED + other.removeprefix("benchmarks:\n")
    configuration = configuration.replace("tickets*.{csv,jsonl}", "tickets.csv")
    (tmp_path / "scoreline.yaml").write_text(configuration, "utf-8")
    text = "ticket,subject,solution,lang\n7,When does it sail?,At ten tonight.,en\n"
    (tmp_path / "tickets.csv").write_text(text, "utf-8")
    given = ("--questions", "tickets.csv", "--kinds", "case", "--out", "v.jsonl")
    done = scoreline(tmp_path, "generate", "perturbations", *given)
    assert done.code == 2
    assert "'tickets' and 'others' read it in different ways: choose one with" in done.err
    done = scoreline(tmp_path, "generate", "perturbations", *given, "--benchmark", "others")
    assert done.code == 0, done.err
    assert written(tmp_path / "v.jsonl")[0]["question"].lower() == "at ten tonight."
