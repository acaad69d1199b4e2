"""Folders of BEIR are read as its own loader reads them, and ranked as trec_eval ranks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assets.fingerprints.input_files import benchmark_files
from assets.project import Benchmark
from warehouse.errors import InputError
from warehouse.formats.beir import question_files, read_questions
from warehouse.formats.format import Reject, Source
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from warehouse.ingest.result import Ingested

DATA = Path(__file__).parents[4] / "shared" / "data" / "trec"

HEADER = "query-id\tcorpus-id\tscore\n"


def write_dataset(folder: Path, *, queries: str = "", qrels: str, split: str = "test") -> None:
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    (folder / "queries.jsonl").write_text(
        queries
        or '{"_id": "1", "text": "One?", "metadata": {"url": "u"}}\n{"_id": 2, "text": "2?"}\n'
    )
    (folder / "qrels" / f"{split}.tsv").write_text(qrels)


def ingest_folder(
    folder: Path, predictions: str, split: str | None = None
) -> tuple[Warehouse, dict[Any, Ingested]]:
    benchmark = Benchmark(
        name="b",
        format="beir",
        questions=folder / "set",
        predictions=folder / predictions,
        split=split,
        evaluators=(),
    )
    warehouse = Warehouse(folder / "w.duckdb")
    return warehouse, ingest(warehouse, [benchmark_files(benchmark)])


def test_queries_judgments_corpus_and_results_are_joined(tmp_path: Path) -> None:
    write_dataset(tmp_path / "set", qrels=HEADER + "1\ta\t2\n1\tb\t0\n2\tc\t1\n")
    corpus = '{"_id": "a", "title": "Title", "text": "Text."}\n{"_id": "b", "text": "Alone."}\n'
    with gzip.open(tmp_path / "set" / "corpus.jsonl.gz", "wt") as file:
        file.write(corpus)
    results = {"1": {"x": 0.5, "a": 2, "b": 0.5, "1": 9.0}, "77": {"a": 1.0}}
    (tmp_path / "north.json").write_text(json.dumps(results))
    warehouse, done = ingest_folder(tmp_path, "{system}.json")
    questions = warehouse.fetch(
        "SELECT question_id, question, gold_doc_ids, extra FROM questions ORDER BY 1"
    ).rows()
    assert questions == [
        ("1", "One?", ["a"], '{"metadata":{"url":"u"}}'),
        ("2", "2?", ["c"], None),
    ]
    documents = warehouse.fetch("SELECT doc_id, text FROM documents ORDER BY 1").rows()
    assert documents == [("a", "Title Text."), ("b", "Alone.")]
    # By score, then by id, descending; the document with the id of the query is left out.
    ranked = warehouse.fetch(
        "SELECT question_id, retrieved_doc_ids FROM predictions ORDER BY 1"
    ).rows()
    assert ranked == [("1", ["a", "x", "b"]), ("2", [])]
    assert done["b", "predictions"].notes == (
        "system 'north' did not answer 1 question: '2'",
        "system 'north' answers unknown questions, which are ignored: 1 question: '77'",
    )


def test_the_split_names_the_judgments(tmp_path: Path) -> None:
    write_dataset(tmp_path / "set", qrels=HEADER + "1\ta\t1\n")
    write_dataset(tmp_path / "set", qrels=HEADER + "2\ta\t1\n", split="dev")
    (tmp_path / "s.run").write_text("2 Q0 a 1 3.0 tag\n")
    warehouse, _ = ingest_folder(tmp_path, "{system}.run", "dev")
    assert warehouse.fetch("SELECT question_id FROM questions").rows() == [("2",)]
    with pytest.raises(InputError, match="no judgments of the split 'devel'; did you mean 'dev'"):
        ingest_folder(tmp_path, "{system}.run", "devel")


def test_changed_queries_are_read_again(tmp_path: Path) -> None:
    write_dataset(tmp_path / "set", qrels=HEADER + "1\ta\t1\n")
    (tmp_path / "s.run").write_text("1 Q0 a 1 3.0 tag\n")
    ingest_folder(tmp_path, "{system}.run")
    _, again = ingest_folder(tmp_path, "{system}.run")
    assert again["b", "questions"].unchanged
    assert again["b", "predictions"].unchanged
    write_dataset(
        tmp_path / "set", queries='{"_id": "1", "text": "New?"}', qrels=HEADER + "1\ta\t1\n"
    )
    warehouse, _ = ingest_folder(tmp_path, "{system}.run")
    assert warehouse.fetch("SELECT question FROM questions").item() == "New?"


def test_a_pattern_of_several_folders_is_refused(tmp_path: Path) -> None:
    for name in ("set", "set-b"):
        write_dataset(tmp_path / name, qrels=HEADER + "1\ta\t1\n")
    (tmp_path / "north.run").write_text("1 Q0 a 1 0.5 north\n")
    benchmark = Benchmark(
        name="b",
        format="beir",
        questions=tmp_path / "set*",
        predictions=tmp_path / "{system}.run",
        evaluators=(),
    )
    said = (
        f"expected one folder, as 'beir' reads one dataset; found {tmp_path}/set, {tmp_path}/set-b"
    )
    with pytest.raises(InputError) as raised:
        benchmark_files(benchmark)
    assert [each.message for each in raised.value.problems] == [said]
    for path in (tmp_path / "set-b").rglob("*.*"):
        path.unlink()
    (tmp_path / "set-b" / "qrels").rmdir()
    (tmp_path / "set-b").rmdir()
    assert len(benchmark_files(benchmark).questions) == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1\ta", "expected query-id, corpus-id and score, separated by tabs, found 2 fields"),
        ("1 0 a 1", "expected query-id, corpus-id and score, separated by tabs, found 1 fields"),
        ("1\tb\tgood", "expected a whole number as score, found 'good'"),
        ("1\ta\t2", "document 'a' is judged twice for query '1'"),
        ("9\ta\t2", "query '9' is not in queries.jsonl"),
    ],
)
def test_a_malformed_judgment_names_its_line(tmp_path: Path, line: str, reason: str) -> None:
    write_dataset(tmp_path, qrels=f"{HEADER}1\ta\t1\n{line}\n")
    first, *beside = question_files(tmp_path, None)
    read = list(read_questions(Source(first, beside=tuple(beside))))
    assert [(each.line, each.reason) for each in read if isinstance(each, Reject)] == [(3, reason)]


@pytest.mark.parametrize(
    ("results", "system", "expected"),
    [
        (
            '{"1": {"a": "high"}}',
            "{system}",
            "expected a number for 'a', found the text 'high'",
        ),
        ('{"1": ["a"]}', "{system}", "'1': expected scores by document, found a list"),
        ('{"1": {"": 1.0}}', "{system}", "retrieved[0].doc_id: expected text"),
        (f'{{"1": {{"a": {10**400}}}}}', "{system}", "is too large"),
        (f'{{"{"x" * 9}": {{"a\\u0000": 1}}}}', "{system}", "text without control characters"),
        ('[{"1": 2}]', "{system}", "expected an object of scores by query and document"),
        ('{"1": {"a": 1.0}}', "north", "expected {system} in the path"),
        ('{"1": {"a": 1.0, "a": 2.0}}', "{system}", "the key 'a' occurs twice"),
    ],
)
def test_malformed_results_are_refused(
    tmp_path: Path, results: str, system: str, expected: str
) -> None:
    write_dataset(tmp_path / "set", qrels=HEADER + "1\ta\t1\n")
    (tmp_path / "north.json").write_text(results)
    with pytest.raises(InputError) as raised:
        ingest_folder(tmp_path, f"{system}.json")
    assert expected in str(raised.value)
    assert "north.json" in str(raised.value)


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")
def test_the_same_judgments_and_run_are_read_as_by_trec(tmp_path: Path) -> None:
    judged = [line.split() for line in (DATA / "compat.qrels").read_text().splitlines()]
    topics = sorted({each[0] for each in judged})
    write_dataset(
        tmp_path / "set",
        queries="".join(json.dumps({"_id": topic, "text": "?"}) + "\n" for topic in topics),
        qrels=HEADER + "".join(f"{each[0]}\t{each[2]}\t{each[3]}\n" for each in judged),
    )
    results: dict[str, dict[str, float]] = {}
    for topic, _, document, _, score, _ in (
        line.split() for line in (DATA / "compat.run").read_text().splitlines()
    ):
        results.setdefault(topic, {})[document] = float(score)
    (tmp_path / "north.json").write_text(json.dumps(results))
    warehouse, _ = ingest_folder(tmp_path, "{system}.json")
    files = BenchmarkFiles(
        benchmark="t",
        format="trec",
        questions=[DATA / "compat.qrels"],
        predictions=[(DATA / "compat.run", "north")],
    )
    ingest(warehouse, [files])
    for table, columns in (
        ("questions", "question_id, gold_relevance, gold_doc_ids"),
        ("predictions", "question_id, retrieved_doc_ids, retrieved_scores"),
    ):
        sql = f"SELECT {columns} FROM {table} WHERE benchmark = $benchmark ORDER BY 1"
        beir, trec = (warehouse.fetch(sql, {"benchmark": name}).rows() for name in "bt")
        assert len(beir) == len(topics)
        assert beir == trec
