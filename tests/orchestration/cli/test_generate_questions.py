"""`scoreline generate questions` as a user runs it, with a judge on a real server."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
import yaml

import scoreline as public
from tests.support.command import scoreline
from tests.support.judge_server import JudgeServer
from tests.support.scripted_reply import Reply
from tests.support.services import takes_minutes
from tests.support.ship_judge import documents, reply, say, task_of
from warehouse.formats.test_sets import load_questions

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.command import Ended

CALLS = {"simple": 2, "multi_hop": 4, "unanswerable": 2}
"""The calls for each question; the answers of both passes are equal, so none are compared."""


@dataclass
class Folder:
    """A folder with documents and a configuration.

    Attributes:
        path: The folder.
        judge: The section `judge`; None for none.
    """

    path: Path
    judge: dict[str, Any] | None

    def write(self, count: int = 3) -> None:
        """Write its files."""
        lines = "".join(json.dumps(each) + "\n" for each in documents(count))
        (self.path / "documents.jsonl").write_text(lines, "utf-8")
        benchmark = {"questions": "q.jsonl", "predictions": "p.jsonl", "evaluators": ["citation"]}
        content: dict[str, Any] = {"benchmarks": {"ships": benchmark}}
        if self.judge is not None:
            content["judge"] = self.judge
        (self.path / "scoreline.yaml").write_text(yaml.safe_dump(content), "utf-8")

    def generate(self, *options: str, n: int = 6) -> Ended:
        """Run the command."""
        given = ["--documents", "documents.jsonl", "--n", str(n), *options]
        if "--out" not in options:
            given += ["--out", "q.jsonl"]
        done = scoreline(self.path, "generate", "questions", *given, OPENAI_API_KEY="sk-secret")
        assert "Traceback" not in done.err
        assert "sk-secret" not in done.err + done.out
        return done

    def rows(self, name: str = "q.jsonl") -> list[dict[str, Any]]:
        """The rows of a file."""
        return [json.loads(line) for line in (self.path / name).read_text("utf-8").splitlines()]


def judge_at(server: JudgeServer) -> dict[str, Any]:
    return {
        "model": "openai/a-judge",
        "api_base": server.url,
        "max_attempts": 1,
        "usd_per_million_in": 1.0,
        "usd_per_million_out": 2.0,
    }


def lie(*tasks: str, **changes: Any) -> Callable[[dict[str, Any]], Reply]:
    """An honest judge, but for some fields of its replies to some tasks."""

    def script(request: dict[str, Any]) -> Reply:
        right = reply(request["messages"])
        lies = task_of(request["messages"]) in tasks
        return Reply(content=json.dumps(right | changes if lies else right))

    return script


@takes_minutes
def test_questions_have_answers_and_gold_sentences(tmp_path: Path) -> None:
    with JudgeServer(say) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write()
        done = folder.generate("--seed", "7")
        assert (done.code, done.out) == (0, "q.jsonl\n"), done.err
        assert server.count == 2 * sum(CALLS.values())
    rows = folder.rows()
    assert [row["tags"]["kind"] for row in rows] == ["simple", "multi_hop", "unanswerable"] * 2
    assert not (tmp_path / "q.rejected.jsonl").exists()
    for row in rows:
        generated = row["generated"]
        assert (generated["by"], generated["seed"]) == ("scoreline generate questions", 7)
        assert generated["judge"].startswith("openai/a-judge {")
        assert set(generated["prompts"]) == {"proposal", "check", "comparison"}
        gold = row.get("gold_sentence_ids", [])
        assert generated["focus"] in gold or row["tags"]["kind"] == "unanswerable"
        crates = [9 + int(name[1:]) for name in gold]
        match row["tags"]["kind"]:
            case "simple":
                assert row["scenario"] == "noise_robustness"
                assert len(gold) == 1
            case "multi_hop":
                assert row["scenario"] == "information_integration"
                assert len(gold) == 2
            case _:
                assert row["scenario"] == "negative_rejection"
                assert not {"gold_sentence_ids", "gold_doc_ids", "expected_answer"} & set(row)
                continue
        assert row["expected_answer"] == f"{sum(crates)} crates"
        assert row["gold_doc_ids"] == [row["doc_id"]]
    assert len({row["question_id"] for row in rows}) == 6
    assert len(load_questions(tmp_path / "q.jsonl")) == 6
    messages = done.messages.splitlines()
    assert messages[0] == "6 questions: 2 simple, 2 multi_hop, 2 unanswerable"
    assert messages[1].startswith("judge: 16 calls; 1,920 tokens; 0.0022 US dollars")
    assert len(messages) == 2


@takes_minutes
def test_a_repeated_command_asks_nothing_and_a_larger_number_only_for_the_rest(
    tmp_path: Path,
) -> None:
    with JudgeServer(say) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write()
        folder.generate()
        first = (tmp_path / "q.jsonl").read_bytes()
        again = folder.generate()
        assert (again.code, (tmp_path / "q.jsonl").read_bytes()) == (0, first)
        assert again.err.endswith("judge: 0 calls\n")
        assert server.count == 16
        more = folder.generate("--out", "more.jsonl", n=12)
        assert more.code == 0
        assert "judge: 16 calls, 16 from the ledger" in more.err
        assert folder.rows("more.jsonl")[:6] == folder.rows()
        # What would not be written is not paid for.
        refused = folder.generate("--seed", "1")
        assert refused.code == 2
        assert "'q.jsonl' exists and is not overwritten; --force overwrites" in refused.err
        assert server.count == 32
        assert folder.generate("--seed", "1", "--force").code == 0
    assert (tmp_path / "q.jsonl").read_bytes() != first


@takes_minutes
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (lie("simple", sentences=["s77"]), "there are no sentences s77"),
        (lie("simple", sentences="s1"), "the proposal: parse_failure: sentences"),
        (lie("simple", answer="99 crates"), "the second pass answers: 1"),
        (
            lambda _: Reply(content="I would rather not."),
            "there is no JSON object in the reply",
        ),
    ],
)
def test_what_a_lying_model_proposes_is_rejected_with_the_reason(
    tmp_path: Path, script: Callable[[dict[str, Any]], Reply], reason: str
) -> None:
    with JudgeServer(script) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write(count=1)
        done = folder.generate("--kinds", "simple", n=2)
    assert (done.code, done.out) == (1, "")
    expected = "q.jsonl was not written: all proposals were rejected; the reasons are in q.rejected"
    assert expected in done.err
    assert not (tmp_path / "q.jsonl").exists()
    rejected = folder.rows("q.rejected.jsonl")
    assert len(rejected) == 4  # every sentence of the only document
    assert all(reason in row["rejected"] for row in rejected)
    assert all(row["kind"] == "simple" and row["generated"]["focus"] for row in rejected)
    assert "0 questions: 0 simple" in done.err
    assert "4 rejected, with reasons: q.rejected.jsonl" in done.err
    assert "note: simple: 0 of 2 after 4 proposals: each sentence had its turn" in done.err
    # No pattern can mistake a rejected proposal for a question.
    with pytest.raises(Exception, match="question_id: missing"):
        load_questions(tmp_path / "q.rejected.jsonl")


@takes_minutes
def test_rejected_proposals_are_replaced_and_kept(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        right = reply(request["messages"])
        if "ship A" in right.get("question", ""):
            right["answer"] = "99 crates"
        return Reply(content=json.dumps(right))

    with JudgeServer(script) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write(count=3)
        done = folder.generate("--kinds", "simple", n=9)
    assert done.code == 0
    assert len(folder.rows()) == 9
    assert not any("ship A" in row["question"] for row in folder.rows())
    for row in folder.rows("q.rejected.jsonl"):
        assert "ship A" in row["proposal"]["question"]
        assert row["rejected"] == "the second pass answers: 10 crates"


@takes_minutes
def test_questions_with_the_same_text_are_rejected(tmp_path: Path) -> None:
    with JudgeServer(lie("unanswerable", question="Who is the Captain?")) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write(count=1)
        folder.generate("--kinds", "unanswerable", n=2)
    assert len(folder.rows()) == 1
    reasons = {row["rejected"] for row in folder.rows("q.rejected.jsonl")}
    assert reasons == {"another question has the same text"}


@takes_minutes
def test_proposals_without_a_reply_are_asked_again(tmp_path: Path) -> None:
    def script(request: dict[str, Any]) -> Reply:
        if task_of(request["messages"]) == "multi_hop":
            return Reply(status=500, content="out of order")
        return say(request)

    with JudgeServer(script) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write()
        broken = folder.generate()
        assert broken.code == 1
        assert "the judge gave no reply on 2 of them" in broken.err
        assert len(folder.rows()) == 4
        rejected = folder.rows("q.rejected.jsonl")
        assert [row["kind"] for row in rejected] == ["multi_hop"] * 2
        assert all("the proposal: judge_error: " in row["rejected"] for row in rejected)
        server.script = say
        refused = folder.generate()
        assert refused.code == 2
        before = server.count
        assert folder.generate("--force").code == 0
        assert server.count - before == 2 * CALLS["multi_hop"]
    assert len(folder.rows()) == 6
    assert not (tmp_path / "q.rejected.jsonl").exists()


@takes_minutes
def test_the_budget_ends_the_calls(tmp_path: Path) -> None:
    with JudgeServer(say) as server:
        judge = judge_at(server) | {"budget_usd": 0.0012, "concurrency": 1}
        folder = Folder(tmp_path, judge)
        folder.write()
        done = folder.generate()
        assert done.code == 1
        assert 0 < server.count < 16
        reasons = [row["rejected"] for row in folder.rows("q.rejected.jsonl")]
        assert any("judge_error: budget: " in reason for reason in reasons)
        assert "note: calls over the budget: " in done.err


@pytest.mark.parametrize(
    ("judge", "options", "message"),
    [
        (None, (), "error: no judge is configured: set judge.model in scoreline.yaml"),
        ({"model": "human"}, (), "error: human labels cannot write questions"),
        ({"model": "openai/a"}, ("--kinds", "multihop"), "'multihop' (did you mean 'multi_hop'?)"),
        ({"model": "openai/a"}, ("--config", "no.yaml"), "'no.yaml' does not exist"),
        ({"model": "openai/a"}, ("--documents", "no.jsonl"), "no.jsonl: no such file"),
        ({"model": "openai/a"}, ("--documents", "bad.jsonl"), "bad.jsonl:2: doc_id: missing"),
        ({"model": "openai/a"}, ("--out", "q.parquet"), "the suffix .jsonl or .ndjson"),
        ({"model": "openai/a"}, ("--out", "documents.jsonl"), "one of the files that are read"),
    ],
)
def test_slips_are_named(
    tmp_path: Path, judge: dict[str, Any] | None, options: tuple[str, ...], message: str
) -> None:
    folder = Folder(tmp_path, judge)
    folder.write()
    (tmp_path / "bad.jsonl").write_text('{"doc_id": "a", "text": "b"}\n{"text": "c"}\n', "utf-8")
    done = folder.generate(*options)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "q.jsonl").exists()


def test_recorded_replies_answer_by_the_name_of_a_proposal(tmp_path: Path) -> None:
    folder = Folder(tmp_path, {"model": "recorded:said.jsonl"})
    folder.write(count=1)
    origin = {"evaluator": "generate_questions", "question_id": "unanswerable/harbour-0/S{}"}
    lines = []
    for number in range(1, 5):
        address = {**origin, "question_id": f"unanswerable/harbour-0/S{number}"}
        draft = {"reasoning": "-", "question": f"Who sails ship {number}?"}
        reading = {"reasoning": "-", "answerable": False, "answer": "", "sentences": []}
        lines += [{**address, "step": 0, "reply": draft}, {**address, "step": 1, "reply": reading}]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    done = folder.generate("--kinds", "unanswerable", n=3)
    assert done.code == 0, done.err
    assert len(folder.rows()) == 3


@takes_minutes
def test_evaluators_score_the_kinds_that_are_theirs(tmp_path: Path) -> None:
    with JudgeServer(say) as server:
        folder = Folder(tmp_path, judge_at(server))
        folder.write()
        folder.generate(n=9)
    answers = [
        {
            "question_id": row["question_id"],
            "answer": row.get("expected_answer", "There is insufficient information."),
            "cited_sentence_ids": row.get("gold_sentence_ids", []),
        }
        for row in folder.rows()
    ]
    evaluators = ["citation", "noise_robustness", "information_integration", "negative_rejection"]
    results = public.evaluate(tmp_path / "q.jsonl", {"right": answers}, evaluators)
    board = results.leaderboard.filter(pl.col("is_primary") == 1, pl.col("slice") == "all")
    scored = {row["evaluator"]: (row["n_scored"], row["mean"]) for row in board.to_dicts()}
    assert scored == {
        "citation": (6, 1.0),
        "noise_robustness": (3, 1.0),
        "information_integration": (3, 1.0),
        "negative_rejection": (3, 1.0),
    }


@takes_minutes
def test_a_killed_command_asks_nothing_twice(tmp_path: Path) -> None:
    with JudgeServer(say) as server:
        undisturbed = Folder(tmp_path / "undisturbed", judge_at(server))
        undisturbed.path.mkdir()
        undisturbed.write()
        undisturbed.generate()
    chance = random.Random(7)
    with JudgeServer(say, latency=0.1) as server:
        folder = Folder(tmp_path, judge_at(server) | {"concurrency": 2})
        folder.write()
        options = ["--documents", "documents.jsonl", "--n", "6", "--out", "q.jsonl"]
        with subprocess.Popen(
            [sys.executable, "-m", "orchestration.cli", "generate", "questions", *options],
            cwd=tmp_path,
            env={
                **os.environ,
                "OPENAI_API_KEY": "none",
                "PYTHONPATH": str(Path(__file__).parents[3]),
            },
            stderr=subprocess.DEVNULL,
        ) as process:
            while server.count < 7 and process.poll() is None:
                time.sleep(0.005)
            time.sleep(chance.random() * 0.1)
            process.kill()
        assert not (tmp_path / "q.jsonl").exists()
        before = server.count
        done = folder.generate()
        assert done.code == 0
        digests = [digest for _, digest in server.arrivals]
    # Two calls may have been on their way when the process was killed.
    assert len(set(digests)) == 16
    assert len(digests) <= 18
    assert before < 16
    assert folder.rows() == undisturbed.rows()
