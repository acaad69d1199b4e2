"""The keys of a panel of judges: what members inherit, and what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from evaluators.flows.protocols import Panel
from orchestration.config import load
from orchestration.config.judge.factory import PanelFactory
from orchestration.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

A, B, C = "openai/gpt-4o-mini", "anthropic/claude-3-5-haiku-latest", "groq/llama-3.1-8b-instant"
BENCHMARK = {
    "questions": "q.jsonl",
    "predictions": "p_{system}.jsonl",
    "evaluators": ["faithfulness"],
}


def load_judge(folder: Path, judge: dict[str, Any]) -> load.Settings:
    file = folder / "scoreline.yaml"
    content = {"judge": judge, "benchmarks": {"one": BENCHMARK}}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return load.load_config(file)


def members(folder: Path, **judge: Any) -> dict[str, Any]:
    factory = load_judge(folder, judge).project.engines.judge_factory
    assert isinstance(factory, PanelFactory)
    return {each.model: each for each in factory.settings_of_members}


def test_names_and_mappings(tmp_path: Path) -> None:
    settings = load_judge(tmp_path, {"panel": [A, {"model": B, "temperature": 1}, C]})
    factory = settings.project.engines.judge_factory
    assert isinstance(factory, PanelFactory)
    assert factory.panel == Panel(members=(A, B, C), combine="majority", margin=0.1)
    assert [each.temperature for each in factory.settings_of_members] == [0, 1, 0]
    (evaluator,) = settings.project.benchmarks["one"].evaluators
    assert f"|judge:{factory.identity}|" in evaluator.signature
    for each in factory.settings_of_members:
        assert each.identity in factory.identity


def test_members_inherit_what_they_do_not_give(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        panel=[A, {"model": B, "concurrency": 2, "max_tokens": 4096}],
        concurrency=8,
        max_tokens=512,
        timeout_s=9,
        budget_usd=3,
        optional=True,
    )
    assert [(each.concurrency, each.max_tokens) for each in found.values()] == [(8, 512), (2, 4096)]
    assert {(each.timeout_s, each.budget_usd, each.optional) for each in found.values()} == {
        (9, 3, True)
    }


def test_the_key_of_one_server_is_not_sent_to_another(tmp_path: Path) -> None:
    found = members(
        tmp_path,
        panel=[
            A,
            {"model": B, "api_key_env": "OTHER_KEY"},
            {"model": "openai/local", "api_base": "http://127.0.0.1:8000/v1"},
        ],
        api_base="https://proxy.example/v1",
        api_key_env="PROXY_KEY",
        usd_per_million_in=1,
        usd_per_million_out=2,
    )
    addresses = [(each.api_base, each.api_key_env) for each in found.values()]
    assert addresses == [
        ("https://proxy.example/v1", "PROXY_KEY"),
        (None, "OTHER_KEY"),
        ("http://127.0.0.1:8000/v1", None),
    ]


def test_recordings_are_found_beside_the_configuration(tmp_path: Path) -> None:
    for name in ("ann", "ben"):
        (tmp_path / f"{name}.jsonl").write_text("", encoding="utf-8")
    found = members(tmp_path, panel=["recorded:ann.jsonl", "recorded:ben.jsonl"])
    assert [each.name for each in found.values()] == ["recorded:ann.jsonl", "recorded:ben.jsonl"]
    assert all(str(tmp_path) in model for model in found)


@pytest.mark.parametrize(
    ("judge", "line", "words"),
    [
        ({"panel": []}, 2, "judge.panel: expected two judges or more"),
        ({"panel": [A]}, 2, "judge.panel: expected two judges or more"),
        ({"panel": [A, B, A]}, 2, "two members have the same model"),
        ({"panel": ["recorded:x/a.jsonl", "recorded:y/a.jsonl"]}, 2, "the same model"),
        ({"panel": [A, "human"]}, 2, "human labels cannot be a member"),
        ({"model": A, "panel": [A, B]}, 1, "expected `model` or `panel`, found both"),
        ({"temperature": 0}, 1, "the key 'model' is missing, or 'panel' for several judges"),
        ({"panel": [A, B, C], "replicates": 3}, 1, "remove `replicates` and `escalate_to`"),
        ({"panel": [A, B], "escalate": True}, 1, "`escalate` needs a third member"),
        ({"model": A, "combine": "mean"}, 1, "are about a panel: add `panel`"),
        ({"panel": [A, B], "combine": "median"}, 5, "combine"),
        ({"panel": [A, {"model": B, "concurency": 2}]}, 5, "did you mean 'concurrency'"),
        ({"panel": [A, {"model": B, "budget_usd": 2}]}, 5, "unknown key 'budget_usd'"),
        ({"panel": [A, {"temperature": 1}]}, 4, "the key 'model' is missing in judge.panel.1"),
        ({"panel": [A, 7]}, 4, "judge.panel.1"),
    ],
)
def test_faults(tmp_path: Path, judge: dict[str, Any], line: int, words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_judge(tmp_path, judge)
    said = [(fault.line, fault.message) for fault in caught.value.faults]
    assert [found for found, message in said if words in message] == [line], said
