"""Published figures of pairwise judging, reproduced from the recorded verdicts."""

from __future__ import annotations

import csv
import gzip
import json
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from evaluators.statistics.pairwise.bradley_terry import fit_strengths
from evaluators.statistics.pairwise.existence import LOST_ALL, NOT_COMPARED
from evaluators.statistics.pairwise.verdicts import Vote, order_bias, outcome_of
from evaluators.statistics.pairwise.win_matrix import Comparisons, count_wins
from tests.evaluators.statistics.pairwise.games import chances

if TYPE_CHECKING:
    from pathlib import Path


def published(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


SIGNS: dict[str | None, Vote] = {"A>B": 1, "B>A": -1, "A=B": 0, None: 0}


def test_judgebench(shared: Path) -> None:
    """Verdicts of four judges on pairs with a right answer, in both orders."""
    verdicts: dict[tuple[str, str], list[tuple[Vote, Vote]]] = {}
    for row in rows(shared / "data/judgebench/decisions.jsonl.gz"):
        first, swapped = (SIGNS[judgment["decision"]] for judgment in row["judgments"])
        # The right answer in place of answer A.
        both = (first, swapped) if row["label"] == "A>B" else (swapped, first)
        for category in ("all", row["category"]):
            verdicts.setdefault((row["judge"], category), []).append(both)
    figures = published(shared / "data/judgebench/figures.csv")
    assert len(figures) == len(verdicts)
    for row in figures:
        found = verdicts[row["judge"], row["category"]]
        bias = order_bias(found)
        assert bias.changed is not None
        assert bias.n == int(row["n"])
        assert bias.changed * bias.n == pytest.approx(int(row["inconsistent"]))
        outcomes = [outcome_of(*both) for both in found]
        # Right in both orders is a win; the authors also count one win and one tie as right.
        assert outcomes.count(1.0) == int(row["both_correct"])
        sums = np.array([one - other for one, other in found])
        counted = [int((sums > 0).sum()), int((sums < 0).sum()), int((sums == 0).sum())]
        assert counted == [int(row[name]) for name in ("correct", "incorrect", "tie")]
        assert counted[0] / bias.n * 100 == pytest.approx(float(row["accuracy_pct"]), abs=5e-5)


@pytest.fixture(scope="module")
def alpaca(shared: Path) -> tuple[list[str], Comparisons]:
    """The models of AlpacaEval 2, and their comparisons with the baseline, the last system."""
    path = shared / "data/alpaca_eval/win_probability.csv.gz"
    frame = pl.read_csv(gzip.decompress(path.read_bytes())).drop("instruction_id", "dataset")
    chance = frame.cast(pl.Float64).to_numpy()
    question, model = np.nonzero(np.isfinite(chance))
    outcomes = (np.sign(chance[question, model] - 0.5) + 1) / 2
    baseline = np.full(len(model), len(frame.columns))
    return frame.columns, Comparisons(model, baseline, outcomes)


def test_alpaca_eval_wins(shared: Path, alpaca: tuple[list[str], Comparisons]) -> None:
    models, compared = alpaca
    matrix = count_wins(compared, len(models) + 1)
    figures = published(shared / "data/alpaca_eval/figures_leaderboard.csv")
    assert len(figures) == len(models)
    for row in figures:
        at = models.index(row["model"])
        found = [matrix.wins[at, -1], matrix.wins[-1, at], matrix.ties[at, -1]]
        assert found == [float(row[name]) for name in ("n_wins", "n_wins_base", "n_draws")]
        assert matrix.counts[at, -1] == int(row["n_total"])


def test_alpaca_eval_strengths(shared: Path, alpaca: tuple[list[str], Comparisons]) -> None:
    """All models met the baseline only, so each fitted win rate must be the observed one."""
    models, compared = alpaca
    found = fit_strengths(compared, len(models) + 1)
    assert found.reasons == (None,) * (len(models) + 1)
    every = np.arange(len(models))
    win, tie, _ = chances(found.values, found.log_ties, every, np.full_like(every, len(models))).T
    for row in published(shared / "data/alpaca_eval/figures_leaderboard.csv"):
        at = models.index(row["model"])
        rate = float(row["discrete_win_rate"])
        assert (win + tie / 2)[at] * 100 == pytest.approx(rate, abs=1e-6)
    # Without the draws, the strengths are the log-odds against the baseline.
    decided = compared.subset(compared.outcomes != 0.5)
    values, reasons, _ = fit_strengths(decided, len(models) + 1)
    for row in published(shared / "data/alpaca_eval/figures_leaderboard.csv"):
        at, won = models.index(row["model"]), int(row["n_wins"])
        lost = int(row["n_wins_base"])
        if won:
            assert values[at] - values[-1] == pytest.approx(log(won / lost), abs=1e-8)
        else:  # the baseline compared with itself, and models that won nothing
            assert reasons[at] == (LOST_ALL if lost else NOT_COMPARED)
