"""RAGBench's rows give questions, documents, answers and the judge's marks."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.services import takes_minutes
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Reject, Source
from warehouse.formats.trace import read_documents, read_predictions, read_questions
from warehouse.store import Warehouse

DATA = Path(__file__).parents[4] / "shared" / "data" / "trace"
ROW = {
    "id": "r1",
    "question": "What is a gaggle?",
    "documents_sentences": [[["0a", "Geese."], ["0b", "Many."]], [["1a", "Crows."]]],
    "response": "Many geese.",
    "response_sentences": [["a", "Many geese."]],
    "all_relevant_sentence_keys": ["0a", "0b"],
    "all_utilized_sentence_keys": ["0b"],
    "adherence_score": True,
}


def ingested(warehouse: Warehouse, benchmark: str, files: list[tuple[Path, str | None]]) -> None:
    ingest_questions(warehouse, benchmark=benchmark, format="trace", predictions=files)
    done = ingest_predictions(warehouse, benchmark=benchmark, format="trace", files=files)
    assert (done.rejected, done.notes) == (0, ())


@pytest.mark.parametrize("ending", ["json", "jsonl", "parquet"])
def test_a_row_becomes_question_document_and_prediction(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"s.{ending}"
    if ending == "parquet":
        parquet.write_table(pa.Table.from_pylist([ROW]), path)
    else:
        path.write_text(json.dumps([ROW] if ending == "json" else ROW))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingested(warehouse, "b", [(path, "s")])
    question = warehouse.fetch("SELECT question_id, doc_id, gold_sentence_ids FROM questions")
    assert question.rows() == [("r1", "r1", ["0a", "0b"])]
    sentences = warehouse.fetch("SELECT doc_id, sentence_id, text FROM documents ORDER BY position")
    assert sentences.rows() == [
        ("r1", "0a", "Geese."),
        ("r1", "0b", "Many."),
        ("r1", "1a", "Crows."),
    ]
    answer = warehouse.fetch("SELECT answer, contexts, cited_sentence_ids, extra FROM predictions")
    *given, extra = answer.row(0)
    assert given == ["Many geese.", ["Geese. Many.", "Crows."], ["0b"]]
    assert json.loads(extra) == {
        "adherence_score": True,
        "all_relevant_sentence_keys": ["0a", "0b"],
        "all_utilized_sentence_keys": ["0b"],
        "response_sentences": [["a", "Many geese."]],
    }


LABELS = {
    "all_relevant_sentence_keys": ["0a"],
    "all_utilized_sentence_keys": [],
    "sentence_support_information": [{"response_sentence_key": "a", "fully_supported": None}],
}


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        {"gpt_labels": LABELS},
        {"judge_answer": json.dumps(LABELS, indent=1)},
        {"raw": f"```json\n{json.dumps(LABELS)}\n```"},
    ],
)
def test_labels_stand_in_the_row_or_in_a_field_as_the_judge_wrote_them(
    tmp_path: Path, labels: dict[str, Any]
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"id": 1, "question": "Why?", "response": None, **labels}))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingested(warehouse, "b", [(path, "s")])
    question = warehouse.fetch("SELECT question_id, doc_id, gold_sentence_ids FROM questions")
    assert question.rows() == [("1", None, ["0a"])]
    answer = warehouse.fetch("SELECT answer, contexts, cited_sentence_ids, extra FROM predictions")
    *given, extra = answer.row(0)
    assert given == ["", None, []]
    assert json.loads(extra) == LABELS


@pytest.mark.parametrize(
    "sentences", [{"0a": "Geese.", "0b": "Many."}, [["0a", "Geese."], ["0b", "Many."]]]
)
def test_sentences_of_one_document(tmp_path: Path, sentences: object) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([{**ROW, "documents_sentences": sentences}]))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingested(warehouse, "b", [(path, "s")])
    found = warehouse.fetch("SELECT sentence_id, text FROM documents ORDER BY position")
    assert found.rows() == [("0a", "Geese."), ("0b", "Many.")]


def test_systems_with_documents_and_labels_of_their_own(tmp_path: Path) -> None:
    other = {**ROW, "documents_sentences": [[["0a", "Crows."]]], "all_relevant_sentence_keys": []}
    same = {**ROW, "id": "r2"}
    for name, rows in (("a", [same, ROW]), ("b", [other, same])):
        (tmp_path / f"{name}.json").write_text(json.dumps(rows))
    files: list[tuple[Path, str | None]] = [(tmp_path / f"{name}.json", name) for name in "ab"]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="trace", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="trace", files=files)
    assert done.rejected == 0
    assert "1 questions have other documents in another file, such as 'r1': they have" in str(
        done.notes
    )
    asked = "SELECT question_id, doc_id, gold_sentence_ids FROM questions ORDER BY 1"
    assert warehouse.fetch(asked).rows() == [("r1", None, None), ("r2", "r2", ["0a", "0b"])]
    assert warehouse.fetch("SELECT DISTINCT doc_id FROM documents").rows() == [("r2",)]
    own = warehouse.fetch(
        "SELECT system, extra->'$.documents_sentences' FROM predictions WHERE question_id = 'r1' "
        "ORDER BY system"
    )
    assert {system: json.loads(sentences) for system, sentences in own.rows()} == {
        "a": ROW["documents_sentences"],
        "b": [[["0a", "Crows."]]],
    }


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in ROW.items() if name not in names}


RELEVANT, SENTENCES = "all_relevant_sentence_keys", "documents_sentences"


@pytest.mark.parametrize(
    ("rows", "document", "gold", "note"),
    [
        ([ROW, without(RELEVANT)], "r1", ["0a", "0b"], None),
        ([without(RELEVANT), ROW], "r1", ["0a", "0b"], None),
        ([{**ROW, RELEVANT: None}, ROW, without(RELEVANT, SENTENCES)], "r1", ["0a", "0b"], None),
        ([without(SENTENCES), ROW], "r1", ["0a", "0b"], None),
        ([ROW, without(SENTENCES)], "r1", ["0a", "0b"], None),
        ([without(SENTENCES), without(SENTENCES)], None, ["0a", "0b"], None),
        ([ROW, {**ROW, RELEVANT: ["0b", "0a"]}], "r1", ["0a", "0b"], None),
        (
            [ROW, {**ROW, RELEVANT: ["1a"]}, without(RELEVANT)],
            "r1",
            None,
            "other relevant sentences in another file, such as 'r1': they have no gold sentences; ",
        ),
        (
            [ROW, {**ROW, SENTENCES: [[["0a", "Crows."]]]}],
            None,
            None,
            "other documents in another file, such as 'r1': they have neither a document nor gold ",
        ),
    ],
)
def test_only_what_files_have_is_compared(
    tmp_path: Path,
    rows: list[dict[str, Any]],
    document: str | None,
    gold: list[str] | None,
    note: str | None,
) -> None:
    files: list[tuple[Path, str | None]] = []
    for system, row in zip("abc", rows, strict=False):
        path = tmp_path / f"{system}.json"
        path.write_text(json.dumps([row]))
        files.append((path, system))
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="trace", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="trace", files=files)
    assert done.rejected == 0
    asked = warehouse.fetch("SELECT doc_id, gold_sentence_ids FROM questions")
    assert asked.rows() == [(document, gold)]
    assert warehouse.fetch("SELECT count(*) FROM documents").item() == (3 if document else 0)
    assert len(done.notes) == (note is not None)
    assert (note or "") in str(done.notes)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ("[" * 100_000, "nested more than 100 levels deep"),
        ('{"all_relevant_sentence_keys": [], "x": "\\ud800"}', "half of a surrogate pair"),
        ('{"all_relevant_sentence_keys": [], "x": NaN}', "NaN is not a JSON number"),
        ('{"all_utilized_sentence_keys": [], "x": 1, "x": 2}', "the key 'x' occurs twice"),
        ('{"all_utilized_sentence_keys": [}', "expecting value"),
    ],
)
def test_labels_as_text_are_strict_json(tmp_path: Path, labels: str, said: str) -> None:
    if labels.startswith("["):
        labels = f'{{"all_relevant_sentence_keys": {labels}'
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"id": "1", "question": "?", "response": "a", "labels": labels}))
    (found,) = read_predictions(Source(path, "s"))
    assert isinstance(found, Reject)
    assert found.reason.startswith("labels: expected the judge's JSON, but ")
    assert said in found.reason


def test_fences_around_labels_take_linear_time(tmp_path: Path) -> None:
    text = json.dumps({**LABELS, "x": " " * 1_000_000 + "b"})
    path = tmp_path / "s.jsonl"
    row = {"id": "1", "question": "?", "response": "a", "labels": f"```json {text} ```"}
    path.write_text(json.dumps(row))
    (found,) = read_predictions(Source(path, "s"))
    assert not isinstance(found, Reject)


def test_answers_without_stored_labels_are_counted_in_a_note(tmp_path: Path) -> None:
    plain = {name: ROW[name] for name in ("question", "response")}
    rows: list[dict[str, Any]] = [
        ROW,
        {"id": "r2", **plain},
        {"id": "r3", **plain, "all_relevant_sentence_keys": None},
        {"id": "r4", **plain, "judge": LABELS},
        {"id": "r5", **plain, "all_utilized_sentence_keys": []},
        {"id": "r6", **plain, "response": None, "error": "timed out"},
    ]
    path = tmp_path / "s.json"
    for listed, said in (
        (rows, "2 answers have no stored labels"),
        (rows[:2], "1 answer has no stored labels"),
    ):
        path.write_text(json.dumps(listed))
        source = Source(path, "s")
        list(read_predictions(source))
        (note,) = source.notes
        assert note.startswith(said)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    files: list[tuple[Path, str | None]] = [(path, "s")]
    ingest_questions(warehouse, benchmark="b", format="trace", predictions=files)
    done = ingest_predictions(warehouse, benchmark="b", format="trace", files=files)
    assert "1 answer has no stored labels" in str(done.notes)


def test_systems_must_agree_on_what_is_asked(tmp_path: Path) -> None:
    other = {**ROW, "response": "Crows.", "all_utilized_sentence_keys": []}
    for name, row in (("a", ROW), ("b", other), ("c", {**ROW, "question": "What is a gang?"})):
        (tmp_path / f"{name}.json").write_text(json.dumps([row]))
    files: list[tuple[Path, str | None]] = [(tmp_path / f"{name}.json", name) for name in "abc"]
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingested(warehouse, "two", files[:2])
    assert warehouse.fetch("SELECT count(*) FROM documents").item() == 3
    with pytest.raises(InputError) as caught:
        ingest_questions(warehouse, benchmark="three", format="trace", predictions=files)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == (tmp_path / "c.json", 1)
    first = tmp_path / "a.json"
    assert problem.message == f"question 'r1' differs from the one in {first}:1 in question"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"question": None}, "question: missing"),
        ({"id": [1]}, "id: expected text, found a list"),
        ({"response": 5}, "response: expected text, found the number 5"),
        ({"documents_sentences": "a"}, "documents_sentences: expected a list, found the text"),
        ({"sentence_support_information": {}}, "sentence_support_information: expected a list"),
        (
            {"sentence_support_information": [{"fully_supported": "no"}]},
            "sentence_support_information[0].fully_supported: expected true or false, found the",
        ),
        ({"documents_sentences": ["a"]}, "documents_sentences[0]: expected a list, found the text"),
        ({"documents_sentences": [[["0a"]]]}, "documents_sentences[0][0]: expected [key, text]"),
        (
            {"documents_sentences": [[["0a", "x"], ["0a", "y"]]]},
            "sentences[1]: the id '0a' occurs twice",
        ),
        ({"all_relevant_sentence_keys": "0a"}, "all_relevant_sentence_keys: expected a list"),
        ({"all_utilized_sentence_keys": [None]}, "all_utilized_sentence_keys[0]: expected text"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("\n" + json.dumps({**ROW, **change}))
    source = Source(path, "s")
    rejects = [
        each
        for each in (*read_questions(source), *read_predictions(source))
        if isinstance(each, Reject)
    ]
    with pytest.raises(InputError) as caught:
        ingested(Warehouse(tmp_path / "w.duckdb"), "b", [(path, "s")])
    assert {each.line for each in rejects} <= {2}
    assert {each.line for each in caught.value.problems} == {2}
    assert any(said in problem.message for problem in caught.value.problems), caught.value


def test_documents_are_read_with_the_other_rows_going_on(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({**ROW, "documents_sentences": 1}) + "\n" + json.dumps(ROW))
    first, second = read_documents(Source(path))
    assert isinstance(first, Reject)
    assert not isinstance(second, Reject)


def rebuilt(folder: Path) -> None:
    """Recorded judgements in RAGBench's form; the sentences' own words are not known."""
    files: dict[str, list[str]] = {}
    with gzip.open(DATA / "legal_recorded_judge.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            judged = row["judge_answer"]
            keys = {
                key: "?"
                for name in ("all_relevant_sentence_keys", "all_utilized_sentence_keys")
                for key in judged[name]
            }
            unmarked = row["n_total_sents"] - len(keys)
            sentences = [*keys, *(f"unmarked {number}" for number in range(unmarked))]
            files.setdefault(row["experiment_id"], []).append(
                json.dumps(
                    {
                        **judged,
                        "id": row["dataset_index"],
                        "question": row["question"],
                        "response": row["answer"],
                        "documents_sentences": [[[key, "?"] for key in sentences]],
                    }
                )
            )
    for name, lines in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")


FIGURES = """
SELECT
    benchmark,
    count(*) AS n,
    avg(len(gold_sentence_ids) / sentences) AS relevance,
    avg(len(cited_sentence_ids) / sentences) AS utilization,
    avg(coalesce(
        len(list_intersect(gold_sentence_ids, cited_sentence_ids))
        / nullif(len(gold_sentence_ids), 0),
        0
    )) AS completeness,
    avg((NOT list_contains(
        json_extract(p.extra, '$.sentence_support_information[*].fully_supported')::VARCHAR[],
        'false'
    ))::INT) AS adherence
FROM predictions AS p
INNER JOIN questions AS q USING (benchmark, question_id)
INNER JOIN (
    SELECT benchmark, doc_id, count(*) AS sentences FROM documents GROUP BY ALL
) USING (benchmark, doc_id)
GROUP BY benchmark
"""


@takes_minutes
@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")
def test_the_published_figures_of_seven_configurations(tmp_path: Path) -> None:
    rebuilt(tmp_path)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    with (DATA / "figures_legal.csv").open(encoding="utf-8") as lines:
        figures = list(csv.DictReader(lines))
    for row in figures:
        name = row["experiment_id"]
        ingested(warehouse, name, [(tmp_path / f"{name}.jsonl", name)])
    found = {row[0]: row[1:] for row in warehouse.fetch(FIGURES).iter_rows()}
    assert len(figures) == len(found) == 7
    for row in figures:
        count, *means = found[row["experiment_id"]]
        assert count == int(row["n"])
        for mean, name in zip(
            means, ("relevance", "utilization", "completeness", "adherence"), strict=True
        ):
            assert mean == pytest.approx(float(row[f"recomputed_mean_{name}"]), abs=5e-7)
            assert mean == pytest.approx(float(row[f"published_{name}"]), abs=5.1e-5)
