"""`scoreline doctor` on systems that are asked: it asks none, and finds what would end a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from orchestration.config.load import load_config
from orchestration.doctor.systems import diagnose_systems
from tests.orchestration.asked_project import AskedProject

if TYPE_CHECKING:
    from pathlib import Path

NOWHERE = "http://127.0.0.1:9/ask"


def http(**keys: object) -> dict[str, object]:
    return {"http": {"url": NOWHERE, "body": {"q": "{{ question }}"}, "answer": "$.a", **keys}}


def diagnosed(project: AskedProject) -> dict[str, tuple[str, str]]:
    project.write()
    found = diagnose_systems(load_config(project.home / "scoreline.yaml").project)
    return {each.subject: (each.state, each.message) for each in found}


def test_systems_that_can_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_KEY", "sk-0123456789")
    project = AskedProject(tmp_path / "project")
    project.systems = {
        "function": {"python": "my_rag.py:answer"},
        "program": {"command": ["cat"]},
        "service": http(headers={"X-Key": "${RAG_KEY}"}, body="{{ tags.lang }}: {{ question }}"),
        "model": {"model": "openai/m", "api_base": NOWHERE},
    }
    found = diagnosed(project)
    assert {state for state, _ in found.values()} == {"ok"}
    assert found["system: function"][1] == "python: the function can be called"
    assert found["system: service"][1] == "http: nothing was sent"
    assert project.asked() == {}
    assert "sk-" not in json.dumps(found)


def test_what_would_end_a_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAG_KEY", raising=False)
    project = AskedProject(tmp_path / "project")
    model = {"model": "openai/m", "api_base": NOWHERE}
    project.systems = {
        "function": {"python": "my_rag.py:anwser"},
        "program": {"command": ["./nowhere"]},
        "no_key": http(headers={"X-Key": "${RAG_KEY}"}),
        "template": http(body="{{ qestion }}"),
        "path": http(answer="a"),
        "price": {**model, "budget_usd": 1.0},
        "unused": {"python": "my_rag.py:nothing"},
    }
    project.benchmark = {"systems": [name for name in project.systems if name != "unused"]}
    found = diagnosed(project)
    assert {state for state, _ in found.values()} == {"fail"}
    reasons = {
        "function": "'my_rag.py' has no function 'anwser' (did you mean 'answer'?)",
        "program": "there is no program './nowhere'",
        "no_key": "the environment variable RAG_KEY is not set",
        "template": "unknown name 'qestion' (did you mean 'question'?)",
        "path": "'a' is not a JSONPath",
        "price": "a budget needs the price of 'openai/m'",
    }
    assert set(found) == {f"system: {name}" for name in reasons}
    for name, reason in reasons.items():
        assert reason in found[f"system: {name}"][1]


def test_models_that_are_systems(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    folder = tmp_path / "reader"
    folder.mkdir()
    (folder / "config.json").write_text("{}", encoding="utf-8")
    systems = "".join(
        f'  {name}: {{model: "local:{model}", task: {{mcqa: {{}}}}}}\n'
        for name, model in (("here", "reader"), ("gone", "./nowhere"), ("unused", "./nowhere"))
    )
    file = tmp_path / "scoreline.yaml"
    file.write_text(
        f"systems:\n{systems}"
        "benchmarks: {b: {questions: q, systems: [here, gone], evaluators: [rouge]}}",
        encoding="utf-8",
    )
    here, gone = diagnose_systems(load_config(file).project)
    assert (here.state, here.subject) == ("ok", "system: here")
    assert str(folder) in here.message
    assert (gone.state, gone.subject) == ("fail", "system: gone")
    assert gone.message.startswith("systems.gone: ./nowhere: ")
    assert gone.message.endswith("does not exist")
