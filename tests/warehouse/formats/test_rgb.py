"""RGB's questions are asked at every noise rate at which somebody answered them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.paths import expand
from warehouse.formats.rgb import read_predictions, read_questions
from warehouse.ingest.ingest import PREDICTIONS, ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from records.question import Question


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def asked(path: Path, row: dict[str, Any]) -> Question:
    (read,) = read_questions(Source(write(path, {"id": 0, "query": "a?", **row})))
    assert isinstance(read, Read), read
    return read.record


@pytest.mark.parametrize(
    ("answer", "answers", "parts"),
    [
        ("Rome", ["Rome"], None),
        (["Rome"], ["Rome"], None),
        ([["Rome", "Roma"]], ["Rome", "Roma"], None),
        (["Ada", "Bert"], None, [["Ada"], ["Bert"]]),
        (["Ada", ["Bert", "Bertram"]], None, [["Ada"], ["Bert", "Bertram"]]),
        ([], None, None),
    ],
)
def test_an_answer_is_one_with_spellings_or_several_parts(
    tmp_path: Path, answer: object, answers: list[str] | None, parts: list[list[str]] | None
) -> None:
    question = asked(tmp_path / "en.json", {"answer": answer})
    assert (question.expected_answer, question.expected_parts) == (answers, parts)


@pytest.mark.parametrize(
    ("name", "row", "scenario"),
    [
        ("en.json", {}, "noise_robustness"),
        ("en_int.json", {}, "information_integration"),
        ("en_fact.json", {"fakeanswer": "Milan"}, "counterfactual_robustness"),
        ("zh.json", {}, "noise_robustness"),
        ("zh_int.json", {}, "information_integration"),
        ("zh_fact.json", {}, "counterfactual_robustness"),
        ("en_refine.json", {}, "noise_robustness"),
        ("en_int.json", {"scenario": "negative_rejection"}, "negative_rejection"),
    ],
)
def test_the_scenario(tmp_path: Path, name: str, row: dict[str, Any], scenario: str) -> None:
    assert asked(tmp_path / name, row).scenario == scenario


def test_passages_and_planted_answers_are_kept(tmp_path: Path) -> None:
    row = {"positive": ["p"], "negative": ["n"], "positive_wrong": ["w"], "fakeanswer": ["x", "y"]}
    question = asked(tmp_path / "en_fact.json", row)
    assert question.extra == row
    assert question.counterfactual_answer == "x"


def test_questions_are_asked_at_all_noise_rates_that_occur(tmp_path: Path) -> None:
    questions = write(
        tmp_path / "en.json", *({"id": n, "query": "a?", "answer": "b"} for n in (0, 1))
    )
    low = write(
        tmp_path / "one.json",
        {"id": 0, "query": "a?", "noise_rate": 0, "prediction": "b", "docs": ["d"], "label": [1]},
        {"id": 1, "query": "c?", "noise_rate": 0.0, "prediction": "b", "docs": []},
    )
    high = write(
        tmp_path / "two.json", {"id": 1, "noise rate": 1.0, "response": "no", "model": "m"}
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = [(low, "one"), (high, "two")]
    ingest_questions(
        warehouse, benchmark="b", format="rgb", questions=[questions], predictions=files
    )
    rows = warehouse.fetch("SELECT question_id, noise_ratio, scenario FROM questions ORDER BY 1")
    robust = "noise_robustness"
    assert rows.rows() == [
        ("0@0", 0.0, robust),
        ("0@1", 1.0, "negative_rejection"),
        ("1@0", 0.0, robust),
        ("1@1", 1.0, "negative_rejection"),
    ]
    done = ingest_predictions(warehouse, benchmark="b", format="rgb", files=files)
    assert done.notes == (
        "system 'one' did not answer 2 questions: '0@1', '1@1'",
        "system 'two' did not answer 3 questions: '0@0', '0@1', '1@0'",
        "the file of system 'one' has different question texts for 1 question: '1@0'",
    )
    given = warehouse.fetch(
        "SELECT system, question_id, answer, contexts, extra ->> '$.label' AS label "
        "FROM predictions WHERE error IS NULL ORDER BY ALL"
    ).rows()
    assert given == [
        ("one", "0@0", "b", ["d"], "[1]"),
        ("one", "1@0", "b", [], None),
        ("two", "1@1", "no", None, None),
    ]


DATASETS = {
    "en": {"answer": "b"},
    "en_int": {"answer": ["b", "c"]},
    "en_fact": {"answer": "b", "fakeanswer": "x"},
}


def three(folder: Path, names: dict[str, str]) -> tuple[list[Path], list[tuple[Path, str | None]]]:
    """One question a dataset, all with the id 0, and outputs at two rates in one file each."""
    files = [
        write(folder / f"{name}.json", {"id": 0, "query": f"{name}?", **row})
        for name, row in DATASETS.items()
    ]
    outputs: list[tuple[Path, str | None]] = []
    for name in DATASETS:
        rates = (0.2, 1.0) if name == "en" else (0.4,)
        rows = [
            {"id": 0, "query": f"{name}?", "noise_rate": rate, "prediction": name} for rate in rates
        ]
        path = folder / names[name]
        path.parent.mkdir(exist_ok=True)
        outputs.append((write(path, *rows), "s"))
    return files, outputs


@pytest.mark.parametrize(
    "names",
    [
        {name: f"prediction_{name}_s_temp0.2.json" for name in DATASETS},
        {name: f"{name}/s.json" for name in DATASETS},
    ],
)
def test_the_three_files_are_one_benchmark(tmp_path: Path, names: dict[str, str]) -> None:
    files, outputs = three(tmp_path, names)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="rgb", questions=files, predictions=outputs)
    given = BenchmarkFiles(benchmark="b", format="rgb", questions=files, predictions=outputs)
    done = ingest(warehouse, [given], kinds=(PREDICTIONS,))["b", PREDICTIONS]
    assert done.notes == ()
    found = warehouse.fetch(
        "SELECT question_id, scenario, answer FROM questions "
        "JOIN predictions USING (benchmark, question_id) ORDER BY question_id"
    )
    assert found.rows() == [
        ("en/0@0.2", "noise_robustness", "en"),
        ("en/0@1", "negative_rejection", "en"),
        ("en_fact/0@0.4", "counterfactual_robustness", "en_fact"),
        ("en_int/0@0.4", "information_integration", "en_int"),
    ]


def test_outputs_of_several_files_name_theirs(tmp_path: Path) -> None:
    names = {"en": "en_s.json", "en_int": "en_int_s.json", "en_fact": "other.json"}
    files, outputs = three(tmp_path, names)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    given = BenchmarkFiles(benchmark="b", format="rgb", questions=files, predictions=outputs)
    with pytest.raises(
        InputError, match=r"other\.json: expected the file of questions in the name"
    ):
        ingest(warehouse, [given])
    # The outputs of a file that is not among the questions are not those of another one.
    short = replace(given, questions=[files[0], files[2]], predictions=outputs[:2])
    with pytest.raises(InputError, match=r"en_int_s\.json: expected the file of questions"):
        ingest(warehouse, [short])


def test_outputs_without_a_noise_rate_answer_the_question_itself(tmp_path: Path) -> None:
    outputs = write(tmp_path / "out.json", {"id": 7, "response": "b", "model": "m"})
    (read,) = read_predictions(Source(outputs))
    assert isinstance(read, Read)
    assert (read.record.question_id, read.record.system) == ("7", "m")


def test_accepts_a_list_instead_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text(' [{"id": 1, "response": "a"},\n{"id": 2, "response": 3}]')
    first, second = read_predictions(Source(path, "s"))
    assert isinstance(first, Read)
    assert second == Reject(2, "response: expected text, found the number 3", second.text)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"query": "a?"}, "id: missing"),
        ({"id": 1, "query": 3}, "query: expected text, found the number 3"),
        (
            {"id": 1, "answer": {"a": 1}},
            "answer: expected text or a list of texts, found an object",
        ),
        ({"id": 1, "answer": [["a"], [2]]}, "answer[1][0]: expected text"),
        ({"id": 1, "scenario": "noise"}, "scenario: expected 'noise_robustness'"),
    ],
)
def test_a_question_that_cannot_be_read_is_named_once(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    outputs = write(tmp_path / "out.json", *({"id": 1, "noise_rate": n / 5} for n in range(3)))
    source = Source(write(tmp_path / "en.json", row), answered_in=(outputs,))
    (reject,) = read_questions(source)
    assert isinstance(reject, Reject)
    assert reject.line == 1
    assert said in reject.reason


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": 1, "noise_rate": 2, "response": "a"}, "noise_rate: expected a number from 0 to 1"),
        ({"id": 1, "noise_rate": "x", "response": "a"}, "noise_rate: expected a number"),
        ({"id": 1}, "prediction: missing, and so is response; expected one of the two"),
        ({"id": 1, "prediction": "a", "response": "b"}, "response: expected it or prediction"),
        ({"id": 1, "response": "a", "docs": "d"}, "docs: expected a list, found the text 'd'"),
        ({"id": 1, "response": "a", "model": "n", "system": "n"}, "the row says 'n'"),
    ],
)
def test_an_output_that_cannot_be_read_is_named(
    tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    (reject,) = read_predictions(Source(write(tmp_path / "out.json", row), "s"))
    assert isinstance(reject, Reject)
    assert said in reject.reason


def test_the_three_files_are_one_benchmark_of_four_abilities(tmp_path: Path) -> None:
    """Outputs have the names that the benchmark's script gives them."""
    question = {"id": 0, "query": "a?", "answer": "b"}
    names = {"en": {}, "en_int": {}, "en_fact": {"fakeanswer": "c"}}
    asked = [write(tmp_path / f"{name}.json", {**question, **row}) for name, row in names.items()]
    for name, rate in (("en", 0.2), ("en", 1.0), ("en_int", 0.4), ("en_fact", 0.0)):
        output = {"id": 0, "query": "a?", "prediction": "b", "docs": ["d"], "noise_rate": rate}
        file = f"prediction_{name}_llama_2_temp0.7_noise{rate}_passage5_correct0.0.json"
        write(tmp_path / file, output)
    found = expand(tmp_path / "prediction_{en,en_int,en_fact}_{system}_temp*.json")
    assert {system for _, system in found} == {"llama_2"}
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = BenchmarkFiles(benchmark="b", format="rgb", questions=asked, predictions=found)
    ingest(warehouse, [files])
    scenarios = warehouse.fetch(
        "SELECT scenario, question_id FROM questions "
        "JOIN predictions USING (benchmark, question_id) ORDER BY scenario"
    )
    assert scenarios.rows() == [
        ("counterfactual_robustness", "en_fact/0@0"),
        ("information_integration", "en_int/0@0.4"),
        ("negative_rejection", "en/0@1"),
        ("noise_robustness", "en/0@0.2"),
    ]
