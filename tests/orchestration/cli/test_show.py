"""`scoreline show`: everything about one question."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import duckdb
import yaml
from click.testing import CliRunner

from orchestration import starter
from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline
from tests.support.terminal import on_terminal

if TYPE_CHECKING:
    from pathlib import Path


def show(folder: Path, *arguments: str) -> Ended:
    """Run the command in this process on a project."""
    config = ["--config", str(folder / "scoreline.yaml")]
    result = CliRunner().invoke(program, ["show", *arguments, *config], prog_name="scoreline")
    return Ended(result.exit_code, result.stdout, result.stderr)


def test_answers_scores_and_evidence(done_project: Path) -> None:
    ended = show(done_project, "last-ferry")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0] == "harbour, last-ferry"
    assert lines[lines.index("answers") + 1].split() == ["keyword", "reader"]
    assert "The last boat sails at 22:10." in ended.out
    (row,) = [line.split() for line in lines if line.startswith("citation.f1 ")]
    assert row == ["citation.f1", "1.000", "1.000"]
    evidence = '  citation, evidence: {"right": 1, "cited": 1, "gold": 1}'
    assert lines.count(evidence) == 2


def test_reasons_of_missing_values(done_project: Path) -> None:
    rows = json.loads(show(done_project, "last-ferry", "--format", "json").out)
    every = [row for system in rows["systems"].values() for row in system["scores"]]
    assert {row["status"] for row in every} == {"scored"}
    chosen = json.loads(
        show(done_project, "last-ferry", "--system", "reader", "--format", "json").out
    )
    assert chosen["systems"] == {"reader": rows["systems"]["reader"]}
    assert chosen["question"]["expected_answers"] == ["At 22:10."]


def test_evaluators_that_are_no_longer_configured_are_hidden(
    done_project: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(done_project, tmp_path / "demo")
    with duckdb.connect(str(folder / "published" / "scoreline.duckdb")) as connection:
        connection.execute("DELETE FROM leaderboard WHERE evaluator = 'citation'")
    ended = show(folder, "last-ferry")
    assert "citation" not in ended.out
    assert "document_retrieval." in ended.out


def test_a_failed_answer_is_marked_and_explained_once(done_project: Path) -> None:
    ended = show(done_project, "lanterns")
    assert "failed: the model did not reply within 60 seconds" in ended.out
    assert "target_error" not in ended.out
    explained = "  the answer failed: every metric has its worst value"
    lines = ended.out.splitlines()
    assert lines.count(explained) == 1
    assert lines.index(explained) == lines.index("reader", lines.index("keyword")) + 1


def test_a_failed_answer_without_scores_is_explained(tmp_path: Path) -> None:
    project = tmp_path / "demo"
    starter.write_starter(project)
    config = project / "scoreline.yaml"
    found = yaml.safe_load(config.read_text(encoding="utf-8"))
    files = {key: found["benchmarks"]["harbour"][key] for key in ("questions", "predictions")}
    for evaluators, sentence in (
        (["pii_leakage"], "no metric has a score"),
        (["pii_leakage", "citation"], "3 metrics at their worst value, 5 without a score"),
    ):
        benchmarks = {"harbour": {**files, "evaluators": evaluators}}
        config.write_text(yaml.safe_dump({"benchmarks": benchmarks}), encoding="utf-8")
        assert scoreline(project, "run", "--quiet").code == 0
        out = show(project, "lanterns", "--system", "reader").out
        assert f"  the answer failed: {sentence}\n" in out


def test_long_evidence_is_wrapped_on_a_terminal(done_project: Path) -> None:
    printed = on_terminal(done_project, "show", "last-ferry", columns=60)
    wrapped = '  document_retrieval, evidence: {"hit_ranks": [1],\n    "relevant": 1, '
    assert wrapped in printed
    assert max(map(len, printed.splitlines())) <= 60


def test_unknown_names(done_project: Path) -> None:
    for arguments, words in (
        (["last-fery"], "there is no question 'last-fery' (did you mean 'last-ferry'?)"),
        (["last-ferry", "--system", "reeder"], "there is no system with this question 'reeder'"),
        (["last-ferry", "--benchmark", "x"], "there is no benchmark with this question 'x'"),
    ):
        ended = show(done_project, *arguments)
        assert ended.code == 2
        assert words in ended.err


def test_control_characters_of_answers_do_not_reach_the_terminal(own_project: Path) -> None:
    file = own_project / "data" / "predictions_reader.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    rows[0]["answer"] = "At \x1b[2J22:10.\nSecond line"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert scoreline(own_project, "run", "--quiet").code == 0
    out = show(own_project, rows[0]["question_id"]).out
    assert "\x1b" not in out
    assert r"At \x1b[2J22:10.\nSecond line" in out
