"""`scoreline evaluators`: lists, and the fields and configuration keys an evaluator needs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from evaluators import catalog
from evaluators.sample import input_fields, input_file
from orchestration.cli.program import program
from records.document import Document
from records.prediction import Prediction
from records.question import Question

if TYPE_CHECKING:
    from pathlib import Path

FILES = {"questions": Question, "predictions": Prediction, "documents": Document}


def listed(*arguments: str) -> dict[str, dict[str, Any]]:
    """Return the listed rows by evaluator."""
    result = CliRunner().invoke(program, ["evaluators", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.stderr
    return {row["evaluator"]: row for row in json.loads(result.stdout)}


def test_family_lists_its_evaluators() -> None:
    assert list(listed("citations")) == ["citation", "evidence_overlap"]


def test_family_of_one_is_described() -> None:
    page = CliRunner().invoke(program, ["evaluators", "trace"]).stdout
    assert page.startswith("trace (trace)\n\nIs the context relevant")


def test_list_names_configuration_keys() -> None:
    asks = {name: row["asks"] for name, row in listed().items()}
    assert asks["citation"] == []
    assert asks["faithfulness"] == ["judge"]
    assert asks["ragas"] == ["judge", "models.embedding"]
    page = CliRunner().invoke(program, ["evaluators", "perplexity"]).stdout
    assert "Needs models.language_model in scoreline.yaml" in page


def test_a_project_has_evaluators_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "metrics.py").write_text(
        "import scoreline\n\n@scoreline.metric\ndef polite(answer):\n"
        '    """Is the answer polite?"""\n    return "please" in answer\n'
        "\n@scoreline.metric\ndef unused(answer):\n"
        '    """Is it unused?"""\n    return True\n'
    )
    (tmp_path / "scoreline.yaml").write_text(
        "plugins: [metrics.py]\nbenchmarks:\n  one:\n    questions: q.csv\n"
        "    predictions: p.csv\n    evaluators: [polite, rouge, {kind: byop}]\n"
        "    parameters: {kind: {prompt_template: 'Is {ACTUAL_OUTPUT} kind?'}}\n"
    )
    monkeypatch.chdir(tmp_path)
    found = listed()
    assert {"polite", "unused", "kind", "rouge", "byop"} <= found.keys()
    assert (found["polite"]["family"], found["polite"]["summary"]) == (
        "own",
        "Is the answer polite?",
    )
    assert found["kind"]["asks"] == ["judge"]
    page = CliRunner().invoke(program, ["evaluators", "kind"]).stdout
    assert "Is {ACTUAL_OUTPUT} kind?" in page
    assert list(listed("own")) == ["polite", "unused"]
    # Elsewhere it is named by its configuration; a faulty one is only noted.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert "polite" not in listed()
    assert "polite" in listed("--config", "../scoreline.yaml")
    (tmp_path / "elsewhere" / "scoreline.yaml").write_text("benchmarks: {}\n")
    noted = CliRunner().invoke(program, ["evaluators", "citations"])
    assert noted.exit_code == 0
    assert "note: the evaluators of scoreline.yaml are not listed: " in noted.stderr


def test_description_names_input_fields() -> None:
    lines = CliRunner().invoke(program, ["evaluators", "document_retrieval"]).stdout.splitlines()
    rows = [line.split() for line in lines[lines.index("Input fields") + 3 :]]
    assert rows == [
        ["gold_doc_ids", "questions", "yes"],
        ["retrieved", "predictions", "yes"],
        ["gold_relevance", "questions", "no"],
    ]


def test_pages_are_cached_for_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    file = tmp_path / "scoreline" / "evaluator-pages.json"
    first = listed()
    cached = json.loads(file.read_text(encoding="utf-8"))
    cached["value"][0]["question"] = "Is it cached?"
    file.write_text(json.dumps(cached), encoding="utf-8")
    changed = listed()
    name = cached["value"][0]["name"]
    assert changed == {**first, name: {**first[name], "summary": "Is it cached?"}}
    for other in (json.dumps({**cached, "code": "of another version"}), "[]", "{"):
        file.write_text(other, encoding="utf-8")
        assert listed() == first


def test_pages_are_described_without_a_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = listed()
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert listed() == expected


def test_unknown_evaluator() -> None:
    ended = CliRunner().invoke(program, ["evaluators", "retreival"])
    assert ended.exit_code == 2
    assert "unknown evaluator 'retreival' (did you mean 'retrieval'?)" in ended.stderr


@pytest.mark.parametrize("name", list(catalog.catalogue()))
def test_named_fields_exist_in_files(name: str) -> None:
    evaluator = catalog.build(name)
    for column in evaluator.reads | evaluator.optional:
        assert set(input_fields(column)) <= FILES[input_file(column)].model_fields.keys(), column


def test_evaluators_are_found_by_metric_and_by_word() -> None:
    by_metric = CliRunner().invoke(program, ["evaluators", "mrr"])
    assert by_metric.stdout.startswith("document_retrieval (retrieval)\n")
    by_word = CliRunner().invoke(program, ["evaluators", "Toxic language", "--format", "json"])
    assert {row["evaluator"] for row in json.loads(by_word.stdout)} == {"toxicity"}
    assert "fairness_bias_judge" in listed("bias")


def test_evaluators_are_found_by_parts_of_words_and_several_words() -> None:
    assert {"pii_leakage", "sensitive_data_leakage"} <= listed("leak").keys()
    assert {"faithfulness"} <= listed("faithful").keys()
    both = listed("pii", "leak").keys()
    assert "pii_leakage" in both
    assert both == listed("LEAK", "pii").keys() == listed("leak pii").keys()
    assert both == listed("pii").keys() & listed("leak").keys()
    assert len(both) < len(listed("leak"))
    assert CliRunner().invoke(program, ["evaluators", "pii", "zebra"]).exit_code == 2
    assert CliRunner().invoke(program, ["evaluators", "-"]).exit_code == 2
