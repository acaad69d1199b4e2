"""The published scores of a real TRACe evaluation from the replies of its judges."""

from __future__ import annotations

import csv
import gzip
import json
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.text.keys import letters
from tests.evaluators.trace.marked import documents, sentences
from tests.judges import in_turn, judged, values

if TYPE_CHECKING:
    from pathlib import Path


def test_the_published_scores_of_every_recorded_reply(shared: Path) -> None:
    folder = shared / "data" / "trace"
    if not folder.is_dir():
        pytest.skip(f"missing: {folder}")
    with gzip.open(folder / "legal_recorded_judge.jsonl.gz", "rt", encoding="utf-8") as lines:
        recorded = [json.loads(line) for line in lines]
    with (folder / "figures_legal.csv").open(encoding="utf-8") as lines:
        figures = {row["experiment_id"]: row for row in csv.DictReader(lines)}
    rows, replies = zip(*map(_replayed, recorded), strict=True)
    parameters = {"nothing_relevant": "zero"}  # the rule of that project
    scored = judged(build("trace", parameters), rows, in_turn(*replies))
    ours: dict[str, list[tuple[float, ...]]] = {}
    for place, row in enumerate(recorded):
        found = values(scored[9 * place : 9 * place + 9])
        published = row["published"]
        mine = (
            found["context_relevance"],
            found["context_utilization_of_context"],
            found["completeness"],
            found["adherence"],
        )
        theirs = tuple(
            published[name] for name in ("relevance", "utilization", "completeness", "adherence")
        )
        assert mine == theirs, (row["experiment_id"], row["dataset_index"])
        ours.setdefault(row["experiment_id"], []).append(theirs)
    assert ours.keys() == figures.keys()
    for name, scores in ours.items():
        for value, metric in zip(
            map(fmean, zip(*scores, strict=True)),
            ("relevance", "utilization", "completeness", "adherence"),
            strict=True,
        ):
            assert round(value, 4) == float(figures[name][f"published_{metric}"]), (name, metric)


def _replayed(row: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A sample with as many sentences, and the recorded reply with its answer's keys as ours."""
    labels = dict(row["judge_answer"])
    entries = [
        entry | {"response_sentence_key": letters(place)}
        for place, entry in enumerate(labels["sentence_support_information"])
    ]
    keys = [*labels["all_relevant_sentence_keys"], *labels["all_utilized_sentence_keys"]]
    sample = {
        "question": row["question"],
        "contexts": documents(row["n_total_sents"], keys),
        "answer": sentences(len(entries), "Answer"),
    }
    return sample, labels | {"sentence_support_information": entries}
