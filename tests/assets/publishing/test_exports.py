"""Exports of a real project: its published per-question results and averages come back."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
import pytest

from assets.project import Benchmark
from assets.publishing.exports.archive import escape_formulas, write_archive
from assets.publishing.exports.document_qa import (
    DocumentQaResults,
    distinct_split,
    gather_results,
    split_name,
)
from assets.publishing.exports.document_qa_summary import format_summary
from assets.publishing.exports.predictions import write_predictions
from evaluators import catalog
from tests.assets.conftest import materialise, project_in, write
from tests.assets.test_grounded_qa import write_files
from warehouse.ingest.ingest import ingest
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.publish.parquet import write_parquet
from warehouse.publish.snapshot import FILE_NAME, Snapshot
from warehouse.schema.tables import TABLES
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

    from tests.assets.conftest import Workshop

EVALUATORS = ("document_retrieval", "citation", "evidence_overlap")


def _gathered(home: Path, benchmark: Benchmark) -> DocumentQaResults:
    """Publish a project of one benchmark, and read its results for the export."""
    project = project_in(home, benchmark)
    with dg.DagsterInstance.ephemeral() as instance:
        materialise(project, instance)
    with Snapshot(project.publish / FILE_NAME).open() as copy:
        return gather_results(copy, benchmark, split_name(benchmark))


@pytest.fixture(scope="module")
def train(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> DocumentQaResults:
    source = shared / "data" / "grounded_qa"
    if not source.is_dir():
        pytest.skip(f"the project's data is missing: {source}")
    home = tmp_path_factory.mktemp("train")
    write_files(source, home)
    for other in ("extension1", "extension3"):
        (home / f"train_{other}_output.json").unlink()
    benchmark = Benchmark(
        name="grounded",
        format="document-grounded-qa",
        questions=home / "train_final_jsonl.txt",
        documents=home / "corpus" / "*.json",
        predictions=home / "train_{system}_output.json",
        evaluators=tuple(catalog.build(name) for name in EVALUATORS),
    )
    return _gathered(home, benchmark)


def test_every_published_row_comes_back(train: DocumentQaResults, shared: Path) -> None:
    path = shared / "data" / "grounded_qa" / "published_per_question.jsonl"
    compared = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["split"] != "train" or row["system"] not in train.results:
            continue
        found: dict[str, Any] = {}
        for part in train.results[row["system"]].values():
            for each in part["per_question"]:
                if each["question_id"] == row["question_id"]:
                    found |= each
        for name in ("recall_at_1", "recall_at_5", "precision", "recall", "f1"):
            if name in row:
                assert found[name] == pytest.approx(row[name], abs=1e-12)
                compared += 1
    assert compared == 2 * (24 * 2 + 22 * 3)


def test_results_have_the_keys_of_the_original_scripts(train: DocumentQaResults) -> None:
    assert train.file_name == "train_evaluation.json"
    assert list(train.results) == ["simple", "strong"]
    retrieval, citation = train.results["simple"].values()
    assert list(retrieval) == [
        *("recall_at_1", "recall_at_5", "total", "per_question"),
        *("recall_at_1_pct", "recall_at_5_pct"),
    ]
    assert (retrieval["recall_at_1"], retrieval["recall_at_5"], retrieval["total"]) == (14, 16, 24)
    assert list(citation) == [
        *("total_questions", "questions_with_evidence", "precision_sum", "recall_sum", "f1_sum"),
        *("per_question", "avg_precision", "avg_recall", "avg_f1"),
    ]


def test_the_summary_equals_the_printed_one(train: DocumentQaResults, shared: Path) -> None:
    """Compare with the lines of the source's page that need no judge."""
    page = (shared / "reference" / "document-grounded-qa.md").read_text(encoding="utf-8")
    example = page.split("produces:")[1].split("```")[1].strip("\n").split("\n")
    judged = example.index("LLM_JUDGE EVALUATION RESULTS") - 2
    expected = example[:judged] + example[-4:]
    expected = [line for line in expected if not line.startswith("Loaded predictions")]
    files = {name: f"train_{name}_output.json" for name in train.results}
    shown = format_summary(train, "NLP Project Data/train_final_jsonl.txt", files).split("\n")
    assert [line for line in shown if line] == [line for line in expected if line]


def test_the_summary_with_a_judge(shared: Path) -> None:
    page = (shared / "reference" / "document-grounded-qa.md").read_text(encoding="utf-8")
    example = page.split("produces:")[1].split("```")[1].strip("\n").split("\n")
    judged = {
        "total_questions": 24,
        "questions_with_rubrics": 24,
        "lambda_weight": 0.5,
        "avg_answer_score": 62 / 24,
        "avg_evidence_score": 2 / 24,
        "avg_combined_score": 0.3,
    }
    evaluation = DocumentQaResults("train", 24, {"strong": {"llm_judge": judged}}, {"strong": 24})
    shown = format_summary(evaluation, "x", {}).split("\n")
    start = shown.index("LLM_JUDGE EVALUATION RESULTS") - 1
    assert shown[start:] == example[example.index("LLM_JUDGE EVALUATION RESULTS") - 1 :]
    assert "Loaded predictions for 24 questions" in shown
    judged |= {"per_question": [{"answer_score_raw": 5}, {"answer_score_raw": None}]}
    shown = format_summary(evaluation, "x", {}).split("\n")
    (line,) = [line for line in shown if "without a Score" in line]
    assert line.startswith("Questions without a Score: 1, left out (the script counts 0")


def test_each_of_several_answers_stands_beside_their_means(tmp_path: Path) -> None:
    questions = [
        {"question_id": q, "gold_doc_ids": ["d1"], "gold_sentence_ids": ["S1"]} for q in "ab"
    ]
    found = {"a": [("d1", ["S1"]), ("d2", ["S3", "S2"])], "b": [("d2", ["S2"]), ("d1", [])]}
    answers = [
        {
            "question_id": q,
            "repeat": at,
            "retrieved": [{"doc_id": doc}],
            "cited_sentence_ids": cited,
        }
        for q, given in found.items()
        for at, (doc, cited) in enumerate(given)
    ]
    write(tmp_path / "q.jsonl", questions)
    write(tmp_path / "by-rag.jsonl", answers)
    benchmark = Benchmark(
        name="b",
        questions=tmp_path / "q.jsonl",
        predictions=tmp_path / "by-{system}.jsonl",
        evaluators=tuple(catalog.build(name) for name in EVALUATORS[:2]),
    )
    results = _gathered(tmp_path, benchmark)
    retrieval, citation = results.results["rag"].values()
    assert [row["retrieved_top_1"] for row in retrieval["per_question"]] == [
        ["d1", "d2"],
        ["d2", "d1"],
    ]
    assert [row["recall_at_1"] for row in retrieval["per_question"]] == [0.5, 0.5]
    assert [row["pred_sentences"] for row in citation["per_question"]] == [
        [["S1"], ["S2", "S3"]],
        [["S2"], []],
    ]
    assert [row["precision"] for row in citation["per_question"]] == [0.5, 0]
    assert results.loaded == {"rag": 2}


def test_parquet_of_every_table(published: Workshop, tmp_path: Path) -> None:
    paths = write_parquet(Snapshot(published.project.publish / FILE_NAME), tmp_path, "trial")
    assert {path.stem for path in paths} == set(TABLES)
    scores = pl.read_parquet(tmp_path / "scores.parquet")
    assert set(scores["benchmark"]) == {"trial"}
    assert scores.height == len(published.scores())
    empty = write_parquet(
        Snapshot(published.project.publish / FILE_NAME), tmp_path, "it's; DROP TABLE scores"
    )
    assert pl.read_parquet(empty[0]).is_empty()


def test_the_archive_has_every_evaluator_and_is_reproducible(
    workshop: Workshop, tmp_path: Path
) -> None:
    workshop.questions = [
        {**row, "question_id": f"@{row['question_id']}"} for row in workshop.questions
    ]
    for rows in workshop.predictions.values():
        rows[:] = [{**row, "question_id": f"@{row['question_id']}"} for row in rows]
    configuration = workshop.home / "scoreline.yaml"
    configuration.write_text(
        "alerts:\n  webhook: https://chat.example/hooks/abc # ours\n", encoding="utf-8"
    )
    workshop.run()
    with Snapshot(workshop.project.publish / FILE_NAME).open() as copy:
        path = write_archive(copy, "trial", tmp_path, configuration)
        first = path.read_bytes()
        assert write_archive(copy, "trial", tmp_path, configuration).read_bytes() == first
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        for evaluator in ("citation", "classification", "document_retrieval"):
            place = f"evaluators/{evaluator}"
            assert {
                f"{place}/leaderboard.{form}" for form in ("json", "csv", "md", "html")
            } <= names
            assert {f"{place}/results.parquet", f"{place}/results.csv"} <= names
        assert "evaluators/classification/system_scores.json" in names
        assert {"scoreline.yaml", "versions.json", "README.txt", "leaderboard.html"} <= names
        cells = [
            cell
            for name in names
            if name.endswith(".csv")
            for row in csv.reader(io.StringIO(archive.read(name).decode()))
            for cell in row
        ]
        board = json.loads(archive.read("leaderboard.json"))
        assert archive.read("scoreline.yaml") == b"alerts:\n  webhook: REDACTED # ours\n"
    assert any(cell.startswith("'@q") for cell in cells)
    assert not [cell for cell in cells if cell[:1] in "=+@\t\r" and cell]
    assert {row["benchmark"] for row in board} == {"trial"}


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1"])
def test_text_like_formulas_is_escaped_and_numbers_are_not(text: str) -> None:
    frame = pl.DataFrame({"text": [text, "plain", None], "number": [-1.5, 2.0, None]})
    assert escape_formulas(frame).rows() == [(f"'{text}", -1.5), ("plain", 2.0), (None, None)]


@pytest.mark.parametrize(
    ("questions", "predictions", "split"),
    [
        ("dev_final_jsonl.txt", "dev_{system}_output.json", "dev"),
        ("questions.jsonl", "test_{system}_output.json", "test"),
        ("questions.jsonl", "{system}.json", "trial"),
    ],
)
def test_a_split_is_named_after_its_files(
    tmp_path: Path, questions: str, predictions: str, split: str
) -> None:
    benchmark = Benchmark(
        name="trial",
        questions=tmp_path / questions,
        predictions=tmp_path / predictions,
        evaluators=(),
    )
    assert split_name(benchmark) == split


def test_no_two_benchmarks_share_a_results_file(tmp_path: Path) -> None:
    def benchmark(name: str, split: str = "") -> Benchmark:
        predictions = f"{split}_{{system}}_output.json" if split else "{system}.json"
        return Benchmark(
            name=name,
            questions=tmp_path / "questions.jsonl",
            predictions=tmp_path / name / predictions,
            evaluators=(),
        )

    alone = [benchmark("only", "train")]
    assert [distinct_split(each, alone) for each in alone] == ["train"]
    several = [
        benchmark("first", "train"),
        benchmark("second", "train"),
        benchmark("Dev", "upper"),
        benchmark("other", "DEV"),
        benchmark("third", "test"),
        benchmark("fourth", "third"),
        benchmark("Plain"),
    ]
    names = [distinct_split(each, several) for each in several]
    assert names == ["first", "second", "upper", "other", "test", "fourth", "Plain"]
    assert len({name.lower() for name in names}) == len(names)


@pytest.mark.parametrize("name", ["README.txt", "Leaderboard.json", "versions.json"])
def test_a_configuration_overwrites_no_file_of_the_archive(
    published: Workshop, tmp_path: Path, name: str
) -> None:
    configuration = tmp_path / name
    configuration.write_text("publish: published\n", encoding="utf-8")
    with published.project.open_copy().open() as copy:
        archive = write_archive(copy, "trial", tmp_path / "out", configuration)
    with zipfile.ZipFile(archive) as files:
        names = [each.lower() for each in files.namelist()]
        assert len(set(names)) == len(names)
        assert files.read(f"configuration/{name}") == configuration.read_bytes()


def test_predictions_keep_numbers_of_more_than_64_bits(tmp_path: Path) -> None:
    arguments = {"x": 2**70}
    fields = {
        "messages": [{"role": "assistant", "tool_calls": [{"name": "f", "arguments": arguments}]}],
        "reported": {"y": 2**70},
    }
    asked, answers = tmp_path / "q.jsonl", tmp_path / "s.jsonl"
    asked.write_text('{"question_id": "q"}\n', encoding="utf-8")
    answers.write_text(json.dumps({"question_id": "q", **fields}) + "\n", encoding="utf-8")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files = BenchmarkFiles(
        benchmark="b", format="canonical", questions=[asked], predictions=[(answers, "s")]
    )
    ingest(warehouse, [files])
    (file,) = write_predictions(warehouse, "b", [], tmp_path / "out")
    row = json.loads(file.read_text(encoding="utf-8"))
    assert {name: row[name] for name in fields} == fields
