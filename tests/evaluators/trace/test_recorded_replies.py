"""The published scores of a real TRACe evaluation from the replies of its judges."""

from __future__ import annotations

import csv
import gzip
import json
from statistics import fmean
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.engines.judge.parse import InvalidReply, parse_reply
from evaluators.sample import Sample
from evaluators.text.sentences import letters
from tests.evaluators.trace.marked import documents, sentences
from tests.support.scripted_judge import in_turn, judged, values

if TYPE_CHECKING:
    from pathlib import Path

    from evaluators.flows.requests import Ask


TRACE: Any = build("trace", {"nothing_relevant": "zero"})
"""With the rule of that project."""

WEAK = "LEGAL-EXP-012"
"""The configuration whose judge was a small model."""


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    path = shared / "data" / "trace"
    if not path.is_dir():
        pytest.skip(f"missing: {path}")
    return path


@pytest.fixture(scope="module")
def recorded(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(folder / "legal_recorded_judge.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_the_published_scores_of_every_recorded_reply(
    folder: Path, recorded: list[dict[str, Any]]
) -> None:
    with (folder / "figures_legal.csv").open(encoding="utf-8") as lines:
        figures = {row["experiment_id"]: row for row in csv.DictReader(lines)}
    rows, replies = zip(*map(_replayed, recorded), strict=True)
    scored = judged(TRACE, rows, in_turn(*replies))
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


def _asked(row: dict[str, Any]) -> tuple[Any, Ask[Any]]:
    """The flow about the real answer and the question that it puts first."""
    labels = row["judge_answer"]
    keys = [*labels["all_relevant_sentence_keys"], *labels["all_utilized_sentence_keys"]]
    flow = TRACE.flow(
        Sample(
            benchmark="b",
            system="s",
            question_id="q",
            question=row["question"],
            contexts=documents(row["n_total_sents"], keys),
            answer=row["answer"],
        )
    )
    return flow, next(flow)


def test_replies_as_they_were_given_are_understood_or_found_wanting(
    recorded: list[dict[str, Any]],
) -> None:
    """The keys are the judges' own ("a.", "1."), and the answers are cut by us, not by them."""
    understood: dict[str, list[bool]] = {}
    for row in recorded:
        flow, request = _asked(row)
        said = json.dumps(row["judge_answer"], indent=1)
        found = parse_reply(f"Here are the labels:\n```json\n{said}\n```\nDone.", request)
        understood.setdefault(row["experiment_id"], []).append(not isinstance(found, InvalidReply))
        if isinstance(found, InvalidReply):
            assert found.reason.startswith(("no verdict on", "contradictory verdicts on"))
            continue
        with pytest.raises(StopIteration) as end:
            flow.send(found)
        scores = end.value.value.scores
        published = row["published"]
        assert scores["context_relevance"] == published["relevance"]
        assert scores["context_utilization_of_context"] == published["utilization"]
        assert scores["completeness"] == published["completeness"]
    shares = {name: fmean(outcomes) for name, outcomes in understood.items()}
    weak = shares.pop(WEAK)
    assert 0 < weak < min(shares.values()) < 1


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.9])
def test_a_reply_that_is_cut_off_is_never_completed(
    recorded: list[dict[str, Any]], kept: float
) -> None:
    for row in recorded:
        if row["experiment_id"] == WEAK:
            _, request = _asked(row)
            said = json.dumps(row["judge_answer"])
            found = parse_reply(said[: int(len(said) * kept)], request)
            assert isinstance(found, InvalidReply)
            assert found.reason == "the JSON object in the reply is not complete"
