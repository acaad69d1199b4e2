"""Test suites become questions, test labs what each of their models answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.eval_studio import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers import limits
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.ingest.result import Ingested


def case(prompt: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "constraints": ["x"], "expected_output": "", **more}


def suite(path: Path, *cases: object, **test: Any) -> Path:
    tests = [{"documents": ["d.pdf"], "test_cases": list(cases), **test}]
    path.write_text(json.dumps({"name": "n", "tests": tests}, indent=1))
    return path


def given(prompt: str, model: str = "m1", **more: Any) -> dict[str, Any]:
    return {"input": prompt, "actual_output": "a", "model_key": model, **more}


def lab(path: Path, *rows: object, models: list[dict[str, Any]] | None = None) -> Path:
    models = models or [{"key": "m1", "llm_model_name": "large", "name": "n"}]
    content = {"raw_dataset": {"inputs": [1]}, "dataset": {"inputs": list(rows)}, "models": models}
    path.write_text(json.dumps(content, indent=1))
    return path


def ingested(folder: Path, questions: Path, predictions: Path) -> tuple[Warehouse, Ingested]:
    warehouse = Warehouse(folder / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="eval-studio", questions=[questions])
    files: list[tuple[Path, str | None]] = [(predictions, None)]
    return warehouse, ingest_predictions(
        warehouse, benchmark="b", format="eval-studio", files=files
    )


def test_a_test_case_becomes_a_question(tmp_path: Path) -> None:
    path = suite(
        tmp_path / "s.json",
        case("How?", key="k1", categories=["math", "facts"], condition="a OR b", other=1),
        case(
            "H0w?",
            key="k2",
            categories=["perturbed", "perturbed_by:character:high"],
            relationships=[{"type": "perturbation_source", "target": "k1"}],
            constraints=[],
            expected_output="So.",
        ),
        key="t1",
    )
    first, second = (each.record for each in read_questions(Source(path)) if isinstance(each, Read))
    assert (first.question_id, first.question, first.doc_id) == ("k1", "How?", "d.pdf")
    assert (first.constraints, first.expected_answer) == (["x"], None)
    assert first.tags == {"category": "math, facts"}
    assert first.extra == {
        "categories": ["math", "facts"],
        "condition": "a OR b",
        "documents": ["d.pdf"],
        "other": 1,
        "test_key": "t1",
    }
    assert (second.perturbs, second.perturbation, second.tags) == ("k1", "character:high", None)
    assert (second.constraints, second.expected_answer) == ([], ["So."])


def test_rows_find_their_test_case_by_key_or_else_by_prompt(tmp_path: Path) -> None:
    questions = suite(
        tmp_path / "s.json", case("How?"), case("Why?"), case("Why?"), case("Who?", key="k")
    )
    predictions = lab(tmp_path / "l.json", given("How?", key="invented"), given("Whom?", key="k"))
    warehouse, done = ingested(tmp_path, questions, predictions)
    found = warehouse.fetch("SELECT question_id FROM predictions WHERE error IS NULL ORDER BY 1")
    assert found.to_series().to_list() == ["k", "q001"]
    assert done.notes == (
        "system 'large' did not answer 2 questions: 'q002', 'q003'",
        "the file of system 'large' has different question texts for 1 question: 'k'",
    )


@pytest.mark.parametrize("key", ["invented", None])
def test_does_not_guess_at_a_repeated_or_unknown_prompt(tmp_path: Path, key: str | None) -> None:
    questions = suite(tmp_path / "s.json", case("Why?"), case("Why?"))
    predictions = lab(tmp_path / "l.json", given("Why?", key=key))
    with pytest.raises(InputError, match=f"there is no question '{key or 'Why[?]'}'"):
        ingested(tmp_path, questions, predictions)


def test_what_a_model_gave(tmp_path: Path) -> None:
    rows = [
        given("a", context=["c"], actual_duration=2.5, cost=0.0, categories=["lab:1"], key="k"),
        given("b", actual_duration=0.0, actual_output=""),
        given("c", actual_output="LLM HOST INTERNAL ERROR: none"),
    ]
    path = lab(tmp_path / "l.json", *rows)
    first, second, third = (
        each.record for each in read_predictions(Source(path)) if isinstance(each, Read)
    )
    assert (first.contexts, first.latency_s, first.cost_usd) == (["c"], 2.5, 0.0)
    assert first.extra == {"categories": ["lab:1"], "model_key": "m1"}
    assert (second.answer, second.latency_s, second.error) == ("", None, None)
    assert (third.answer, third.error) == (None, "LLM HOST INTERNAL ERROR: none")


@pytest.mark.parametrize(
    ("names", "systems"),
    [
        ([("large", "x"), ("small", "x")], ["large", "small"]),
        ([("large", "x"), ("large", "y")], ["x", "y"]),
        ([("large", "x"), ("large", "x")], ["m1", "m2"]),
        ([("large", "x"), (None, "x")], ["large", "m2"]),
    ],
)
def test_gives_each_model_its_own_name(
    tmp_path: Path, names: list[tuple[str | None, str]], systems: list[str]
) -> None:
    models = [
        {"key": f"m{n}", "llm_model_name": model, "name": name}
        for n, (model, name) in enumerate(names, start=1)
    ]
    path = lab(tmp_path / "l.json", given("a", "m1"), given("a", "m2"), models=models)
    read = [each.record for each in read_predictions(Source(path)) if isinstance(each, Read)]
    assert [each.system for each in read] == systems


def test_the_path_may_name_the_only_model(tmp_path: Path) -> None:
    (read,) = read_predictions(Source(lab(tmp_path / "l.json", given("a")), "mine"))
    assert isinstance(read, Read)
    assert read.record.system is None
    models = [{"key": "m1", "name": "a"}, {"key": "m2", "name": "b"}]
    several = Source(lab(tmp_path / "l.json", given("a"), models=models), "mine")
    with pytest.raises(InputError, match="expected one model, as the path names one system"):
        read_predictions(several)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{\n"name": "x"}', "1: expected an object with the list 'tests'"),
        ('{\n"tests": 5}', "2: tests: expected a list, found the number 5"),
        ("[]", "1: expected a JSON object, found a list"),
        ('{"tests": [\n}', "2: not JSON"),
    ],
)
def test_a_file_that_is_no_test_suite_is_named(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        list(read_questions(Source(path)))
    assert f"s.json:{said}" in str(caught.value)


@pytest.mark.parametrize(
    ("cases", "line", "said"),
    [
        ([case("a"), "b"], 16, "tests[0].test_cases: expected objects, found the text 'b'"),
        ([{}], 9, "prompt: missing"),
        ([case("a", constraints="x")], 9, "constraints: expected a list, found the text 'x'"),
        ([case("a", categories=3)], 9, "categories: expected text or a list of texts"),
        ([case("a", relationships=[1])], 9, "relationships: expected a list of objects"),
        ([case("a", expected_output=3)], 9, "expected_output: expected text or a list of texts"),
    ],
)
def test_a_test_case_that_cannot_be_read_is_named(
    tmp_path: Path, cases: list[object], line: int, said: str
) -> None:
    path = suite(tmp_path / "s.json", *cases)
    (reject,) = [each for each in read_questions(Source(path)) if isinstance(each, Reject)]
    assert reject.line == line
    assert said in reject.reason


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (5, "dataset.inputs: expected objects, found the number 5"),
        (given("a", "m9"), "model_key: expected one of the models, found the text 'm9'"),
        (given("a", actual_output=1), "actual_output: expected text, found the number 1"),
        (given("a", context="c"), "context: expected a list, found the text 'c'"),
        (given("a", cost=-1), "cost: expected a number of at least 0, found the number -1"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path: Path, row: object, said: str) -> None:
    (reject,) = read_predictions(Source(lab(tmp_path / "l.json", row)))
    assert isinstance(reject, Reject)
    assert reject.line == 9
    assert said in reject.reason


def test_the_documents_of_a_test_cannot_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 3,000 test cases repeats the 20,000 characters that its test has once."""
    monkeypatch.setattr(limits, "FREE_EXPANSION", 2**20)
    monkeypatch.setattr(limits, "MAX_RATIO", 50)
    cases = [case(f"How many, {number}?") for number in range(3000)]
    path = suite(tmp_path / "s.json", *cases, documents=["d" * 20_000])
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with pytest.raises(InputError, match="because they repeat texts that the file has once") as e:
        ingest_questions(warehouse, benchmark="b", format="eval-studio", questions=[path])
    assert str(path) in str(e.value)
    few = suite(tmp_path / "few.json", *cases[:10], documents=["d" * 20_000])
    ingest_questions(warehouse, benchmark="b", format="eval-studio", questions=[few])
