"""The published figures of a real question-answering project, row by row and as means."""

from __future__ import annotations

import csv
import json
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from evaluators import catalog
from tests.support.samples import outcomes, samples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.support.samples import Outcome

Row = dict[str, Any]
Key = tuple[str, str, str]

FIGURES = {"avg_precision": "precision", "avg_recall": "recall", "avg_f1": "f1"}


@dataclass(frozen=True)
class Published:
    """What the authors published, and the samples that they published it about."""

    rows: dict[Key, Row]
    figures: list[Row]
    samples: dict[Key, Row]

    def scored(self, evaluator: str) -> dict[Key, dict[str, Outcome]]:
        """What our evaluator makes of every sample."""
        found = outcomes(catalog.build(evaluator), samples(list(self.samples.values())))
        return dict(zip(self.samples, found, strict=True))


def _lines(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def _key(row: Row) -> Key:
    return row["split"], row["system"], row["question_id"]


@pytest.fixture(scope="module")
def published(shared: Path) -> Published:
    folder = shared / "data" / "grounded_qa"
    if not folder.is_dir():
        pytest.skip(f"the project's data is missing: {folder}")
    documents = {
        row["doc_id"]: [{"sentence_id": s["sid"], "text": s["text"]} for s in row["sentences"]]
        for row in _lines(folder / "gold_documents.jsonl")
    }
    questions = {(q["split"], q["question_id"]): q for q in _lines(folder / "questions.jsonl")}
    found = {}
    for output in _lines(folder / "outputs.jsonl"):
        # As the authors did: what a system does not give counts as empty.
        question = questions[output["split"], output["question_id"]]
        retrieved = sorted(output["retrieved_docs"] or [], key=lambda document: document["rank"])
        found[_key(output)] = {
            "benchmark": output["split"],
            "system": output["system"],
            "question_id": output["question_id"],
            "gold_doc_ids": [question["gold_doc_id_in_published_eval"]],
            "gold_sentence_ids": question["evidence_sentences"],
            "document_sentences": documents[question["doc_id"]],
            "retrieved_doc_ids": [document["doc_id"] for document in retrieved],
            "cited_sentence_ids": output["evidence_sentences"] or [],
        }
    with (folder / "figures.csv").open(encoding="utf-8") as lines:
        figures = list(csv.DictReader(lines))
    rows = {_key(row): row for row in _lines(folder / "published_per_question.jsonl")}
    assert rows.keys() == found.keys()
    return Published(rows, figures, found)


def test_retrieval_of_every_row(published: Published) -> None:
    for key, given in published.scored("document_retrieval").items():
        row = published.rows[key]
        ours = (given["recall_at_1"].value, given["recall_at_5"].value)
        assert ours == (row["recall_at_1"], row["recall_at_5"]), key


def test_citations_of_every_row(published: Published) -> None:
    compared = 0
    for key, given in published.scored("citation").items():
        row = published.rows[key]
        if "f1" in row:
            compared += 1
            ours = {name: outcome.value for name, outcome in given.items()}
            theirs = {name: row[name] for name in ("precision", "recall", "f1")}
            assert ours == pytest.approx(theirs, rel=0, abs=1e-15), key
        else:
            assert {outcome.status for outcome in given.values()} == {"not_applicable"}, key
    assert compared == sum("f1" in row for row in published.rows.values()) > 100


def test_evidence_of_every_row_that_has_it(published: Published) -> None:
    found = published.scored("evidence_overlap")
    theirs = {
        key: row["evidence_score"]
        for key, row in published.rows.items()
        if row.get("evidence_score") is not None
    }
    assert len(theirs) == 87
    assert {key: found[key]["evidence_recall"].value for key in theirs} == theirs


def _of(found: dict[Key, dict[str, Outcome]], figure: Row, metric: str) -> list[float]:
    mine = (row for key, row in found.items() if key[:2] == (figure["split"], figure["system"]))
    values = (row[metric].value for row in mine)
    return [value for value in values if value is not None]


def test_the_means_of_every_system(published: Published) -> None:
    citation = published.scored("citation")
    retrieval = published.scored("document_retrieval")
    overlap = published.scored("evidence_overlap")
    assert len(published.figures) == 10
    for figure in published.figures:
        for k in (1, 5):
            hits = _of(retrieval, figure, f"recall_at_{k}")
            assert (len(hits), sum(hits)) == (int(figure["n"]), int(figure[f"recall_at_{k}"]))
        for name, metric in FIGURES.items():
            mean = statistics.fmean(_of(citation, figure, metric))
            assert mean == pytest.approx(float(figure[name]), rel=0, abs=1e-12), figure
        if figure["avg_evidence_score"]:
            mean = statistics.fmean(_of(overlap, figure, "evidence_recall"))
            assert mean == pytest.approx(float(figure["avg_evidence_score"]), rel=0, abs=1e-12)


def _reversed(rows: list[str]) -> list[str]:
    return rows[::-1]


@pytest.mark.parametrize(
    ("column", "change", "evaluator", "metric"),
    [
        ("retrieved_doc_ids", _reversed, "document_retrieval", "recall_at_1"),
        ("cited_sentence_ids", lambda cited: cited[:1], "citation", "recall"),
    ],
)
def test_other_answers_would_have_given_other_figures(
    published: Published,
    column: str,
    change: Callable[[list[str]], list[str]],
    evaluator: str,
    metric: str,
) -> None:
    changed = {key: row | {column: change(row[column])} for key, row in published.samples.items()}
    other = Published(published.rows, published.figures, changed).scored(evaluator)
    assert any(
        other[key][metric].value != given[metric].value
        for key, given in published.scored(evaluator).items()
    )
