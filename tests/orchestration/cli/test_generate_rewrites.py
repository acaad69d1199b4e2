"""`scoreline generate perturbations` with the kinds that a judge model writes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.support.command import scoreline
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes
from tests.support.ship_judge import blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.command import Ended

QUESTIONS = [
    {"question_id": "q1", "question": "When does ferry 7 sail?", "expected_answer": "At 22:10."},
    {"question_id": "q2", "question": "Where is pier 3?", "tags": {"topic": "piers"}},
    {"question_id": "q3", "question": "Whn?", "perturbs": "q1", "perturbation": "typos"},
]


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """A judge that puts words before a question, and checks that they are all that differs."""
    given = blocks(request["messages"])
    if "first" in given:
        same = given["second"].endswith(given["first"])
        told = "In German:" if "language" in given else "Tell me:"
        in_language = given["second"].startswith(told)
        return {"reasoning": "-", "same": same, "in_language": in_language}
    before = "In German:" if "language" in given else "Tell me:"
    return {"reasoning": "-", "question": f"{before} {given['question']}"}


def say(request: dict[str, Any]) -> Reply:
    return Reply(content=json.dumps(reply(request)))


def perturb(folder: Path, server: JudgeServer | None, *options: str) -> Ended:
    lines = "".join(json.dumps(row) + "\n" for row in QUESTIONS)
    (folder / "q.jsonl").write_text(lines, "utf-8")
    benchmark = {"questions": "q.jsonl", "predictions": "p.jsonl", "evaluators": ["citation"]}
    content: dict[str, Any] = {"benchmarks": {"ferries": benchmark}}
    if server is not None:
        content["judge"] = {"model": "openai/a", "api_base": server.url, "max_attempts": 1}
    (folder / "scoreline.yaml").write_text(yaml.safe_dump(content), "utf-8")
    given = ["--questions", "q.jsonl", "--out", "v.jsonl", *options]
    return scoreline(folder, "generate", "perturbations", *given, OPENAI_API_KEY="sk-secret")


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


BOTH = ("--kinds", "paraphrase,case,language", "--language", "German")


@takes_minutes
def test_written_and_deterministic_variants_are_in_one_file(tmp_path: Path) -> None:
    with JudgeServer(say) as server:
        done = perturb(tmp_path, server, *BOTH)
        assert (done.code, done.out) == (0, "v.jsonl\n"), done.err
        assert server.count == 8
        written = (tmp_path / "v.jsonl").read_bytes()
        again = perturb(tmp_path, server, *BOTH)
        assert (again.code, (tmp_path / "v.jsonl").read_bytes()) == (0, written)
        assert server.count == 8
        # The check of the same rewritten question is in the ledger.
        other = perturb(tmp_path, server, *BOTH, "--seed", "1", "--force")
        assert (other.code, server.count) == (0, 12)
        assert {row["generated"]["seed"] for row in rows(tmp_path / "v.jsonl")} == {1}
    (tmp_path / "v.jsonl").write_bytes(written)
    made = rows(tmp_path / "v.jsonl")
    kinds = ["paraphrase", "case", "language"]
    assert [(row["perturbs"], row["perturbation"]) for row in made] == [
        (name, kind) for name in ("q1", "q2") for kind in kinds
    ]
    first, _, third = made[:3]
    assert first["question"] == "Tell me: When does ferry 7 sail?"
    assert third["question"] == "In German: When does ferry 7 sail?"
    assert third["generated"]["language"] == "German"
    assert "language" not in first["generated"]
    for row in (first, third):
        assert row["expected_answer"] == "At 22:10."
        assert row["generated"]["by"] == "scoreline generate perturbations"
        assert row["generated"]["judge"].startswith("openai/a {")
        assert set(row["generated"]["prompts"]) == {"rewrite", "check"}
    assert len({row["question_id"] for row in made}) == 6
    assert done.messages.splitlines()[:2] == [
        "6 variants (2 paraphrase, 2 case, 2 language) of 3 questions",
        "note: all kinds: no variant of 1 question: perturbs another",
    ]
    assert "judge: 8 calls; " in done.err


@takes_minutes
@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (lambda said: said | ({"question": "Why?"} if "question" in said else {}), "the number 7"),
        (lambda said: said | ({"same": False} if "same" in said else {}), "something else"),
        (lambda _: {"nothing": 1}, "the rewritten question: parse_failure: "),
    ],
)
def test_what_the_check_does_not_confirm_is_kept_with_the_reason(
    tmp_path: Path, lie: Callable[[dict[str, Any]], dict[str, Any]], reason: str
) -> None:
    with JudgeServer(lambda request: Reply(content=json.dumps(lie(reply(request))))) as server:
        done = perturb(tmp_path, server, "--kinds", "paraphrase")
    assert (done.code, done.out) == (1, "")
    assert "v.jsonl was not written: all proposals were rejected" in done.err
    assert not (tmp_path / "v.jsonl").exists()
    rejected = rows(tmp_path / "v.rejected.jsonl")
    assert [row["perturbs"] for row in rejected] == ["q1", "q2"]
    assert reason in rejected[0]["rejected"]
    assert all("question_id" not in row for row in rejected)
    assert "2 rejected, with reasons: v.rejected.jsonl" in done.err


@takes_minutes
def test_without_a_reply_the_rest_is_written_and_the_exit_code_is_1(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        if "pier 3" in request["messages"][1]["content"]:
            return Reply(status=500, content="out of order")
        return say(request)

    with JudgeServer(script) as server:
        done = perturb(tmp_path, server, "--kinds", "paraphrase,case")
        assert done.code == 1
        assert "the judge gave no reply on 1 of them" in done.err
        assert len(rows(tmp_path / "v.jsonl")) == 3
        server.script = say
        before = server.count
        assert perturb(tmp_path, server, "--kinds", "paraphrase,case", "--force").code == 0
        assert server.count == before + 2
    assert len(rows(tmp_path / "v.jsonl")) == 4
    assert not (tmp_path / "v.rejected.jsonl").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kinds", "paraphrase"), "error: no judge is configured: set judge.model"),
        (("--kinds", "paraphrase", "--config", "no.yaml"), "'no.yaml' does not exist"),
        (("--kinds", "language"), "the kind 'language' and --language NAME need each other"),
        (("--language", "German"), "the kind 'language' and --language NAME need each other"),
        (("--kinds", "paraphrases"), "no kind 'paraphrases' (did you mean 'paraphrase'?)"),
    ],
)
def test_slips_are_named(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    done = perturb(tmp_path, None, *options)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "v.jsonl").exists()


def test_deterministic_kinds_read_no_configuration(tmp_path: Path) -> None:
    assert perturb(tmp_path, None, "--kinds", "case", "--config", "no.yaml").code == 0
