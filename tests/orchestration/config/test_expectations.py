"""Expectations in scoreline.yaml: their faults with lines, and their effect before judge calls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from orchestration.config import load
from orchestration.errors import ChecksFailed, OrchestrationError, SettingsError
from orchestration.runs import RunOptions
from orchestration.runs.progress import Progress
from orchestration.runs.run import evaluate
from tests.orchestration.judged_project import JudgedProject
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = """\
benchmarks:
  one:
    questions: q.jsonl
    predictions: p_{{system}}.jsonl
    evaluators: [citation]
    expectations:
      {table}:
        - name: {name}
          kwargs: {kwargs}
          severity: {severity}
"""
BETWEEN = "expect_column_values_to_be_between"


def read(folder: Path, **changes: str) -> load.Settings:
    given = {
        "table": "predictions",
        "name": BETWEEN,
        "kwargs": "{column: latency_s, max_value: 30}",
        "severity": "warn",
    }
    file = folder / "scoreline.yaml"
    file.write_text(CONFIG.format(**{**given, **changes}), encoding="utf-8")
    return load.load_config(file)


def test_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCORELINE_EXPECTATIONS")
    found = read(tmp_path).project
    assert found.validation == "full"
    assert found.drift.cost == 0.5
    (only,) = found.benchmarks["one"].expectations["predictions"]
    assert (only.kind, only.severity) == (BETWEEN, "warn")
    assert only.name == f'{BETWEEN}(column="latency_s", max_value=30)'
    scores = read(tmp_path, table="scores/citation", kwargs="{column: f1, min_value: 0.1}").project
    assert set(scores.benchmarks["one"].expectations) == {"scores/citation"}


@pytest.mark.parametrize(
    ("changes", "line", "message"),
    [
        ({"table": "prediction"}, 7, r"possible for 'prediction' .did you mean 'predictions'"),
        ({"table": "scores/rouge"}, 7, r"no expectations are possible for 'scores/rouge'"),
        ({"name": f"{BETWEEN}s"}, 8, rf"unknown expectation .*did you mean '{BETWEEN}'"),
        (
            {"kwargs": "{column: latency_s, max_valu: 30}"},
            9,
            r"unknown argument 'max_valu' .*did you mean 'max_value'",
        ),
        ({"kwargs": "{max_value: 30}"}, 8, r"the argument 'column' of .* is missing"),
        ({"kwargs": "{column: latency}"}, 9, r"no column 'latency' .did you mean 'latency_s'"),
        (
            {"table": "scores/citation", "kwargs": "{column: f2}"},
            9,
            r"no column 'f2'.* f1",
        ),
        ({"severity": "fatal"}, 10, "severity"),
        (
            {
                "name": "unexpected_rows_expectation",
                "kwargs": "{unexpected_rows_query: SELECT 1 FROM predictions}",
            },
            9,
            r"the query must contain `\{batch\}`",
        ),
    ],
)
def test_faults(tmp_path: Path, changes: dict[str, str], line: int, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refused:
        read(tmp_path, **changes)
    assert [fault.line for fault in refused.value.faults] == [line]


def test_unknown_key_suggests_similar_one(tmp_path: Path) -> None:
    file = tmp_path / "scoreline.yaml"
    text = CONFIG.format(table="predictions", name=BETWEEN, kwargs="{}", severity="warn")
    file.write_text(text.replace("severity", "severty"), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"unknown key 'severty' .did you mean 'severity'"):
        load.load_config(file)


def test_environment_overrides_validation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCORELINE_EXPECTATIONS", "sql")
    assert read(tmp_path).project.validation == "sql"
    monkeypatch.setenv("SCORELINE_EXPECTATIONS", "none")
    with pytest.raises(OrchestrationError, match="SCORELINE_EXPECTATIONS is 'none'"):
        read(tmp_path)


@takes_minutes
def test_failed_expectation_stops_before_judge_calls(tmp_path: Path) -> None:
    with JudgeServer() as server:
        judge = {"model": "openai/a-judge", "api_base": server.url, "max_attempts": 1}
        home = JudgedProject(tmp_path / "home", judge)
        home.predictions["plain"][2]["latency_s"] = 99
        home.write()
        text = home.config.read_text(encoding="utf-8")
        lines = [
            "    expectations:",
            "      predictions:",
            f"      - name: {BETWEEN}",
            "        kwargs: {column: latency_s, max_value: 30}",
            "    evaluators:",
        ]
        assert "    evaluators:" in text
        home.config.write_text(text.replace("    evaluators:", "\n".join(lines)), encoding="utf-8")
        project = replace(load.load_config(home.config).project, validation="full")
        with pytest.raises(ChecksFailed, match=r"'as_described' of predictions failed.*latency_s"):
            evaluate(project, RunOptions(), Progress(), verbose=False)
        assert server.requests == []
        assert home.rows("SELECT system, question_id FROM quarantine") == [("plain", "q2")]
