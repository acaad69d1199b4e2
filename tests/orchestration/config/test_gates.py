"""Gates in the configuration: both lists, and what does not fit together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assets.project import Gate
from orchestration.config.load import load_config
from orchestration.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

BENCHMARK = """\
benchmarks:
  support:
    questions: questions.jsonl
    predictions: predictions_{system}.jsonl
    evaluators: [citation, classification, rouge]
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "scoreline.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_both_lists_give_the_gates_of_a_benchmark(tmp_path: Path) -> None:
    text = BENCHMARK + (
        "    gates:\n"
        "      - {system: new, baseline: old, tolerance: 0.02}\n"
        "gates:\n"
        "  - {benchmark: support, metrics: [citation.f1], min: 0.6}\n"
        "  - {benchmark: support, system: new, metrics: [classification.f1], min: 0.5,\n"
        "     max: 0.9, confident: true}\n"
        "  - {benchmark: support, system: new, baseline: older, metrics: [citation.f1],\n"
        "     sequential: true}\n"
    )
    gates = load_config(write(tmp_path, text)).project.benchmarks["support"].gates
    assert gates == (
        Gate(system="new", baseline="old", tolerance=0.02),
        Gate(metrics=("citation.f1",), min=0.6),
        Gate(system="new", metrics=("classification.f1",), min=0.5, max=0.9, confident=True),
        Gate(system="new", baseline="older", metrics=("citation.f1",), sequential=True),
    )


@pytest.mark.parametrize(
    ("gate", "message"),
    [
        ("{metrics: [citation.f1], min: 0.5}", "the key 'benchmark' is missing in gates.0"),
        (
            "{benchmark: suport, metrics: [citation.f1], min: 0.5}",
            "unknown benchmark 'suport' (did you mean 'support'?)",
        ),
        (
            "{benchmark: support, metrics: [citation.f1], mim: 0.5}",
            "unknown key 'mim' (did you mean 'min'?)",
        ),
        ("{benchmark: support, system: new}", "expected a `baseline`, `min` or `max`"),
        ("{benchmark: support, min: 0.5}", "the key 'metrics' is missing"),
        ("{benchmark: support, baseline: old}", "the key 'system' is missing"),
        (
            "{benchmark: support, system: new, baseline: new}",
            "'new' cannot be compared with itself",
        ),
        (
            "{benchmark: support, system: new, baseline: old, metrics: [citation.f1], min: 0.5}",
            "'min' needs `min` or `max` without a `baseline`",
        ),
        (
            "{benchmark: support, metrics: [citation.f1], min: 0.5, tolerance: 0.1}",
            "'tolerance' needs a `baseline`",
        ),
        (
            "{benchmark: support, metrics: [citation.f1], min: 0.5, sequential: true}",
            "'sequential' needs a `baseline`",
        ),
        (
            "{benchmark: support, system: new, baseline: old, confident: true}",
            "'confident' needs `min` or `max`",
        ),
        (
            "{benchmark: support, metrics: [citation.f1], min: 0.7, max: 0.5}",
            "no mean is at least 0.7 and at most 0.5",
        ),
        (
            "{benchmark: support, metrics: [citation.f1], min: 60}",
            "'min' is 60, outside the bounds of citation.f1: expected 0 to 1",
        ),
        (
            "{benchmark: support, metrics: [citation.f11], min: 0.5}",
            "'support' has no metric 'citation.f11' (did you mean 'citation.f1'?)",
        ),
        (
            "{benchmark: support, system: new, baseline: old, metrics: [classification.f1]}",
            "'support' has no sample metric 'classification.f1'",
        ),
    ],
)
def test_gates_that_cannot_be_evaluated(tmp_path: Path, gate: str, message: str) -> None:
    with pytest.raises(SettingsError) as error:
        load_config(write(tmp_path, f"{BENCHMARK}gates:\n  - {gate}\n"))
    assert message in str(error.value)
    assert f"{tmp_path / 'scoreline.yaml'}:7: " in str(error.value)


@pytest.mark.parametrize(
    "second",
    [
        "{benchmark: support, metrics: [citation], min: 0.6}",
        "{benchmark: support, metrics: [rouge, citation.f1], min: 0.5, max: 1}",
    ],
)
def test_a_second_gate_of_the_same_kind_is_refused(tmp_path: Path, second: str) -> None:
    first = "{benchmark: support, metrics: [citation.f1], min: 0.5}"
    text = f"{BENCHMARK}gates:\n  - {first}\n  - {second}\n"
    with pytest.raises(SettingsError, match=r":8: there is another gate like this on citation\.f1"):
        load_config(write(tmp_path, text))
    load_config(
        write(
            tmp_path,
            text.replace(
                "  - {benchmark: support, metrics: [citation.f1]",
                "  - {benchmark: support, system: new, metrics: [citation.f1]",
            ),
        )
    )


def test_systems_without_a_prediction_file(tmp_path: Path) -> None:
    gate = "{benchmark: support, system: nwe, baseline: old}"
    settings = load_config(write(tmp_path, f"{BENCHMARK}gates:\n  - {gate}\n"))
    # Without any file nothing is known.
    settings.require_systems_exist(["support"])
    for system in ("new", "old"):
        (tmp_path / f"predictions_{system}.jsonl").touch()
    with pytest.raises(SettingsError) as error:
        settings.require_systems_exist(["support"])
    assert str(error.value) == (
        f"{settings.file}:7: a gate for 'nwe', which is not a system of 'support' "
        "(did you mean 'new'?)"
    )
    settings.require_systems_exist([])


def test_missing_names_a_system_without_a_prediction_file(tmp_path: Path) -> None:
    settings = load_config(write(tmp_path, f"{BENCHMARK}    missing: {{nwe: not_asked}}\n"))
    (tmp_path / "predictions_new.jsonl").touch()
    with pytest.raises(SettingsError, match=r"`missing` for 'nwe', .*did you mean 'new'") as error:
        settings.require_systems_exist(["support"])
    (fault,) = error.value.faults
    assert settings.file.read_text("utf-8").splitlines()[fault.line - 1].strip().startswith("miss")
