"""Published agreement figures, reproduced from their ratings."""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy import stats

from evaluators.statistics.clusters import Groups, sum_by_cluster
from evaluators.statistics.judges.agreement import kappa
from evaluators.statistics.judges.judge_variance import split_variance
from evaluators.statistics.judges.krippendorff import alpha_with_interval

if TYPE_CHECKING:
    from pathlib import Path


def rows(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def figures(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_qags(shared: Path) -> None:
    expected = figures(shared / "data/qags/figures.json")
    answers = [
        [reply["response"] for reply in sentence["responses"]]
        for summary in rows(shared / "data/qags/cnndm.jsonl.gz")
        for sentence in summary["summary_sentences"]
    ]
    ratings = np.array([[float(answer == "yes") for answer in three] for three in answers]).T
    assert ratings.shape[1] == expected["sentences"]
    alpha = alpha_with_interval(ratings).value
    assert alpha == pytest.approx(expected["krippendorff_alpha_nominal"], abs=5e-5)
    # Fleiss' kappa is alpha without its correction for few ratings: 1 - (1 - alpha) n / (n - 1).
    n = ratings.size
    fleiss = 1 - (1 - alpha) * n / (n - 1)
    assert fleiss == pytest.approx(expected["fleiss_kappa"], abs=1e-4)


def test_prometheus(shared: Path) -> None:
    expected = figures(shared / "data/prometheus_vicuna/figures.json")
    judged = rows(shared / "data/prometheus_vicuna/rubric_prompts_gpt4.jsonl.gz")
    scores = np.array([row["gpt4_scores"] for row in judged], dtype=float)
    pairs = ((0, 1), (0, 2), (1, 2))
    found = [kappa(scores[:, a], scores[:, b], "quadratic") for a, b in pairs]
    assert [each.value for each in found] == pytest.approx(
        expected["quadratic_kappa_runs_12_13_23"], abs=5e-5
    )
    assert all(each.low < each.value < each.high for each in found)
    repeated = split_variance(scores)
    assert repeated is not None
    exact = np.mean(expected["exact_agreement_runs_12_13_23"])
    assert 1 - repeated.flip_rate == pytest.approx(exact, abs=5e-5)
    # Reliability is the agreement of two runs in numbers: near the mean of their correlations.
    mean = np.mean(expected["pearson_runs_12_13_23"])
    assert repeated.reliability == pytest.approx(mean, abs=0.01)


def test_judgebench(shared: Path) -> None:
    decided: dict[tuple[str, str], list[float]] = {}
    wavering: dict[str, list[list[float]]] = {}
    signs = {"A>B": 1, "B>A": -1, "A=B": 0}
    for row in rows(shared / "data/judgebench/decisions.jsonl.gz"):
        first, swapped = (signs[judgment["decision"]] for judgment in row["judgments"])
        right = signs[row["label"]]
        for category in ("all", row["category"]):
            decided.setdefault((row["judge"], category), []).append(
                float((first - swapped) * right > 0)
            )
        wavering.setdefault(row["judge"], []).append([first, -swapped])
    with (shared / "data/judgebench/figures.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == len(decided)
    for row in published:
        verdicts = np.array(decided[row["judge"], row["category"]])[:, None]
        share = sum_by_cluster(verdicts, Groups(np.arange(len(verdicts)))).means[0]
        assert share * 100 == pytest.approx(float(row["accuracy_pct"]), abs=5e-5)
        if row["category"] == "all":
            flips = split_variance(np.array(wavering[row["judge"]], dtype=float))
            assert flips is not None
            assert flips.flip_rate * flips.answers == pytest.approx(float(row["inconsistent"]))


@pytest.mark.parametrize("aspect", ["correctness", "completeness", "overall"])
def test_ragchecker(shared: Path, aspect: str) -> None:
    expected = figures(shared / "data/ragchecker/figures.json")["this_part"][aspect]
    pairs = rows(shared / "data/ragchecker/pairs.jsonl.gz")
    people = np.array([[one[aspect] for one in pair["human"]] for pair in pairs], dtype=float)
    one, other = people.T
    agreed = kappa(one, other, "quadratic")
    assert (one == other).mean() == pytest.approx(expected["annotators_equal_share"], abs=5e-5)
    within = (abs(one - other) <= 1).mean()
    assert within == pytest.approx(expected["annotators_within_1_share"], abs=5e-5)
    # Where both use the scale alike, the quadratic kappa is the correlation.
    pearson = expected["human_human_pearson_x100"] / 100
    assert agreed.value == pytest.approx(pearson, abs=0.02)
    alpha = alpha_with_interval(people.T).value
    assert alpha == pytest.approx(pearson, abs=0.02)
    gain = [pair["ragchecker2"][aspect] - pair["ragchecker1"][aspect] for pair in pairs]
    ours = stats.pearsonr(np.tile(2 * np.array(gain), 2), np.concatenate([one, other]))
    published = expected["ragchecker_pearson_x100"]
    assert ours.statistic * 100 == pytest.approx(published, abs=5e-3)
