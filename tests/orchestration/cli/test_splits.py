"""Splits in one configuration, as the page on migration shows it: each is run on its own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from orchestration.cli.program import program
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[3] / "docs" / "migration.md"


def settings() -> str:
    """The configuration of the page, without the evaluators that need a judge."""
    section = PAGE.read_text(encoding="utf-8").partition("## A script for document-grounded")[2]
    found = re.search(r"```yaml\n(.*?)```", section, re.DOTALL)
    assert found is not None
    judged = ", rubric_judge, rubric_combined]"
    assert judged in found[1]
    return found[1].replace(judged, "]")


def write_split(data: Path, split: str, n: int) -> None:
    """Write the questions of a split, and the output of the system `simple`, right in half."""
    data.joinpath(f"{split}_final_jsonl.txt").write_text(
        "".join(
            json.dumps(
                {
                    "doc_id": f"doc{at}",
                    "question": f"What of {at} in {split}?",
                    "answer": "So.",
                    "evidence_sentences": ["S1"],
                }
            )
            + "\n"
            for at in range(n)
        ),
        encoding="utf-8",
    )
    output = {
        f"q{at + 1:03d}": {
            "question": f"What of {at} in {split}?",
            "answer": "So.",
            "evidence_sentences": ["S1"],
            "retrieved_docs": [{"doc_id": f"doc{at if at < n // 2 else 0}", "rank": 1}],
        }
        for at in range(n)
    }
    text = json.dumps(output)
    data.joinpath(f"{split}_simple_output.json").write_text(text, encoding="utf-8")


@pytest.fixture
def invoke(tmp_path: Path) -> Callable[..., Any]:
    """Run a command in this process; the files of the split `test` are missing."""
    corpus = tmp_path / "data" / "corpus"
    corpus.mkdir(parents=True)
    for at in range(6):
        document = {"doc_id": f"doc{at}", "sentences": ["It is so."]}
        corpus.joinpath(f"doc{at}.json").write_text(json.dumps(document), encoding="utf-8")
    write_split(tmp_path / "data", "train", 6)
    write_split(tmp_path / "data", "dev", 4)
    config = tmp_path / "scoreline.yaml"
    config.write_text(settings(), encoding="utf-8")

    def run(*arguments: str) -> Any:
        given = [*arguments, "--config", str(config)]
        return CliRunner().invoke(program, given, prog_name="scoreline")

    return run


@takes_minutes
def test_each_split_is_run_with_the_same_configuration(
    invoke: Callable[..., Any], tmp_path: Path
) -> None:
    for split, n in (("train", 6), ("dev", 4)):
        result = invoke("run", "--benchmark", f"grounded-{split}", "--summary")
        assert result.exit_code == 0, result.stderr
        assert f"Evaluating {split} split outputs..." in result.stdout
        assert f"Recall@1: {n // 2}/{n} = 50.00%" in result.stdout
        written = tmp_path / "published" / f"{split}_evaluation.json"
        results = json.loads(written.read_text(encoding="utf-8"))
        assert results["simple"]["retrieval"]["total"] == n
        assert results["simple"]["citation"]["avg_f1"] == 1.0
    # The script takes `train` unless told otherwise.
    result = invoke("run", "--summary")
    assert result.exit_code == 0, result.stderr
    assert "Evaluating train split outputs..." in result.stdout
    assert "Evaluating dev" not in result.stdout
    missing = invoke("run", "--benchmark", "grounded-test")
    assert missing.exit_code == 2
    assert "test_final_jsonl.txt: no such file" in missing.stderr
    out = tmp_path / "results"
    export = ("export", "--benchmark", "grounded-train", "--as", "evaluation-json")
    assert invoke(*export, "--out", str(out)).exit_code == 0
    assert [each.name for each in out.iterdir()] == ["train_evaluation.json"]
