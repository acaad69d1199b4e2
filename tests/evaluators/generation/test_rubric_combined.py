"""Rubric and evidence combined: the weighted mean, worked out and as published."""

from __future__ import annotations

import csv
import json
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from evaluators.catalog import build
from evaluators.errors import BadParameters
from tests.support.samples import Outcome, outcomes, samples
from tests.support.samples import values as of_row
from tests.support.scripted_judge import by_form, judged, values
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ANSWER, EVIDENCE = "rubric_judge.answer_score", "evidence_overlap.evidence_recall"
TYPES: dict[str, Any] = {
    ANSWER: pl.Float64,
    f"status:{ANSWER}": pl.String,
    EVIDENCE: pl.Float64,
    f"status:{EVIDENCE}": pl.String,
}


def _combined(
    answer: float | str, evidence: float | str, parameters: Any = None, **more: Any
) -> Outcome:
    row = more | {
        part if isinstance(given, float) else f"status:{part}": given
        for part, given in ((ANSWER, answer), (EVIDENCE, evidence))
    }
    (found,) = outcomes(build("rubric_combined", parameters or {}), samples([row], **TYPES))
    return found["combined"]


@pytest.mark.parametrize(
    ("weight", "value"),
    [(0.5, 0.7), (1.0, 0.8), (0.0, 0.6), (0.25, 0.65)],  # golden: the first
)
def test_weighted_mean(weight: float, value: float) -> None:
    assert _combined(0.8, 0.6, {"answer_weight": weight}).value == pytest.approx(value)


def test_the_means_of_a_data_set_combine_likewise() -> None:
    assert _combined(2.58 / 5, 0.0833).value == pytest.approx(0.29965)


@pytest.mark.parametrize("weight", [-0.1, 1.1])
def test_a_weight_is_a_share(weight: float) -> None:
    with pytest.raises(BadParameters, match="answer_weight"):
        build("rubric_combined", {"answer_weight": weight})


def test_the_missing_part_is_named() -> None:
    assert _combined("parse_failure", 0.6) == Outcome(
        None, "parse_failure", f"{ANSWER}: parse_failure"
    )
    assert _combined(0.8, "not_applicable") == Outcome(
        None, "not_applicable", f"{EVIDENCE}: not_applicable"
    )
    assert _combined(0.0, 0.0, error="timeout") == Outcome(0.0, "scored", "target_error")


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines)


def _published(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every published row that a judge graded, and the sample that it is about."""
    questions = {(q["split"], q["question_id"]): q for q in _lines(folder / "questions.jsonl")}
    documents = {
        row["doc_id"]: [{"sentence_id": s["sid"], "text": s["text"]} for s in row["sentences"]]
        for row in _lines(folder / "gold_documents.jsonl")
    }
    outputs = {
        (row["split"], row["system"], row["question_id"]): row
        for row in _lines(folder / "outputs.jsonl")
    }
    for row in _lines(folder / "published_per_question.jsonl"):
        if "judge_score" not in row:
            continue
        question = questions[row["split"], row["question_id"]]
        output = outputs[row["split"], row["system"], row["question_id"]]
        yield (
            row,
            {
                "question": question["question"],
                "expected_answers": [question["answer"]],
                "rubric": json.dumps(question["rubric"]),
                "answer": output["answer"],
                "gold_sentence_ids": question["evidence_sentences"],
                "cited_sentence_ids": output["evidence_sentences"] or [],
                "document_sentences": documents[question["doc_id"]],
            },
        )


@takes_minutes
def test_the_published_grades_give_the_published_scores(shared: Path) -> None:
    folder = shared / "data" / "grounded_qa"
    if not folder.is_dir():
        pytest.skip(f"missing: {folder}")
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for row, sample in _published(folder):
        said = {
            "reasoning": row["judge_rationale"],
            "missing": [],
            "incorrect": [],
            "score": row["judge_score"],
        }
        grade = values(judged(build("rubric_judge"), sample, by_form(Grade=said)))
        evidence = of_row(build("evidence_overlap"), sample)["evidence_recall"]
        assert grade["answer_score"] is not None
        assert evidence is not None
        combined = _combined(grade["answer_score"], evidence).value
        assert combined == pytest.approx(row["combined_score"], rel=0, abs=1e-12)
        assert grade["raw_score"] is not None
        assert combined is not None
        mine = found.setdefault((row["split"], row["system"]), [])
        mine.append((grade["raw_score"], evidence, combined))
    with (folder / "figures.csv").open(encoding="utf-8") as lines:
        figures = [row for row in csv.DictReader(lines) if row["avg_judge_score"]]
    assert {(row["split"], row["system"]) for row in figures} == set(found)
    for row in figures:
        mine = found[row["split"], row["system"]]
        assert len(mine) == int(row["n"])
        means = [fmean(column) for column in zip(*mine, strict=True)]
        names = ("avg_judge_score", "avg_evidence_score", "avg_combined_score")
        assert means == pytest.approx([float(row[name]) for name in names], rel=0, abs=1e-12)
