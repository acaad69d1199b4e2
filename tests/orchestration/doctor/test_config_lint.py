"""Configuration lint: misspelt fields, missing tags, and evaluators without scores."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from orchestration.cli.leaderboard_table import write_leaderboards
from orchestration.cli.program import program
from tests.orchestration.conftest import Ended, scoreline

if TYPE_CHECKING:
    from pathlib import Path


def edited(file: Path, *changes: tuple[str, str]) -> None:
    """Replace patterns in a file."""
    text = file.read_text(encoding="utf-8")
    for pattern, replacement in changes:
        text, count = re.subn(pattern, replacement, text)
        assert count, pattern
    file.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def ended(done_project: Path, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Run a project with mistakes that are not errors, from another folder."""
    folder = shutil.copytree(done_project, tmp_path_factory.mktemp("slips") / "demo")
    slices = r"slices: [topics, season]\n    cluster: harbor"
    edited(
        folder / "scoreline.yaml",
        (r"citations\]", "citations, faithfulness, context_recall, tokens_presence]"),
        (r"slices: \[topic\]", slices),
    )
    edited(
        folder / "data" / "questions.jsonl",
        (r"\{\"question_id", r'{"season": 1, "generated": {}, "question_id'),
    )
    edited(folder / "data" / "predictions_reader.jsonl", ('"answer":', '"anwser":'))
    return scoreline(folder.parent, "run", "--config", "demo/scoreline.yaml")


def test_evaluators_without_scores_have_reasons(ended: Ended) -> None:
    assert ended.code == 0, ended.err
    lines = ended.err.splitlines()
    assert "note: harbour: no scores from context_recall: no contexts" in lines
    assert "note: harbour: no scores from faithfulness: no answer; no contexts" in lines
    assert "faithfulness.faithfulness" not in ended.out.partition("No system")[0]
    said = "No system has a score for faithfulness.faithfulness, context_recall.context_recall."
    assert said in ended.out.splitlines()


def test_unused_fields(ended: Ended) -> None:
    said = "the field 'anwser' of the predictions is not used (did you mean 'answer'?)"
    assert f"note: harbour: {said}" in ended.err
    assert "the field 'season' of the questions is not used" in ended.err
    # Test sets that Scoreline has generated say how in every row.
    assert "'generated'" not in ended.err


def test_missing_tags(ended: Ended) -> None:
    said = "no question has the tag or field"
    for line in (
        f"slices: {said} 'topics' (did you mean 'topic'?)",
        f"slices: {said} 'season'; move the field 'season' into `tags`",
        f"cluster: {said} 'harbor'",
    ):
        assert f"note: harbour: {line}" in ended.err.splitlines()


def test_the_command_for_all_problems_can_be_copied(ended: Ended) -> None:
    assert "  ... all: scoreline problems --config demo/scoreline.yaml\n" in ended.err


def test_plan_and_doctor_name_evaluators_without_engine(own_project: Path) -> None:
    config = own_project / "scoreline.yaml"
    edited(config, (r"citations\]", "faithfulness, answer_relevancy, citation]"))
    plan = CliRunner().invoke(program, ["plan", "--config", str(config)])
    assert plan.stderr == (
        "note: not configured, so not applicable: faithfulness (judge), "
        "answer_relevancy (models.embedding, judge)\n"
    )
    some = CliRunner().invoke(program, ["plan", "--evaluator", "citation", "--config", str(config)])
    assert some.stderr == ""
    found = CliRunner().invoke(program, ["doctor", "--config", str(config)]).stdout
    message = "none configured: add the section `judge`; not applicable until then: "
    assert f"warn  judge: {message}faithfulness, answer_relevancy\n" in found


def test_doctor_needs_no_judge_without_judged_evaluators(done_project: Path) -> None:
    config = str(done_project / "scoreline.yaml")
    found = CliRunner().invoke(program, ["doctor", "--config", config]).stdout
    assert "ok    judge: none configured, and no evaluator needs one\n" in found


def test_plan_and_run_name_what_was_reported(own_project: Path) -> None:
    config = own_project / "scoreline.yaml"
    edited(config, (r"citations\]", "citation, {theirs: reported}]"))
    said = "theirs: nothing was reported\n"
    for command in ("plan", "run"):
        found = CliRunner().invoke(program, [command, "--config", str(config)])
        assert said in found.stderr, found.output


def test_no_notes_without_mistakes(first_run: Ended) -> None:
    assert "note:" not in first_run.err
    assert "No system has a score" not in first_run.out


def test_leaderboard_without_scores(
    capsys: pytest.CaptureFixture[str],
) -> None:
    common = {"benchmark": "b", "slice": "all", "system": "a", "metric": "m", "best": "high"}
    empty = dict.fromkeys(("mean", "rank", "rank_low", "rank_high", "coverage", "gate"))
    interval = dict.fromkeys(("ci_low", "ci_high", "ci_method", "passes", "tied_with_best"))
    counts = {"n": 3, "n_scored": 0, "n_not_applicable": 0, "n_target_error": 0}
    order = {"position": 1, "is_headline": 0}
    rows = [
        {**common, "evaluator": name, **empty, **interval, **counts, **order}
        for name in ("first", "second")
    ]
    write_leaderboards(rows, "table")
    printed = capsys.readouterr().out
    assert "first" in printed
    assert "second" in printed
    assert "No system" not in printed
