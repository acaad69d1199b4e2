"""`scoreline evaluators`: lists of all and of a family, and what is to be given and configured."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from evaluators import catalog
from evaluators.sample import input_fields, input_file
from orchestration.cli.program import program
from warehouse.formats.records.document import Document
from warehouse.formats.records.prediction import Prediction
from warehouse.formats.records.question import Question

FILES = {"questions": Question, "predictions": Prediction, "documents": Document}


def listed(*arguments: str) -> dict[str, dict[str, Any]]:
    """The rows of a list by evaluator."""
    result = CliRunner().invoke(program, ["evaluators", *arguments, "--format", "json"])
    assert result.exit_code == 0, result.stderr
    return {row["evaluator"]: row for row in json.loads(result.stdout)}


def test_a_family_is_the_list_of_its_evaluators() -> None:
    assert list(listed("citations")) == ["citation", "evidence_overlap"]


def test_a_family_of_one_of_the_same_name_is_a_page() -> None:
    page = CliRunner().invoke(program, ["evaluators", "trace"]).stdout
    assert page.startswith("trace (trace)\n\nIs the context relevant")


def test_what_must_be_configured_stands_in_the_list() -> None:
    asks = {name: row["asks"] for name, row in listed().items()}
    assert asks["citation"] == []
    assert asks["faithfulness"] == ["judge"]
    assert asks["ragas"] == ["judge", "models.embedding"]
    page = CliRunner().invoke(program, ["evaluators", "perplexity"]).stdout
    assert "Needs models.language_model in scoreline.yaml" in page


def test_a_page_names_the_fields_of_files() -> None:
    lines = CliRunner().invoke(program, ["evaluators", "document_retrieval"]).stdout.splitlines()
    rows = [line.split() for line in lines[lines.index("Input fields") + 3 :]]
    assert rows == [
        ["gold_doc_ids", "questions", "yes"],
        ["retrieved", "predictions", "yes"],
        ["gold_relevance", "questions", "no"],
    ]


@pytest.mark.parametrize("name", list(catalog.catalogue()))
def test_what_is_named_can_be_written_into_files(name: str) -> None:
    evaluator = catalog.build(name)
    for column in evaluator.reads | evaluator.optional:
        assert set(input_fields(column)) <= FILES[input_file(column)].model_fields.keys(), column
