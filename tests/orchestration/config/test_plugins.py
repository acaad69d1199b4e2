"""`plugins` in the configuration: a project's own evaluators."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import yaml

from orchestration.config.load import load_config
from orchestration.errors import SettingsError
from tests.scoreline.rows import ANSWERS, QUESTIONS
from tests.support.command import scoreline
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

POLITE = """\
import scoreline

@scoreline.metric
def polite(answer):
    return "please" in answer
"""

LIMIT = """\
import scoreline


class Limit(scoreline.RowEvaluator):
    metrics = (scoreline.Metric(name="kept", summary="Short answers.", primary=True),)
    reads = READS

    def grade(self, sample):
        return {"kept": float(len(sample.answer) < 50)}
"""


def write(folder: Path, metrics: str = POLITE, **benchmark: object) -> Path:
    (folder / "metrics.py").write_text(metrics, "utf-8")
    answers = {f"{system}.answers": rows for system, rows in ANSWERS.items()}
    for name, rows in {"questions": QUESTIONS, **answers}.items():
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, "utf-8")
    usual = {
        "questions": "questions.jsonl",
        "predictions": "{system}.answers.jsonl",
        "evaluators": ["citation", "polite"],
    }
    document = {
        "plugins": ["metrics.py"],
        "expectations": "sql",
        "benchmarks": {name: {**usual, **benchmark} for name in ("one", "two")},
    }
    file = folder / "scoreline.yaml"
    file.write_text(yaml.safe_dump(document), "utf-8")
    return file


def signatures(file: Path) -> dict[str, str]:
    evaluators = load_config(file).project.benchmarks["one"].evaluators
    return {each.name: each.signature for each in evaluators}


def test_code_is_part_of_the_signature_but_comments_are_not(tmp_path: Path) -> None:
    first = signatures(write(tmp_path))
    commented = signatures(write(tmp_path, POLITE.replace("@", "# Be kind.\n@")))
    assert commented == first
    changed = signatures(write(tmp_path, POLITE.replace('"please"', '"Please"')))
    assert changed["citation"] == first["citation"]
    assert changed["polite"] != first["polite"]


def test_an_instance_has_a_name_of_its_own(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        evaluators=["rouge", {"rouge_of_stems": "rouge"}, {"kind": "polite"}],
        parameters={"rouge_of_stems": {"words": "stemmed"}},
        thresholds={"rouge_of_stems.rouge_l": 0.5},
    )
    found = signatures(file)
    assert list(found) == ["rouge", "rouge_of_stems", "kind"]
    assert len(set(found.values())) == 3


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("def polite(:", r"plugins.*|metrics.py:1: SyntaxError"),
        ("import nowhere", r"metrics.py:1: ModuleNotFoundError"),
        ("x = 1\ny = 1 / 0", r"metrics.py:2: ZeroDivisionError"),
        ("x = 1", "defines no evaluator"),
        (POLITE.replace("answer):", "anwser):"), "did you mean 'answer'"),
        (POLITE.replace("polite", "citation"), "the name 'citation' is taken"),
        *(
            (
                LIMIT.replace("READS", reads),
                rf"metrics.py:4: .*reads: expected a set.*{found}",
            )
            for reads, found in (
                ('("answer",)', r"\('answer',\)"),
                ('"answer"', "'answer'"),
                ("None", "None"),
                ("{1}", r"\{1\}"),
            )
        ),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_a_fault(
    tmp_path: Path, metrics: str, message: str
) -> None:
    file = write(tmp_path, metrics, evaluators=["citation"])
    with pytest.raises(SettingsError, match=message) as caught:
        load_config(file)
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "- metrics" in text)
    assert {fault.line for fault in caught.value.faults} == {line}


@pytest.mark.parametrize(
    ("evaluators", "message"),
    [
        (["polit"], "did you mean 'polite'"),
        ([{"polite": "rouge"}], "the name 'polite' is taken"),
        ([{"rouge": "citation"}], "the name 'rouge' is taken"),
        ([{"mine": "rogue"}], "did you mean 'rouge'"),
        ([{"Mine": "rouge"}], "lower-case letters"),
        ([{"mine": "rouge"}, {"mine": "citation"}], "the name 'mine' is taken"),
    ],
)
def test_slips_of_names_are_faults(tmp_path: Path, evaluators: list[object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load_config(write(tmp_path, evaluators=evaluators))


def test_a_missing_file_is_a_fault(tmp_path: Path) -> None:
    file = write(tmp_path)
    (tmp_path / "metrics.py").unlink()
    with pytest.raises(SettingsError, match=r"there is no file .*metrics.py"):
        load_config(file)


@takes_minutes
def test_a_changed_metric_is_the_only_one_that_is_scored_again(tmp_path: Path) -> None:
    write(tmp_path)
    samples = 2 * len(QUESTIONS) * len(ANSWERS)
    first = scoreline(tmp_path, "run")
    assert f"{2 * samples:,} scored" in first.err
    assert "polite" in first.out
    write(tmp_path, POLITE.replace("return", "return not"))
    second = scoreline(tmp_path, "run")
    assert f"{samples:,} scored, {samples:,} up to date" in second.err
