"""One rule for ties, ranks and repeated documents, whatever the format of a ranking."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import scoreline
from tests.warehouse.ingesting import ingest_predictions, ingest_questions
from warehouse.errors import InputError
from warehouse.ingest import plan
from warehouse.ingest.fast_path import NotFastPath
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

TIED = [("d1", 2.0), ("d2", 2.0), ("d10", 2.0), ("é", 2.0), ("d4", 3.0), ("d2", 1.0)]
ORDER = ["d4", "é", "d2", "d10", "d1", "d2"]
"""By score, then by id as bytes, both descending: é is after all ASCII, d2 after d10."""


def refuse(*_: object) -> list[Any]:
    raise NotFastPath("by the test")


def canonical(path: Path, items: list[dict[str, Any]]) -> Path:
    row = {"question_id": "q", "retrieved": items}
    match path.suffix:
        case ".jsonl":
            path.write_text(json.dumps(row) + "\n")
        case ".json":
            path.write_text(json.dumps([row]))
        case ".csv":
            pl.DataFrame([row | {"retrieved": json.dumps(items)}]).write_csv(path)
        case ".parquet":
            pl.DataFrame([row]).write_parquet(path)
    return path


def order_of(folder: Path, format_name: str, path: Path) -> list[str]:
    warehouse = Warehouse(folder / "w.duckdb")
    asked: dict[str, Any] = {"questions": [folder / "questions.jsonl"]}
    if format_name == "trec":
        (folder / "qrels").write_text("q 0 d1 1\n")
        asked["questions"] = [folder / "qrels"]
    elif format_name == "beir":
        (folder / "test.tsv").write_text("q\td1\t1\n")
        (folder / "queries.jsonl").write_text('{"_id": "q", "text": "?"}\n')
        asked["questions"] = [folder / "test.tsv", folder / "queries.jsonl"]
    else:
        asked["questions"][0].write_text('{"question_id": "q"}\n')
        format_name = "canonical"
    ingest_questions(warehouse, benchmark="b", format=format_name, **asked)
    ingest_predictions(warehouse, benchmark="b", format=format_name, files=[(path, "s")])
    found = warehouse.fetch("SELECT retrieved_doc_ids FROM predictions").item()
    return list(found)


def ranking(folder: Path, form: str) -> Path:
    path = folder / f"run.{form}"
    if form == "trec":
        lines = (f"q Q0 {name} {at} {score} s\n" for at, (name, score) in enumerate(TIED))
        path.write_text("".join(lines))
        return path
    if form == "beir":
        path = folder / "run.json"
        # A JSON object has no repeated key.
        path.write_text(json.dumps({"q": dict(TIED[:5])}))
        return path
    return canonical(path, [{"doc_id": name, "score": score} for name, score in TIED])


@pytest.mark.parametrize(
    ("form", "route"),
    [
        ("jsonl", "fast"),
        *((form, "row by row") for form in ("jsonl", "json", "csv", "parquet", "trec", "beir")),
    ],
)
def test_ties_are_ordered_by_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, route: str
) -> None:
    if route == "row by row":
        monkeypatch.setattr(plan, "scan_predictions", refuse)
    found = order_of(tmp_path, form, ranking(tmp_path, form))
    assert found == (ORDER[:5] if form == "beir" else ORDER)


@pytest.mark.parametrize(
    ("form", "route"), [("jsonl", "fast"), ("jsonl", "row by row"), ("csv", "row by row")]
)
@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ([1, 0], "retrieved[1].rank: expected a number of at least 1, found the number 0"),
        ([0], "retrieved[0].rank: expected a number of at least 1"),
        ([1, 3, 3], "retrieved.rank: expected each rank once, found 3 again"),
    ],
)
def test_ranks_count_from_one_and_differ(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ranks: list[int],
    said: str,
    form: str,
    route: str,
) -> None:
    if route == "row by row":
        monkeypatch.setattr(plan, "scan_predictions", refuse)
    items = [{"doc_id": f"d{at}", "rank": rank} for at, rank in enumerate(ranks)]
    path = canonical(tmp_path / f"s.{form}", items)
    with pytest.raises(InputError) as caught:
        order_of(tmp_path, form, path)
    assert said in str(caught.value)


def test_passages_without_ids_keep_their_order_in_ties(tmp_path: Path) -> None:
    items = [{"text": text, "score": 1.0} for text in "bca"]
    path = canonical(tmp_path / "s.jsonl", items)
    (tmp_path / "q.jsonl").write_text('{"question_id": "q"}\n')
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingest_questions(warehouse, benchmark="b", format="canonical", questions=[tmp_path / "q.jsonl"])
    ingest_predictions(warehouse, benchmark="b", format="canonical", files=[(path, "s")])
    assert list(warehouse.fetch("SELECT contexts FROM predictions").item()) == ["b", "c", "a"]


def test_the_metrics_of_a_tied_ranking() -> None:
    questions = [{"question_id": "q", "gold_doc_ids": ["d1", "d2"]}]
    items = [{"doc_id": name, "score": score} for name, score in TIED]
    found = scoreline.evaluate(
        questions,
        {"s": [{"question_id": "q", "retrieved": items}]},
        evaluators=["document_retrieval"],
    )
    values = dict(found.scores.select("metric", "value").iter_rows())
    # d4, é, d2 (a hit at 3), d10, d1 (a hit at 5); the second d2 does not count.
    assert values["mrr"] == 1 / 3
    assert values["map"] == pytest.approx((1 / 3 + 2 / 5) / 2, abs=1e-15)
