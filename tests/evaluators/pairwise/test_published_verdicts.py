"""JudgeBench through the evaluator: recorded verdicts give the published counts of each judge."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from assets.leaderboard.system_metrics import pair_rows
from evaluators.catalog import build
from evaluators.flows.protocols import Engines
from evaluators.kinds.pairwise import is_paired
from evaluators.library.pairwise.pairwise_judge import PREFER
from evaluators.score_grid import aggregation_rows
from evaluators.scoring import aggregate_systems, score, unpack_evidence
from tests.support.samples import samples
from tests.support.scripted_judge import Scripted
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

BETTER = {"A>B": "first", "B>A": "second", "A=B": "tie"}


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def pairs(shared: Path) -> list[dict[str, Any]]:
    return rows(shared / "data/judgebench/pairs.jsonl.gz")


@pytest.fixture(scope="module")
def decisions(shared: Path) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for row in rows(shared / "data/judgebench/decisions.jsonl.gz"):
        verdicts = [BETTER[judgment["decision"]] for judgment in row["judgments"]]
        found.setdefault(row["judge"], {})[row["pair_id"]] = verdicts
    return found


def published(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "data/judgebench/figures.csv").open(encoding="utf-8") as file:
        return {row["judge"]: row for row in csv.DictReader(file) if row["category"] == "all"}


@takes_minutes
def test_recorded_verdicts(
    shared: Path, pairs: list[dict[str, Any]], decisions: dict[str, dict[str, list[str]]]
) -> None:
    figures = published(shared)
    assert figures.keys() == decisions.keys()
    for judge, recorded in decisions.items():
        counted = play(pairs, recorded)
        row = figures[judge]
        n, changed = int(row["n"]), int(row["inconsistent"])
        assert (counted["n_judged"], counted["n_changed"]) == (n, changed)
        assert counted["prefers_first"] + counted["prefers_second"] == changed
        # `right` is the answer that the label prefers; one win and one tie are a tie here.
        assert counted["wins_b"] == int(row["both_correct"])
        assert counted["wins_a"] + counted["wins_b"] + counted["ties"] == n
        assert counted["order_bias"] == pytest.approx(changed / n)
        assert counted["win_rate"] == pytest.approx((counted["wins_b"] + counted["ties"] / 2) / n)


def play(pairs: list[dict[str, Any]], recorded: dict[str, list[str]]) -> dict[str, Any]:
    """Let the systems `right` and `mistaken` compete; return the pair's counts and the means."""
    said, given = {}, {"right": [], "mistaken": []}
    for pair in pairs:
        a, b = pair["response_A"], pair["response_B"]
        for (first, second), better in zip(
            ((a, b), (b, a)), recorded[pair["pair_id"]], strict=True
        ):
            prompt = PREFER.prompt(
                question=pair["question"], first_answer=first, second_answer=second
            )
            said[prompt] = {"reasoning": "recorded", "better": better}
        right, mistaken = (a, b) if pair["label"] == "A>B" else (b, a)
        for system, own, other, text in (
            ("right", right, "mistaken", mistaken),
            ("mistaken", mistaken, "right", right),
        ):
            given[system].append(
                {
                    "system": system,
                    "question_id": pair["pair_id"],
                    "question": pair["question"],
                    "answer": own,
                    "opponents": [{"system": other, "answer": text}],
                }
            )
    evaluator = build("pairwise_judge")
    assert is_paired(evaluator)
    engines = Engines(judge=Scripted(lambda request: said[request.prompt]))
    by_system = {}
    for system, own in given.items():
        frame = score(evaluator, samples(own), engines).frame
        unpacked = unpack_evidence(evaluator, aggregation_rows(evaluator, frame))
        by_system[system] = unpacked.with_columns(question=pl.col("question_id").hash())
    found = aggregate_systems(evaluator, by_system)
    (counted,) = pair_rows("b", evaluator, found.paired).rows(named=True)
    means = by_system["right"].select(pl.col("win_rate", "order_bias").mean()).row(0, named=True)
    return {**counted, **means}
