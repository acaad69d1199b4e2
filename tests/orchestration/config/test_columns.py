"""`columns` and `tags` in the configuration: mistakes are named with their line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from orchestration.config.load import load_config
from orchestration.errors import SettingsError
from warehouse.formats.columns import Columns, Conversion

if TYPE_CHECKING:
    from pathlib import Path

TOP = """
benchmarks:
  t:
    predictions: p/{system}.csv
    evaluators: [rouge]
"""


def load(tmp_path: Path, keys: str) -> Columns:
    file = tmp_path / "scoreline.yaml"
    file.write_text(TOP + "".join(f"    {line}\n" for line in keys.splitlines()))
    return load_config(file).project.benchmarks["t"].columns


def test_columns_and_tags_are_read(tmp_path: Path) -> None:
    keys = """questions: q.csv
columns: {questions: {query: question}, predictions: {response: answer}}
tags: [lang, dataset, lang]"""
    assert load(tmp_path, keys) == Columns(
        questions={"query": "question"},
        predictions={"response": "answer"},
        tags=("lang", "dataset"),
    )
    # The files of answers have the questions, too.
    ragas = "format: ragas\ncolumns: {predictions: {q: question, model: system}}"
    assert load(tmp_path, ragas).predictions == {"q": "question", "model": "system"}


def test_a_column_may_be_in_another_unit(tmp_path: Path) -> None:
    keys = """questions: q.csv
columns: {predictions: {latency_ms: {to: latency_s, scale: 0.001}}}"""
    assert load(tmp_path, keys).predictions == {"latency_ms": Conversion("latency_s", 0.001)}


@pytest.mark.parametrize(
    ("keys", "line", "said"),
    [
        (
            "questions: q.csv\ncolumns: {predictions: {ms: {to: latency, scale: 0.001}}}",
            7,
            "unknown field 'latency' (did you mean 'latency_s'?)",
        ),
        (
            "questions: q.csv\ncolumns: {predictions: {reply: {to: answer, scale: 2}}}",
            7,
            "'answer' holds no number: expected one of cost_usd, ended_at, latency_s, noise_ratio",
        ),
        (
            "questions: q.csv\ncolumns: {predictions: {ms: {to: latency_s, scale: 0}}}",
            7,
            "benchmarks.t.columns.predictions.ms.scale: input should be greater than 0",
        ),
        (
            "questions: q.csv\ncolumns: {questions: {query: questoin}}",
            7,
            "unknown field 'questoin' (did you mean 'question'?): expected one of question_id, ",
        ),
        (
            "questions: q.csv\ncolumns: {predictions: {a: answer, b: answer}}",
            7,
            "'a' and 'b' are both 'answer': expected one column",
        ),
        (
            "format: trec\nquestions: q\ncolumns: {questions: {query: question}}",
            8,
            "the format 'trec' has names of its own: remove this key, which is for 'canonical'",
        ),
        (
            "format: ragas\ncolumns: {questions: {query: question}}",
            7,
            "the format 'ragas' has questions in the prediction files: name their columns in ",
        ),
        (
            "questions: q.csv\ntags: [lang, doc_id]",
            7,
            "'doc_id' is a field of questions, expected another column",
        ),
        ("questions: q.csv\ncolumns: {question: {}}", 7, "unknown key 'question' (did you mean"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, keys: str, line: int, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, keys)
    (fault,) = caught.value.faults
    assert (fault.line, fault.message[: len(said)]) == (line, said)


def test_columns_may_be_optional_and_of_one_system(tmp_path: Path) -> None:
    keys = """questions: q.csv
columns:
  predictions:
    docs: {to: retrieved.doc_id, separator: ";"}
    ms: {to: latency_s, scale: 0.001, optional: true}
  systems: {north: {reply: answer}}"""
    columns = load(tmp_path, keys)
    assert columns.predictions == {
        "docs": Conversion("retrieved.doc_id", separator=";"),
        "ms": Conversion("latency_s", 0.001, optional=True),
    }
    assert columns.predictions_of("north").keys() == {"docs", "ms", "reply"}
    assert columns.predictions_of("south").keys() == {"docs", "ms"}


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (
            "columns: {predictions: {ids: retrieved.docid}}",
            "unknown field 'retrieved.docid' (did you mean 'retrieved.doc_id'?)",
        ),
        (
            "columns: {predictions: {a: {to: answer, separator: ';'}}}",
            "'answer' is not a list: expected one of",
        ),
        (
            "columns: {systems: {x: {a: anwser}}}",
            "unknown field 'anwser' (did you mean 'answer'?)",
        ),
        (
            "predictions: p.jsonl\ncolumns: {systems: {x: {a: answer}}}",
            "expected {system} in the path of 'predictions', which tells the systems apart",
        ),
    ],
)
def test_mistakes_in_lists_and_systems(
    tmp_path: Path, keys: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if keys.startswith("predictions"):
        monkeypatch.setitem(globals(), "TOP", TOP.replace("    predictions: p/{system}.csv\n", ""))
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, f"questions: q.csv\n{keys}")
    assert said in str(caught.value)
