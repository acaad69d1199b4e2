"""A matrix stands for one system for each combination of the values of some keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestration.config import load
from orchestration.config.schema import ProjectKeys
from orchestration.errors import SettingsError
from systems.settings import HttpSystem, ModelSystem

if TYPE_CHECKING:
    from pathlib import Path


def load_systems(
    folder: Path, systems: dict[str, Any], asked: list[str], **benchmark: Any
) -> load.Settings:
    file = folder / "scoreline.yaml"
    asks = {"questions": "q.jsonl", "systems": asked, "evaluators": ["rouge"], **benchmark}
    content = {"systems": systems, "benchmarks": {"one": asks}}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return load.load_config(file)


SWEEP = {
    "temperature": 0,
    "matrix": {"prompt": ["Short: {{ question }}", "Long: {{ question }}"], "model": ["m1", "m2"]},
}


def test_each_combination_is_a_system(tmp_path: Path) -> None:
    project = load_systems(tmp_path, {"sweep": SWEEP}, ["sweep"]).project
    found = {
        name: (each.model, each.prompt, each.temperature)
        for name, each in project.systems.items()
        if isinstance(each, ModelSystem)
    }
    # Positions are those of the keys as they are written: the prompt comes first.
    assert found == {
        "sweep-1-1": ("m1", "Short: {{ question }}", 0),
        "sweep-1-2": ("m2", "Short: {{ question }}", 0),
        "sweep-2-1": ("m1", "Long: {{ question }}", 0),
        "sweep-2-2": ("m2", "Long: {{ question }}", 0),
    }
    assert project.benchmarks["one"].systems == tuple(found)
    assert project.benchmarks["one"].missing.systems == dict.fromkeys(found, "not_asked")
    digests = {each.digest for each in project.systems.values()}
    assert len(digests) == 4


def test_a_system_of_a_matrix_equals_one_of_its_own(tmp_path: Path) -> None:
    single = {"model": "m2", "prompt": "Short: {{ question }}", "temperature": 0}
    project = load_systems(tmp_path, {"sweep": SWEEP, "x": single}, ["x", "sweep-1-2"]).project
    assert project.systems["sweep-1-2"].digest == project.systems["x"].digest
    assert project.benchmarks["one"].systems == ("x", "sweep-1-2")


def test_names_have_values(tmp_path: Path) -> None:
    matrix = {"model": ["m1", "m2"], "temperature": [0, 0.5]}
    systems = {"s": {"matrix": matrix, "names": "{model}@{temperature}.{name}"}}
    project = load_systems(tmp_path, systems, ["s"]).project
    assert list(project.systems) == ["m1@0.s", "m1@0.5.s", "m2@0.s", "m2@0.5.s"]


def test_values_are_of_any_key(tmp_path: Path) -> None:
    services = [{"url": f"http://127.0.0.1:{port}/", "answer": "$.a"} for port in (8001, 8002)]
    systems = {"s": {"matrix": {"http": services, "timeout_s": [None, 3]}}}
    found = load_systems(tmp_path, systems, ["s"]).project.systems
    assert [
        (name, each.http.url, each.timeout_s)
        for name, each in found.items()
        if isinstance(each, HttpSystem)
    ] == [
        ("s-1-1", "http://127.0.0.1:8001/", 120),
        ("s-1-2", "http://127.0.0.1:8001/", 3),
        ("s-2-1", "http://127.0.0.1:8002/", 120),
        ("s-2-2", "http://127.0.0.1:8002/", 3),
    ]


@pytest.mark.parametrize(
    ("systems", "line", "message"),
    [
        (
            {"s": {"matrix": {"model": ["m"]}}, "s-1": {"model": "m"}},
            3,
            "systems.s.matrix: the name 's-1' is that of another system",
        ),
        (
            {
                "s": {"matrix": {"model": ["m"]}, "names": "m"},
                "t": {"matrix": {"model": ["m"]}, "names": "m"},
            },
            11,
            "systems.t.names: the name 'm' is that of another system",
        ),
        (
            {"s": {"matrix": {"model": ["m", "n"], "seed": [1, 2]}, "names": "{name}-{model}"}},
            10,
            (
                "systems.s.names: several combinations have the name 's-m' (and 1 more): expected "
                "a placeholder for each of model, seed, and values that differ"
            ),
        ),
        (
            {"s": {"matrix": {"model": ["openai/m", "openai/n"]}, "names": "{name}-{model}"}},
            7,
            (
                "systems.s.names: 's-openai/m' cannot name a system: expected 1 to 100 letters "
                "(a to z), digits, or the characters . - _ @ +, not beginning with one of . - @ + "
                "(and 1 more); without `names` the systems are numbered"
            ),
        ),
        (
            {"s": {"matrix": {"model": ["m"]}, "names": "{name}-{modle}"}},
            6,
            (
                "systems.s.names: unknown placeholder {modle} (did you mean 'model'?): expected "
                "one of name, model"
            ),
        ),
        (
            {"s": {"matrix": {"command": [["a"], ["b"]]}, "names": "{command}"}},
            7,
            (
                "systems.s.names: {command} stands for values that are not texts or numbers; "
                "without `names` the systems are numbered"
            ),
        ),
        (
            {"s": {"matrix": {"modle": ["m"]}}},
            4,
            "unknown key 'modle' (did you mean 'model'?): expected one of ",
        ),
        ({"s": {"matrix": {"model": "m"}}}, 4, "systems.s.matrix.model: expected a list"),
        ({"s": {"matrix": {"model": []}}}, 4, "systems.s.matrix.model: expected at least one"),
        ({"s": {"matrix": {"model": ["m", 7]}}}, 6, "systems.s.matrix.model.1: expected text"),
        ({"s": {"matrix": {}}}, 3, "systems.s.matrix: expected at least one key with a list of "),
        ({"s": {"matrix": ["m"]}}, 3, "systems.s.matrix: expected a mapping"),
        (
            {"s": {"model": "m", "names": "{name}"}},
            2,
            "systems.s.names: there is no `matrix` whose systems it names",
        ),
        (
            {"s": {"model": "m", "matrix": {"model": ["n"]}}},
            5,
            "systems.s.matrix.model: the key 'model' is given beside the matrix, too",
        ),
        (
            {"s": {"matrix": {"model": ["m"] * 40, "seed": list(range(40))}}},
            3,
            "systems.s.matrix: expected at most 1,000 combinations, found 1,600",
        ),
        (
            {"s": {"matrix": {"model": ["m", "n"], "prompt": ["x", "nowhere.j2"]}}},
            9,
            "systems.s.prompt: there is no file 'nowhere.j2'",
        ),
        (
            {"s": {"matrix": {"python": ["a.b:f", "a.b:g"], "seed": [1, 2]}}},
            8,
            "systems.s.seed: only a system with `model` has this key",
        ),
    ],
)
def test_faults_have_a_line_and_are_said_once(
    tmp_path: Path, systems: dict[str, Any], line: int, message: str
) -> None:
    with pytest.raises(SettingsError) as raised:
        load_systems(tmp_path, systems, [next(iter(systems))])
    said = [each for each in raised.value.faults if message in each.message]
    assert [each.line for each in said] == [line], raised.value.faults
    assert "'m', 7" not in str(raised.value)
    assert "only a system with  has" not in str(raised.value)


def test_a_benchmark_names_an_entry_or_one_of_its_systems(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"unknown system 'sweep-3-1' .did you mean 'sweep-"):
        load_systems(tmp_path, {"sweep": SWEEP}, ["sweep-3-1"])


def test_the_schema_has_lists_of_keys() -> None:
    keys = ProjectKeys.model_json_schema()["$defs"]["SystemKeys"]["properties"]
    (matrix,) = [each for each in keys["matrix"]["anyOf"] if each.get("type") == "object"]
    assert {"model", "prompt", "http"} <= set(matrix["propertyNames"]["enum"])
    assert "matrix" not in matrix["propertyNames"]["enum"]
    assert matrix["additionalProperties"]["type"] == "array"
