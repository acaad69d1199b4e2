"""Thresholds, the headline metric and the order of evaluators in the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.fingerprints.digests import leaderboard_fingerprint
from assets.project import threshold_of
from orchestration.config import load
from orchestration.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from assets.project import Benchmark

PROJECT = """\
benchmarks:
  one:
    questions: q.jsonl
    predictions: p_{system}.jsonl
    evaluators: [looping_detection, citation]
"""
EVAL_STUDIO = PROJECT.replace("questions: q.jsonl", "format: eval-studio\n    questions: q.json")


def read(folder: Path, *lines: str, project: str = PROJECT) -> Benchmark:
    """Return the benchmark of a configuration with additional keys."""
    file = folder / "scoreline.yaml"
    file.write_text(project + "".join(f"    {line}\n" for line in lines), encoding="utf-8")
    return load.load_config(file).project.benchmarks["one"]


def thresholds(benchmark: Benchmark) -> dict[str, float]:
    """Return the thresholds that apply, by metric."""
    found = {
        f"{evaluator.name}.{metric.name}": threshold_of(benchmark, evaluator, metric)
        for evaluator in benchmark.evaluators
        for metric in evaluator.measured()
    }
    return {name: threshold for name, threshold in found.items() if threshold is not None}


@pytest.mark.parametrize(
    "line", ["slices: []", "thresholds: none", "thresholds: {}", "thresholds: {default: none}"]
)
def test_there_are_no_thresholds_unless_set(tmp_path: Path, line: str) -> None:
    assert thresholds(read(tmp_path, line)) == {}


def test_only_the_thresholds_that_are_set_apply(tmp_path: Path) -> None:
    assert thresholds(read(tmp_path, "thresholds: {citation.f1: 0.6}")) == {"citation.f1": 0.6}


def test_thresholds_of_the_source(tmp_path: Path) -> None:
    every = thresholds(read(tmp_path, "thresholds: source"))
    assert every["citation.f1"] == every["citation.recall"] == 0.75
    both = thresholds(read(tmp_path, "thresholds: {default: source, citation.f1: 0.6}"))
    assert both == {**every, "citation.f1": 0.6}
    without = thresholds(read(tmp_path, "thresholds: {default: source, citation.f1: none}"))
    assert without == {name: value for name, value in every.items() if name != "citation.f1"}
    one = thresholds(read(tmp_path, "thresholds: {citation.recall: source}"))
    assert one == {"citation.recall": 0.75}


def test_the_format_of_the_source_applies_its_thresholds(tmp_path: Path) -> None:
    every = thresholds(read(tmp_path, "thresholds: source"))
    assert thresholds(read(tmp_path, project=EVAL_STUDIO)) == every
    named = read(tmp_path, "thresholds: {citation.f1: 0.6}", project=EVAL_STUDIO)
    assert thresholds(named) == {**every, "citation.f1": 0.6}
    assert thresholds(read(tmp_path, "thresholds: none", project=EVAL_STUDIO)) == {}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("thresholds: {citation.f2: 0.6}", "did you mean 'citation.f1'?"),
        ("thresholds: {citation.f1: sauce}", "expected a number, `source` or `none`"),
        ("thresholds: {citation.f1: .nan}", "expected a number, `source` or `none`"),
        ("thresholds: {citation.f1: true}", "expected a number, `source` or `none`"),
        ("thresholds: {citation.f1: 2}", "lies outside its bounds: expected 0 to 1"),
        ("thresholds: {default: 0.5}", "expected `source` or `none`, found 0.5"),
        ("thresholds: sauce", "expected a number, `source` or `none`"),
        ("rank_by: citation.f2", "did you mean 'citation.f1'?"),
        ("rank_by: citation", "which is not a metric of this benchmark's evaluators"),
    ],
)
def test_faults_name_the_line(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(SettingsError, match=":6: ") as error:
        read(tmp_path, line)
    assert words in str(error.value)
    assert len(error.value.faults) == 1


def test_evaluators_keep_the_order_of_the_configuration(tmp_path: Path) -> None:
    text = PROJECT.replace(
        "[looping_detection, citation]",
        "[tokens_presence, rubric_combined, citations, looping_detection, tokens_presence]",
    )
    benchmark = read(tmp_path, project=text)
    assert [each.name for each in benchmark.evaluators] == [
        *("tokens_presence", "rubric_combined", "citation", "evidence_overlap"),
        *("looping_detection", "rubric_judge"),
    ]


def test_the_order_and_the_headline_change_the_leaderboard(tmp_path: Path) -> None:
    reverse = PROJECT.replace("[looping_detection, citation]", "[citation, looping_detection]")
    benchmarks = [
        read(tmp_path),
        read(tmp_path, project=reverse),
        read(tmp_path, "rank_by: citation.recall"),
        read(tmp_path, "thresholds: source"),
    ]
    assert benchmarks[2].rank_by == "citation.recall"
    assert len({leaderboard_fingerprint(each, {}) for each in benchmarks}) == len(benchmarks)
