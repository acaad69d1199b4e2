"""Tasks in the configuration: what is built, what does not fit together, files of examples."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from orchestration.config.load import load_config
from orchestration.config.tasks import read_questions
from orchestration.errors import SettingsError
from systems.settings import LocalModelSystem, ModelSystem
from systems.tasks.mcqa import Mcqa
from systems.tasks.rgb import Rgb
from warehouse.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from systems.settings import SystemSettings

BENCHMARK = """
benchmarks:
  b: {questions: q.jsonl, systems: [s], evaluators: [option_confidence]}
"""


def system(folder: Path, keys: str, more: str = "") -> SystemSettings:
    file = folder / "scoreline.yaml"
    file.write_text(f"systems:\n  s: {keys}\n{BENCHMARK}{more}", encoding="utf-8")
    return load_config(file).project.systems["s"]


def test_a_model_that_a_server_runs(tmp_path: Path) -> None:
    (tmp_path / "examples.jsonl").touch()
    found = system(
        tmp_path,
        "{model: openai/m, task: {mcqa: {few_shot: 2, examples: examples.jsonl, "
        "permutations: cyclic, top_logprobs: 5}}}",
    )
    assert isinstance(found, ModelSystem)
    assert (
        found.task.model_dump()
        == Mcqa(
            few_shot=2,
            examples=tmp_path / "examples.jsonl",
            permutations="cyclic",
            top_logprobs=5,
        ).model_dump()
    )
    assert found.files() == (tmp_path / "examples.jsonl",)


def test_a_model_on_this_machine(tmp_path: Path) -> None:
    text = "\nmodels: {device: cpu, dtype: bfloat16, batch_size: 4, offline: true}"
    found = system(tmp_path, '{model: "local:models/m", task: {mcqa: {}}}', text)
    assert isinstance(found, LocalModelSystem)
    assert (found.model, found.task, found.timeout_s) == ("models/m", Mcqa(), 3600)
    assert found.options.dtype == "bfloat16"
    assert found.options.batch_size == 4
    assert found.options.offline


def test_passages_with_noise(tmp_path: Path) -> None:
    keys = (
        "{model: openai/m, task: {rgb: {noise_ratios: [0, 0.5, 0], passages: 4, seed: 1, "
        "scenarios: [negative_rejection, noise_robustness], language: zh}}}"
    )
    found = system(tmp_path, keys)
    assert isinstance(found, ModelSystem)
    task = Rgb(
        noise_ratios=[0.0, 0.5],
        passages=4,
        seed=1,
        scenarios=["noise_robustness", "negative_rejection"],
        language="zh",
    )
    assert found.task == task
    expansion = load_config(tmp_path / "scoreline.yaml").project.benchmarks["b"].expansion
    assert expansion is not None
    extra = {"positive": ["p"] * 4, "negative": ["n"] * 4}
    made = expansion.expand({"question_id": "1", "extra": extra})
    assert [each["question_id"] for each in made] == ["1@0", "1@0.5", "1@1"]
    assert json.loads(expansion.identity) == {"rgb": task.construction()}


def test_the_default_is_the_benchmarks_own_construction(tmp_path: Path) -> None:
    found = system(tmp_path, "{model: openai/m, task: {rgb: {}}}")
    assert isinstance(found, ModelSystem)
    assert found.task == Rgb()


def test_systems_that_need_different_questions(tmp_path: Path) -> None:
    text = (
        "systems:\n"
        "  a: {model: openai/m, task: {rgb: {}}}\n"
        "  b: {model: openai/m, task: {rgb: {seed: 1}}}\n"
        "  zh: {model: openai/m, task: {rgb: {language: zh}}}\n"
        "benchmarks:\n"
        "  b: {questions: q.jsonl, systems: SYSTEMS, evaluators: [rgb]}\n"
    )
    file = tmp_path / "scoreline.yaml"
    file.write_text(text.replace("SYSTEMS", "[a, b]"), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"yaml:6: .*'a' and 'b' need different questions"):
        load_config(file)
    file.write_text(text.replace("SYSTEMS", "[a, zh]"), encoding="utf-8")
    assert load_config(file).project.benchmarks["b"].expansion is not None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("{model: openai/m, task: {}}", "systems.s.task: expected one of mcqa"),
        (
            "{model: openai/m, task: {mcqa: {few_shots: 5}}}",
            "(did you mean 'few_shot'?)",
        ),
        ("{model: openai/m, task: {mcqa: {few_shot: -1}}}", "systems.s.task.mcqa.few_shot"),
        (
            "{model: openai/m, task: {mcqa: {permutations: all}}}",
            "systems.s.task.mcqa.permutations: input should be 'none' or 'cyclic'",
        ),
        (
            "{model: openai/m, task: {mcqa: {examples: none.jsonl}}}",
            "systems.s.task.mcqa.examples: there is no file 'none.jsonl'",
        ),
        ("{model: openai/m, prompt: Hi, task: {mcqa: {}}}", "give `prompt` or `task`, not both"),
        (
            "{command: [./rag], task: {mcqa: {}}}",
            "systems.s.task: only a system with `model` has this key",
        ),
        ("{model: openai/m, task: {rgb: {noise_ratios: [1]}}}", "systems.s.task.rgb.noise_ratios"),
        ("{model: openai/m, task: {rgb: {noise_ratios: []}}}", "systems.s.task.rgb.noise_ratios"),
        ("{model: openai/m, task: {rgb: {passages: 0}}}", "systems.s.task.rgb.passages"),
        ("{model: openai/m, task: {rgb: {scenarios: [noise]}}}", "systems.s.task.rgb.scenarios"),
        (
            "{model: openai/m, task: {mcqa: {}, rgb: {}}}",
            "systems.s.task: expected one of mcqa, rgb, found mcqa and rgb",
        ),
        (
            '{model: "local:m", task: {rgb: {}}}',
            "systems.s: a local model needs the task `mcqa`",
        ),
        ('{model: "local:m"}', "systems.s: a local model needs the task `mcqa`"),
        (
            '{model: "local:m", temperature: 0.5, task: {mcqa: {}}}',
            "systems.s.temperature: only a model that a server runs has this key",
        ),
    ],
)
def test_what_does_not_fit_is_reported_with_its_line(
    keys: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as failed:
        system(tmp_path, keys)
    assert message in str(failed.value)
    assert "scoreline.yaml:2: " in str(failed.value)


def test_examples_are_read_as_questions(tmp_path: Path) -> None:
    file = tmp_path / "examples.jsonl"
    row = {"question_id": 7, "question": "?", "choices": ["a", "b"], "correct_choice": "B"}
    file.write_text(json.dumps(row), encoding="utf-8")
    assert read_questions(file) == [{**row, "question_id": "7", "correct_choice": 1}]
    file.write_text(json.dumps({**row, "correct_choice": "Q"}) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"examples\.jsonl:1: correct_choice: .*position 16"):
        read_questions(file)
