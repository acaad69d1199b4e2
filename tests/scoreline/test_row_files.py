"""Files with questions and answers are read as a frame is; slips in their columns are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline
from tests.warehouse.formats.test_excel import sheet

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"question": "A?", "expected_answer": "one", "system": "a", "answer": "one"},
    {"question": "B?", "expected_answer": "two", "system": "a", "answer": "no"},
    {"question": "A?", "expected_answer": "one", "system": "b", "answer": "one"},
    {"question": "B?", "expected_answer": "two", "system": "b", "answer": "two"},
]
MEANS = {"a": 0.5, "b": 1.0}
"""One of two answers of `a` is the expected one, both of `b` are."""


def means(results: scoreline.Results) -> dict[str, float]:
    rows = results.leaderboard.filter(metric="rouge_l", slice="all")
    return dict(rows.select("system", "mean").iter_rows())


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    match path.suffix:
        case ".csv":
            pl.DataFrame(rows).write_csv(path)
        case ".parquet":
            pl.DataFrame(rows).write_parquet(path)
        case ".xlsx":
            sheet(path, [list(rows[0]), *([*map(str, row.values())] for row in rows)])
        case ".json":
            path.write_text(json.dumps(rows), "utf-8")
        case _:
            path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.json", "r.parquet", "r.xlsx"])
def test_a_file_holds_questions_and_answers(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, ROWS)
    assert means(scoreline.evaluate(path, evaluators=["rouge"])) == MEANS
    assert means(scoreline.evaluate(None, str(path), ["rouge"])) == MEANS


def test_files_by_system_hold_questions_and_answers(tmp_path: Path) -> None:
    for name in "ab":
        rows = [{**row, "system": name} for row in ROWS if row["system"] == name]
        write(tmp_path / f"{name}.csv", [{**row, "note": "x"} for row in rows])
    pattern = tmp_path / "{system}.csv"
    assert means(scoreline.evaluate(pattern, evaluators=["rouge"])) == MEANS
    files = {name: tmp_path / f"{name}.csv" for name in "ab"}
    assert means(scoreline.evaluate(None, files, ["rouge"])) == MEANS


def test_lists_and_other_names_in_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "ragas.csv"
    path.write_text(
        "user_input,retrieved_contexts,response,gold\n"
        "A?,\"['one', 'two']\",one,one\nB?,\"['three']\",four,two\n",
        "utf-8",
    )
    columns = {"questions": {"gold": "expected_answer"}}
    found = scoreline.evaluate(path, evaluators=["rouge"], columns=columns)
    assert means(found) == {"system": 0.5}
    contexts = found.sql("SELECT contexts FROM predictions ORDER BY question_id")
    assert contexts["contexts"].to_list() == [["one", "two"], ["three"]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{**ROWS[0]}, {**ROWS[0], "answer": "x"}], r"r\.jsonl:2: a second .*r\.jsonl:1;"),
        ([ROWS[0], {**ROWS[2], "expected_answer": "z"}], r"r\.jsonl:2: the question differs"),
        ([ROWS[0], {**ROWS[1], "latency_s": -1}], r"r\.jsonl:2: latency_s"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, rows: list[dict[str, Any]], message: str) -> None:
    path = write(tmp_path / "r.jsonl", rows)
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(path, evaluators=["rouge"])


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    write(tmp_path / "results.csv", ROWS)
    message = r"result\.csv: no such file; did you mean 'results\.csv'\?"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(tmp_path / "result.csv", evaluators=["rouge"])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["rouge"], r"\['rouge'\]"),
        (("rouge", "citation"), r"\['rouge', 'citation'\]"),
        ("rouge", r"\['rouge'\]"),
        ({"rouge": {"words": "stemmed"}}, r"\{'rouge': \{'words': 'stemmed'\}\}"),
    ],
)
def test_evaluators_as_second_argument_are_named(given: Any, shown: str) -> None:
    message = f"predictions: .* these look like evaluators: pass evaluators={shown}"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(ROWS, given)


@pytest.mark.parametrize("convert", [list, pl.DataFrame])
def test_rows_without_an_answer_are_an_error(convert: Any) -> None:
    rows = convert([{"prompt": "A?", "gold": "x", "output": "x"}])
    message = r"no column `answer`.*; not used: 'prompt', 'gold', 'output'; if 'output' is "
    message += r"the answer, pass columns=\{\"predictions\": \{\"output\": \"answer\"\}\}"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(rows, evaluators=["rouge"])


def test_columns_of_answers_by_system_are_checked() -> None:
    row = {"question": "A?", "expected_answer": "x", "anwser": "x", "latency_s": 1.0, "z": 1}
    message = r"predictions\['a'\]: no column `answer`.*; not used: 'anwser', 'z'; if 'anwser' is"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(None, {"a": [row]}, ["rouge"])


@pytest.mark.parametrize(
    "answer",
    [
        {"label": "x"},
        {"retrieved": [{"doc_id": "d"}]},
        {"contexts": ["x"]},
        {"error": "timeout"},
        {"answer": None},
        {"messages": [{"role": "assistant", "content": "x"}]},
    ],
)
def test_other_columns_of_answers_are_enough(answer: dict[str, Any]) -> None:
    row = {"question": "A?", "expected_answer": "x", **answer}
    assert len(scoreline.evaluate([row], evaluators=["rouge"]).leaderboard)


@pytest.mark.parametrize("name", ["model", "provider", "run"])
def test_a_column_that_may_name_the_system_is_offered(name: str) -> None:
    rows = [{name if key == "system" else key: value for key, value in row.items()} for row in ROWS]
    message = r"a second prediction of 'system' for question 'q001'.*no column `system`.*"
    message += rf"'{name}' names it, pass columns=\{{\"predictions\": \{{\"{name}\": \"system\"\}}"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(rows, evaluators=["rouge"])
    named = scoreline.evaluate(
        rows, evaluators=["rouge"], columns={"predictions": {name: "system"}}
    )
    assert means(named) == MEANS


def test_a_system_of_none_among_others_is_named() -> None:
    rows = [ROWS[0], {**ROWS[1], "system": None}]
    with pytest.raises(scoreline.ScorelineError) as raised:
        scoreline.evaluate(rows, evaluators=["rouge"])
    assert str(raised.value).startswith("predictions[1]: system: missing; name it in every row")
    assert "path" not in str(raised.value)


@pytest.mark.parametrize("model", ["recoded:x.jsonl", "record:x", "Recorded:x", "recording:x"])
def test_a_judge_that_may_be_recorded_replies(model: str) -> None:
    message = r"judge\.model: .*did you mean 'recorded:"
    with pytest.raises(scoreline.ScorelineError, match=message):
        scoreline.evaluate(ROWS, evaluators=["answer_correctness"], judge=model)
