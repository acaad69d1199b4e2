"""Document-grounded QA files are read in the form in which they were published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.canonical import read_documents
from warehouse.formats.document_grounded_qa import read_predictions, read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.paths import expand
from warehouse.store import Warehouse

DATA = Path(__file__).parents[4] / "shared" / "data" / "grounded_qa"
FORMAT = "document-grounded-qa"


def table(name: str) -> list[dict[str, Any]]:
    text = (DATA / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def rebuilt(folder: Path, split: str) -> None:
    """The files of one split as the project published them."""
    questions = [row for row in table("questions") if row["split"] == split]
    by_id = {row["question_id"]: row for row in questions}
    lines = []
    for row in questions:
        kept = {key: value for key, value in row.items() if key not in {"split", "question_id"}}
        kept["gold_doc_ids"] = [kept.pop("gold_doc_id_in_published_eval")]
        lines.append(json.dumps(kept) + "\n")
    (folder / f"{split}_final_jsonl.txt").write_text("".join(lines))
    outputs: dict[str, dict[str, Any]] = {}
    for row in table("outputs"):
        if row["split"] == split:
            output = {key: row[key] for key in ("answer", "retrieved_docs", "evidence_sentences")}
            output["question"] = by_id[row["question_id"]]["question"]
            outputs.setdefault(row["system"], {})[row["question_id"]] = output
    for system, output in outputs.items():
        (folder / f"{split}_{system}_output.json").write_text(json.dumps(output, indent=1))
    (folder / "corpus").mkdir()
    for n, document in enumerate(table("gold_documents")):
        (folder / "corpus" / f"{n}.json").write_text(json.dumps(document))


@pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")
@pytest.mark.parametrize(("split", "count", "systems"), [("train", 24, 4), ("dev", 3, 6)])
def test_the_published_files(tmp_path: Path, split: str, count: int, systems: int) -> None:
    rebuilt(tmp_path, split)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    done = ingest_questions(
        warehouse,
        benchmark="b",
        format=FORMAT,
        questions=[tmp_path / f"{split}_final_jsonl.txt"],
        documents=[path for path, _ in expand(tmp_path / "corpus" / "*.json")],
    )
    assert (done.rows, done.rejected) == (count, 0)
    done = ingest_predictions(
        warehouse,
        benchmark="b",
        format=FORMAT,
        files=expand(tmp_path / f"{split}_{{system}}_output.json"),
    )
    assert (done.rows, done.rejected, done.notes) == (count * systems, 0, ())
    found = warehouse.fetch("""
        SELECT system,
            sum((retrieved_doc_ids[1] = gold_doc_ids[1])::INT) AS at_1,
            sum(list_contains(retrieved_doc_ids[:5], gold_doc_ids[1])::INT) AS at_5,
            count(cited_sentence_ids)
        FROM predictions JOIN questions USING (benchmark, question_id)
        WHERE system IN ('simple', 'strong') GROUP BY ALL ORDER BY ALL
    """).rows()
    if split == "train":
        assert found == [("simple", 14, 16, 24), ("strong", None, 0, 24)]
    assert warehouse.fetch("SELECT count(DISTINCT doc_id) FROM documents").item() == 13
    tags = warehouse.fetch("SELECT DISTINCT unnest(map_keys(tags)) FROM questions ORDER BY 1")
    assert tags.to_series().to_list() == ["edge_case_type", "question_type", "source_dataset"]


def test_questions_are_numbered_by_line_unless_they_have_an_id(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text(
        '{"question": "a", "doc_id": "d", "answer": "x", "evidence_sentences": ["S1"]}\n\n'
        '{"question": "b", "id": 7}\n{"question": "c", "question_id": "k", "id": "l"}\n'
    )
    read = [each for each in read_questions(Source(path)) if isinstance(each, Read)]
    assert [each.record.question_id for each in read] == ["q001", "7", "k"]
    first = read[0].record
    assert (first.gold_doc_ids, first.expected_answer) == (["d"], ["x"])
    assert first.gold_sentence_ids == ["S1"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("crows.json", {"sentences": ["A murder."]}),
        ("crows.json", {"source": {"page": 1}, "doc_id": None, "sentences": ["A murder."]}),
        ("crows.json", [{"sentences": ["A murder."]}]),
        ("crows.jsonl", {"sentences": [{"sid": "S1", "text": "A murder."}]}),
    ],
)
def test_a_document_without_an_id_is_called_after_its_file(
    tmp_path: Path, name: str, content: object
) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content))
    (read,) = read_documents(Source(path))
    assert isinstance(read, Read)
    assert (read.record.doc_id, read.record.numbered()) == ("crows", [("S1", "A murder.")])


def test_only_a_single_document_is_called_after_its_file(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    path.write_text('[{"sentences": ["a"]}, {"sentences": ["b"]}]')
    rejects = [each for each in read_documents(Source(path)) if isinstance(each, Reject)]
    assert ["doc_id: missing" in each.reason for each in rejects] == [True, True]
    path.write_text('{"crows": {"sentences": ["a"]}, "geese": {"sentences": ["b"]}}')
    read = [each for each in read_documents(Source(path)) if isinstance(each, Read)]
    assert [each.record.doc_id for each in read] == ["crows", "geese"]


def test_tags_that_are_none_are_refused_beside_fields_that_are(tmp_path: Path) -> None:
    path = tmp_path / "questions.txt"
    path.write_text('{"question": "a", "question_type": "A", "tags": 5}\n')
    (reject,) = read_questions(Source(path))
    assert isinstance(reject, Reject)
    assert reject.reason == "tags: expected an object, found the number 5"


def test_what_is_not_given_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"q001": {"question": "a", "answer": "x"}}')
    (read,) = read_predictions(Source(path, "s"))
    assert isinstance(read, Read)
    assert (read.record.retrieved, read.record.cited_sentence_ids, read.question_text) == (
        [],
        [],
        "a",
    )


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('{\n"q1": {"answer": 5}}', 2, "answer: expected text, found the number 5"),
        ('{"q1": {"evidence_sentences": "S1"}}', 1, "evidence_sentences: expected a list"),
        ('{"q1":\n[]}', 1, "'q1': expected a JSON object, found a list"),
        (
            '{"q1": {"retrieved_docs": [{"doc_id": "a", "score": "x"}]}}',
            1,
            "retrieved_docs[0].score: expected a number, found the text 'x'",
        ),
    ],
)
def test_a_fault_is_named_as_the_file_has_it(
    tmp_path: Path, text: str, line: int, said: str
) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    (reject,) = read_predictions(Source(path, "s"))
    assert isinstance(reject, Reject)
    assert reject.line == line
    assert said in reject.reason


@pytest.mark.parametrize(
    ("text", "line"), [('{"q1": {},\n"q2": {,}}', 2), ('{"q1": {},\n"q1": {}\n', 3), ("[1", 1)]
)
def test_broken_json_names_the_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not JSON") as caught:
        list(read_predictions(Source(path, "s")))
    assert caught.value.problems[0].line == line


def test_notes_questions_with_another_text(tmp_path: Path) -> None:
    questions, answers = tmp_path / "q.txt", tmp_path / "p.json"
    questions.write_text('{"question": "Why?"}\n{"question": "How?"}\n')
    answers.write_text('{"q001": {"question": "Why?"}, "q002": {"question": "Who?"}}')
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format=FORMAT, questions=[questions])
    done = ingest_predictions(warehouse, benchmark="b", format=FORMAT, files=[(answers, "s")])
    assert done.notes == (
        "the file of system 's' has different question texts for 1 question: 'q002'",
    )
