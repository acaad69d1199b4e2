"""Judgements and runs are read and ordered as trec_eval does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.trec import read_predictions, read_questions
from warehouse.store import Warehouse

DATA = Path(__file__).parents[4] / "shared" / "data" / "trec"
real = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data are not here")


def ranked(path: Path, text: str) -> list[str | None]:
    path.write_text(text)
    (path.parent / "qrels").write_text("t 0 a 1\n")
    warehouse = Warehouse(path.parent / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="trec", questions=[path.parent / "qrels"])
    ingest_predictions(warehouse, benchmark="b", format="trec", files=[(path, None)])
    found: list[str | None] = warehouse.fetch("SELECT retrieved_doc_ids FROM predictions").item()
    return list(found)


@pytest.mark.parametrize(
    ("lines", "order"),
    [
        (["a 1 2.0", "b 2 3.0"], ["b", "a"]),
        (["a 1 1", "c 2 1", "b 3 1"], ["c", "b", "a"]),
        (["a 1 -1e-3", "b 9 -2"], ["a", "b"]),
        (["Z 1 1", "a 2 1", "é 3 1"], ["é", "a", "Z"]),
        # As 32-bit numbers these are equal.
        (["a 1 1.00000001", "b 2 1.0"], ["b", "a"]),
        (["a 1 1.0000001", "b 2 1.0"], ["a", "b"]),
        (["a 1 1e300", "b 2 1e39", "c 3 1e38", "d 4 -1e300"], ["b", "a", "c", "d"]),
        # A repeated document stays; metrics count it once, at its best place.
        (["a 1 1", "b 2 2", "a 3 3"], ["a", "b", "a"]),
    ],
)
def test_a_run_is_ordered_by_score_then_by_id_descending(
    tmp_path: Path, lines: list[str], order: list[str]
) -> None:
    text = "".join(f"t Q0 {doc} {rank} {score} tag\n" for doc, rank, score in map(str.split, lines))
    assert ranked(tmp_path / "run", text) == order


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 0 d", "expected topic iter document grade, found 3 fields"),
        ("1 0 d 1 2", "expected topic iter document grade, found 5 fields"),
        ("1 0 d x", "expected a whole number as grade, found 'x'"),
        ("1 0 a 1", "document 'a' is judged twice for topic '1'"),
    ],
)
def test_a_malformed_judgement_names_its_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(f"# comment\n1 0 a 1\n\n{line}\n")
    rejects = [each for each in read_questions(Source(path)) if isinstance(each, Reject)]
    assert [(each.line, each.reason) for each in rejects] == [(4, said)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 Q0 d 1 2.0", "found 5 fields"),
        ("1 Q0 d 1 nan tag", "expected a finite number as score, found 'nan'"),
        ("1 Q0 d 1 high tag", "expected a finite number as score, found 'high'"),
    ],
)
def test_a_malformed_line_of_a_run_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "run"
    path.write_text(f"1 Q0 a 1 3.0 tag\n{line}\n")
    (reject,) = [each for each in read_predictions(Source(path)) if isinstance(each, Reject)]
    assert reject.line == 2
    assert said in reject.reason


def test_the_path_names_the_system_or_else_the_tag(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 3.0 tag\n")
    for system in ("s", None):
        (read,) = read_predictions(Source(path, system))
        assert isinstance(read, Read)
        assert read.record.system == (system or "tag")


def test_topics_that_only_one_side_knows(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n2 0 a 2\n")
    run.write_text("1 Q0 a 1 3.0 tag\n9 Q0 a 1 3.0 tag\n")
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="trec", questions=[qrels])
    done = ingest_predictions(warehouse, benchmark="b", format="trec", files=[(run, None)])
    assert done.rejected == 0
    assert done.notes == (
        "system 'tag' did not answer 1 question: '2'",
        "system 'tag' answers unknown questions, which are ignored: 1 question: '9'",
    )
    rows = warehouse.fetch(
        "SELECT question_id, retrieved_doc_ids, error FROM predictions ORDER BY 1"
    ).rows()
    assert rows == [("1", ["a"], None), ("2", [], None)]
    gold = warehouse.fetch("SELECT gold_doc_ids, gold_relevance FROM questions ORDER BY ALL").rows()
    assert gold[0] == (["a"], [{"doc_id": "a", "grade": 1}, {"doc_id": "b", "grade": 0}])


@real
@pytest.mark.parametrize(
    ("name", "topics", "judged"),
    [
        ("qrels.test", 3, 3681),
        ("qrels.test.with-comments", 3, 3681),
        ("qrels.rel_level", 3, 3681),
        ("compat.qrels", 2, 311),
    ],
)
def test_real_judgements_are_read(name: str, topics: int, judged: int) -> None:
    read = [each for each in read_questions(Source(DATA / name)) if isinstance(each, Read)]
    assert len(read) == topics
    assert sum(len(each.record.gold_relevance or {}) for each in read) == judged


@real
@pytest.mark.parametrize(
    ("name", "counts"),
    [("results.test.gz", [500] * 3), ("compat.run", [980, 947])],
)
def test_real_runs_are_read(name: str, counts: list[int]) -> None:
    read = [each for each in read_predictions(Source(DATA / name)) if isinstance(each, Read)]
    assert [len(each.record.retrieved or []) for each in read] == counts


def test_only_the_blanks_of_trec_eval_are_blanks(tmp_path: Path) -> None:
    name = "a\u00a0b\u3000c"
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text(f"1 0 {name} 1\n", encoding="utf-8")
    run.write_text(f"1\tQ0 {name} 7  0.5\ttag\n", encoding="utf-8")
    (judged,), (answered,) = read_questions(Source(qrels)), read_predictions(Source(run))
    assert isinstance(judged, Read)
    assert judged.record.gold_relevance == {name: 1}
    assert isinstance(answered, Read)
    (found,) = answered.record.retrieved or []
    assert (found.doc_id, found.score, answered.record.system) == (name, 0.5, "tag")


@pytest.mark.parametrize("character", ["\x1d", "\x85", "\u2028"])
def test_control_characters_in_names_are_refused(tmp_path: Path, character: str) -> None:
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text(f"1 0 a 1\n1{character} 0 b 1\n", encoding="utf-8")
    run.write_text(f"1 Q0 a 1 2 tag\n1 Q0 b{character} 2 1 tag\n", encoding="utf-8")
    for found in (read_questions(Source(qrels)), read_predictions(Source(run))):
        (reject,) = (each for each in found if isinstance(each, Reject))
        assert reject.line == 2
        assert "expected a topic and a document without control characters" in reject.reason
        assert character not in reject.reason


def test_an_unusable_tag_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_text(f"1 Q0 a 1 3.0 {'x' * 201}\n")
    with pytest.raises(InputError, match="the system's name has 201 characters"):
        list(read_predictions(Source(path)))
