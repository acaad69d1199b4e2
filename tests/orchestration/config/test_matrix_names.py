"""The name of an entry with a matrix stands for its systems wherever systems are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from assets.project import Gate
from orchestration.cli.options import run_options
from orchestration.errors import SettingsError, UnknownName
from tests.orchestration.config.test_matrix import load_systems

if TYPE_CHECKING:
    from pathlib import Path

    from orchestration.config.load import Settings

BOT: dict[str, Any] = {"matrix": {"model": ["m1", "m2"]}}
SYSTEMS = {"bot": BOT, "old": {"model": "m0"}}


def load(folder: Path, *asked: str, **benchmark: Any) -> Settings:
    settings = load_systems(folder, SYSTEMS, list(asked or ("bot", "old")), **benchmark)
    settings.require_systems_exist(["one"])
    return settings


def test_only_systems_names_an_entry(tmp_path: Path) -> None:
    settings = load(tmp_path, parameters={"rouge": {"only_systems": ["bot"]}})
    (evaluator,) = settings.project.benchmarks["one"].evaluators
    assert evaluator.only_systems == ("bot-1", "bot-2")


def test_missing_names_an_entry(tmp_path: Path) -> None:
    """What a system has of its own counts, wherever it stands."""
    settings = load(tmp_path, missing={"bot-1": "not_asked", "bot": "failed"})
    assert settings.project.benchmarks["one"].missing.systems == {
        "bot-1": "not_asked",
        "bot-2": "failed",
        "old": "not_asked",
    }


def test_gates_name_an_entry(tmp_path: Path) -> None:
    gates = [
        {"system": "bot", "baseline": "old"},
        {"system": "bot", "metrics": ["rouge.rouge_l"], "min": 0.5},
        {"system": "bot", "baseline": "bot-1"},
    ]
    settings = load(tmp_path, gates=gates)
    limit = {"metrics": ("rouge.rouge_l",), "min": 0.5}
    assert settings.project.benchmarks["one"].gates == (
        Gate(system="bot-1", baseline="old"),
        Gate(system="bot-2", baseline="old"),
        Gate(system="bot-1", **limit),
        Gate(system="bot-2", **limit),
        Gate(system="bot-2", baseline="bot-1"),
    )


def test_a_second_gate_on_a_system_of_an_entry_is_reported_once(tmp_path: Path) -> None:
    gates = [{"system": "bot", "baseline": "old"}, {"system": "bot-2", "baseline": "old"}]
    with pytest.raises(SettingsError) as raised:
        load(tmp_path, gates=gates)
    (fault,) = raised.value.faults
    assert "there is another gate like this on rouge." in fault.message
    unknown = [{"system": "bot", "metrics": ["rouge.nothing"], "min": 0.5}]
    with pytest.raises(SettingsError) as raised:
        load(tmp_path, gates=unknown)
    assert len(raised.value.faults) == 1


def test_options_name_an_entry(tmp_path: Path) -> None:
    project = load(tmp_path).project
    assert run_options(project, (), ("bot",), ()).systems == ("bot-1", "bot-2")
    assert run_options(project, (), ("bot-2", "bot"), ()).systems == ("bot-2", "bot-1")
    with pytest.raises(UnknownName, match="there is no system 'bott'"):
        run_options(project, (), ("bott",), ())


def test_an_entry_stands_for_the_systems_that_a_benchmark_asks(tmp_path: Path) -> None:
    settings = load(tmp_path, "bot-2", parameters={"rouge": {"only_systems": ["bot"]}})
    assert settings.project.benchmarks["one"].evaluators[0].only_systems == ("bot-2",)
    assert run_options(settings.project, (), ("bot",), ()).systems == ("bot-2",)
    with pytest.raises(SettingsError, match="`only_systems` of 'rouge' for 'bot', which is not"):
        load(tmp_path, "old", parameters={"rouge": {"only_systems": ["bot"]}})


def test_one_combination_may_have_the_name_of_its_entry(tmp_path: Path) -> None:
    one = {"matrix": {"model": ["m1"]}, "names": "{name}"}
    assert list(load_systems(tmp_path, {"bot": one}, ["bot"]).project.systems) == ["bot"]
    two = {"matrix": {"model": ["m1", "m2"]}, "names": "{name}"}
    with pytest.raises(SettingsError) as raised:
        load_systems(tmp_path, {"bot": two}, ["bot"])
    (fault,) = raised.value.faults
    assert "several combinations have the name 'bot'" in fault.message
