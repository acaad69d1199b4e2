"""Packages that only some features need: messages name the extra, before anything is paid."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

import scoreline
from evaluators.catalog import build, catalogue
from evaluators.evaluator import require_libraries
from orchestration import starter
from orchestration.config.load import load_config
from orchestration.doctor.project import diagnose_project
from orchestration.runs import RunOptions
from orchestration.runs.start import run_project
from records import packages
from records.packages import EXTRAS, MissingPackage
from systems.client import SystemRefused
from systems.clients import make_client
from systems.settings import HttpSystem, ModelSystem
from warehouse.errors import InputError
from warehouse.formats.readers.files import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
OPTIONAL = sorted({name for names in EXTRAS.values() for name in names})


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without extras."""
    installed = packages.is_installed
    monkeypatch.setattr(
        packages, "is_installed", lambda name: name not in OPTIONAL and installed(name)
    )
    return


def test_extras_are_those_of_the_project() -> None:
    declared = PROJECT["project"]["optional-dependencies"]
    assert {
        name: tuple(Requirement(text).name for text in declared[name]) for name in EXTRAS
    } == EXTRAS
    everyday = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    assert not everyday & set(OPTIONAL)
    assert len(everyday) <= 24


def test_libraries_of_evaluators_have_an_extra_or_are_always_installed() -> None:
    everyday = {Requirement(text).name for text in PROJECT["project"]["dependencies"]}
    used = {name for cls in catalogue().values() for name in cls.libraries}
    assert used <= everyday | set(OPTIONAL)


@pytest.mark.usefixtures("_plain")
def test_a_message_has_everything_that_is_missing() -> None:
    with pytest.raises(MissingPackage) as caught:
        require_libraries([build("citation"), build("bleu"), build("pii_leakage")])
    assert str(caught.value).splitlines() == [
        (
            "the evaluator 'bleu' needs nltk and sacrebleu and sentencex, which are not installed: "
            "`pip install 'scoreline[text]'`"
        ),
        (
            "the evaluator 'pii_leakage' needs phonenumbers and python-stdnum, which are not "
            "installed: `pip install 'scoreline[privacy]'`"
        ),
    ]


@pytest.mark.usefixtures("_plain")
def test_words_without_stems_need_no_stemmer() -> None:
    require_libraries([build("rouge", {"words": "unicode"})])


def test_a_library_of_a_plugin_is_named_itself() -> None:
    with pytest.raises(MissingPackage, match=r"x needs no-such, .* `pip install no-such`"):
        packages.require_packages({"x": ["no-such"]})


@pytest.mark.usefixtures("_plain")
def test_a_missing_library_is_a_part_of_the_signature() -> None:
    assert "|nltk==" in build("rouge").signature


@pytest.mark.usefixtures("_plain")
def test_a_run_ends_before_it_begins(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    text = file.read_text("utf-8").replace("citations]", "citations, faithfulness, rouge]")
    file.write_text(text, "utf-8")
    with pytest.raises(MissingPackage, match=r"'faithfulness' needs sentencex.*scoreline\[text\]"):
        run_project(load_config(file), RunOptions(), quiet=True)
    assert not (tmp_path / ".scoreline" / "warehouse.duckdb").exists()
    (found,) = [each for each in diagnose_project(file) if each.subject == "packages"]
    assert found.state == "fail"
    assert "the evaluator 'rouge' needs nltk" in found.message


@pytest.mark.usefixtures("_plain")
def test_a_judge_that_cannot_be_called_is_named_by_run_and_doctor(tmp_path: Path) -> None:
    starter.write_starter(tmp_path)
    file = tmp_path / "scoreline.yaml"
    text = file.read_text("utf-8").replace("citations]", "citations, contact_information]")
    file.write_text(text + "judge: {model: openai/x, api_base: 'http://127.0.0.1:9'}\n", "utf-8")
    said = r"the judge needs httpx and litellm and pyjson5, .*`pip install 'scoreline\[judge\]'`"
    with pytest.raises(MissingPackage, match=said):
        run_project(load_config(file), RunOptions(), quiet=True)
    (found,) = [each for each in diagnose_project(file) if each.subject == "judge"]
    assert found.state == "fail"
    assert "scoreline[judge]" in found.message


@pytest.mark.usefixtures("_plain")
def test_python_raises_its_own_error() -> None:
    questions = [{"question_id": "q", "question": "a?", "expected_answer": "b"}]
    predictions = [{"question_id": "q", "answer": "b", "system": "s"}]
    with pytest.raises(scoreline.ScorelineError, match=r"'rouge' needs nltk.*scoreline\[text\]"):
        scoreline.evaluate(questions, predictions, ["rouge"])


@pytest.mark.usefixtures("_plain")
def test_systems_that_are_called_name_their_extra() -> None:
    service = HttpSystem.model_validate(
        {"name": "s", "home": ".", "http": {"url": "http://x/{{ question }}", "answer": "$.a"}}
    )
    with pytest.raises(SystemRefused, match=r"systems.s \(an HTTP service\) .*scoreline\[http\]"):
        make_client(service, [])
    with pytest.raises(SystemRefused, match=r"systems.m \(a model\) needs .*scoreline\[judge\]"):
        make_client(ModelSystem.model_validate({"name": "m", "home": ".", "model": "openai/x"}), [])


@pytest.mark.usefixtures("_plain")
def test_compressed_files_name_their_extra(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(b"")
    with (
        pytest.raises(InputError, match=r"a.jsonl.zst.*zstandard.*scoreline\[zstd\]"),
        opened(path),
    ):
        pass
