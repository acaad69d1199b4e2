"""`scoreline show`: everything about one question."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from click.testing import CliRunner

from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline

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
    evidence = '  citation, evidence: {"right":1,"cited":1,"gold":1}'
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
