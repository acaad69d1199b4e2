"""Leaderboards and significance tests from publications, reproduced from their numbers."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evaluators import catalog, scoring
from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.jackknife import assign_parts, pseudo_values
from evaluators.statistics.ranks import rank_sets
from evaluators.text import bleu as text
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

UNIT = (0.0, 1.0)
BASELINE = "LIUM-NMT.4900"


def alpaca(shared: Path) -> tuple[list[str], np.ndarray]:
    """The models, and the probability that each wins: (instructions, models)."""
    path = shared / "data/alpaca_eval/win_probability.csv.gz"
    frame = pl.read_csv(gzip.decompress(path.read_bytes())).drop("instruction_id", "dataset")
    return frame.columns, frame.cast(pl.Float64).to_numpy()


def test_alpaca_eval(shared: Path) -> None:
    models, values = alpaca(shared)
    data = sum_by_cluster(values, Groups())
    found = dict(zip(models, zip(data.means, data.std_errors, data.n, strict=True), strict=True))
    with (shared / "data/alpaca_eval/figures_leaderboard.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == len(models)
    for row in published:
        mean, error, n = found[row["model"]]
        assert n == int(row["n_total"])
        assert mean * 100 == pytest.approx(float(row["win_rate"]), abs=1e-6)
        expected = float(row["standard_error"])
        assert error * 100 == pytest.approx(expected, abs=1e-6), row["model"]


def test_alpaca_eval_rank_sets_agree_with_the_verdicts(shared: Path) -> None:
    models, values = alpaca(shared)
    pairs = every_pair(len(models))
    compared = compare(values, Groups(), pairs, best="high", pass_fail=False, bounds=UNIT)
    low, high = rank_sets(compared.outcomes, np.ones(len(models), dtype=bool))
    ranks = stats.rankdata(-np.nanmean(values, axis=0), method="min")
    assert ((low <= ranks) & (ranks <= high)).all()
    better, worse = np.zeros((2, len(models)), dtype=int)
    for (a, b), verdict in zip(compared.pairs.tolist(), compared.verdict, strict=True):
        if verdict in {"better", "worse"}:
            ahead, behind = (a, b) if verdict == "better" else (b, a)
            better[behind] += 1
            worse[ahead] += 1
    assert (low == 1 + better).all()
    assert (high == len(models) - worse).all()


@pytest.fixture(scope="module")
def translated(shared: Path) -> dict[str, tuple[float, np.ndarray]]:
    """BLEU of each system on the tokens as given, and its pseudo-values by part of the segments."""
    with gzip.open(shared / "data/mt_wmt17/newstest2017_en_de.jsonl.gz", "rt") as file:
        segments = [json.loads(line) for line in file]
    evaluator = catalog.build("bleu", {})
    references = [text.reference_of([segment["reference"].split()]) for segment in segments]
    parts = assign_parts(np.arange(len(segments), dtype=np.uint64))
    found = {}
    for name in segments[0]:
        if not name.startswith("sys:"):
            continue
        tallies = [
            text.tally(reference, segment[name].split())
            for reference, segment in zip(references, segments, strict=True)
        ]
        details = [
            json.dumps(
                {"right": one.right, "words": one.length, "reference_words": one.reference_length}
            )
            for one in tallies
        ]
        rows = pl.DataFrame({"detail": details, "status": "scored", "failed": False})
        unpacked = scoring.unpack_evidence(evaluator, rows)
        graded = scoring.aggregate_unpacked(evaluator, unpacked)
        pseudo = pseudo_values(evaluator, unpacked, parts, graded)["corpus_bleu"]
        found[name.removeprefix("sys:")] = float(graded.scores["corpus_bleu"]), pseudo
    return found


def published(shared: Path) -> dict[str, dict[str, str]]:
    with (shared / "data/mt_wmt17/figures.csv").open(encoding="utf-8") as file:
        return {row["system"]: row for row in csv.DictReader(file)}


@takes_minutes
def test_wmt17_bleu(shared: Path, translated: dict[str, tuple[float, np.ndarray]]) -> None:
    figures = published(shared)
    assert set(figures) == set(translated)
    for system, (score, pseudo) in translated.items():
        assert score == pytest.approx(float(figures[system]["bleu_tok_none"]), abs=5e-5)
        assert pseudo.mean() == pytest.approx(score)


@takes_minutes
def test_wmt17_significance(shared: Path, translated: dict[str, tuple[float, np.ndarray]]) -> None:
    figures = published(shared)
    for system, row in figures.items():
        if system == BASELINE:
            continue
        values = np.stack([translated[system][1], translated[BASELINE][1]], axis=1)
        ours = compare(values, Groups(), np.array([[0, 1]]), best="high", pass_fail=False)
        theirs = [
            float(row[name])
            for name in ("moses_bootstrap_p_vs_baseline", "multeval_ar_p_bleu_vs_baseline")
        ]
        # Both programs agree with each other on every decision. Ours does not assume that what was
        # not seen is like what was seen, so it finds less: all that is clear, and nothing else.
        assert len({p < 0.05 for p in theirs}) == 1
        is_significant = ours.p_value[0] < 0.05
        assert not is_significant or theirs[0] < 0.05, (system, ours.p_value, theirs)
        assert is_significant or max(theirs) > 0.001, (system, ours.p_value, theirs)
