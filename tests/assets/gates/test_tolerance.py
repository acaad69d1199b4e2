"""Gates with a tolerance: a loss is ruled out or found at any number of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import pytest
from scipy import stats

from assets.analysis.select_metrics import select_metrics
from assets.gates.baseline_verdict import decide
from assets.gates.gains import PairedScores
from assets.gates.regression import evaluate_gate, run_tests
from assets.keys import LEADERBOARD
from evaluators.metric import Metric
from tests.assets.conftest import Workshop
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assets.gates.result import GateResult
    from evaluators.evaluator import Evaluator

SCORE = Metric(name="score", summary="A score.", primary=True)
LATENESS = Metric(name="lateness", summary="Seconds.", best="low", bounds=(0.0, 60.0))
UNBOUNDED = Metric(name="loss", summary="A loss.", best="low", bounds=(0.0, float("inf")))


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Six questions that `twin` and `old` answer alike; `new` fails all of them."""
    with dg.DagsterInstance.ephemeral() as instance:
        workshop = Workshop(tmp_path_factory.mktemp("six"), instance, last=(LEADERBOARD,))
        workshop.evaluators = {"classification": {}}
        workshop.questions = [
            {"question_id": f"q{at}", "question": f"Is it {at}?", "expected_label": "yes"}
            for at in range(6)
        ]
        workshop.predictions = {
            system: [{"question_id": f"q{at}", "answer": answer} for at in range(6)]
            for system, answer in (("old", "yes"), ("twin", "yes"), ("new", "no"))
        }
        workshop.run()
        yield workshop


def evaluated(workshop: Workshop, system: str, tolerance: float) -> GateResult:
    benchmark = workshop.project.benchmarks["trial"]
    metrics = select_metrics(benchmark, ("classification",))
    (result,) = evaluate_gate(workshop.warehouse, benchmark, system, "old", metrics, tolerance)
    return result


def test_six_identical_results_rule_out_little(six: Workshop) -> None:
    result = evaluated(six, "twin", 0.02)
    assert result.verdict == "not_enough_data"
    # 1 - 0.05 ** (1 / 6): the rule of three.
    assert (result.low, result.high) == pytest.approx((-0.393, 0.393), abs=5e-4)
    assert evaluated(six, "twin", 0.4).verdict == "unchanged"


def test_without_a_tolerance_unchanged_has_an_interval(six: Workshop) -> None:
    result = evaluated(six, "twin", 0.0)
    assert result.verdict == "unchanged"
    # Two-sided: 1 - 0.025 ** (1 / 6).
    assert (result.low, result.high) == pytest.approx((-0.459, 0.459), abs=5e-4)


def test_six_losses_are_a_regression(six: Workshop) -> None:
    for tolerance in (0.0, 0.02, 0.2):
        result = evaluated(six, "new", tolerance)
        assert (result.verdict, result.value) == ("regressed", -1.0)
        assert -1.0 == result.low < result.high < -tolerance
    assert evaluated(six, "new", 0.2).high == pytest.approx(1 - 2 * 0.05 ** (1 / 6))


def paired(gains: Any, metric: Metric = SCORE, clusters: Any = None) -> PairedScores:
    """Return scores with given gains."""
    gains = np.asarray(gains, dtype=np.float64)
    keys = np.arange(len(gains)) if clusters is None else np.asarray(clusters)
    sign = 1.0 if metric.best == "high" else -1.0
    baseline = np.full(len(gains), 0.5)
    values = np.stack([baseline + sign * gains, baseline], axis=1)
    return PairedScores(values, keys.astype(np.uint64), metric)


def verdict(scores: PairedScores, tolerance: float) -> GateResult:
    """Return the verdict on one metric."""

    class Named:
        name = "some"

    metrics: Sequence[tuple[Evaluator, Metric]] = [(Named(), scores.metric)]  # type: ignore[list-item]
    tests = [run_tests(scores, tolerance, 1)]
    (result,) = decide(("trial", "new", "old"), metrics, [scores], tests, tolerance)
    return result


@pytest.mark.parametrize("lost", [4, 5, 6, 7])
def test_without_a_tolerance_the_interval_of_passes_and_failures_agrees_with_mcnemar(
    lost: int,
) -> None:
    clusters = np.arange(60)
    values = np.ones((60, 2))
    values[:lost, 0] = 0.0
    result = verdict(PairedScores(values, clusters.astype(np.uint64), SCORE), 0.0)
    assert result.p_value == pytest.approx(2 * 0.5**lost)
    assert (result.high < 0) == (result.p_value < 0.05) == (result.verdict == "regressed")


@takes_minutes
@pytest.mark.parametrize("n", [6, 20, 50])
def test_a_rare_large_loss_is_rarely_called_unchanged(n: int) -> None:
    """Five percent of the questions lose 0.5, all others nothing: a loss of 0.025."""
    generator = np.random.default_rng(n)
    seen = {"unchanged": 0, "improved": 0}
    for _ in range(60):
        result = verdict(paired(np.where(generator.random(n) < 0.05, -0.5, 0.0)), 0.02)
        seen[result.verdict] = seen.get(result.verdict, 0) + 1
        assert -1 <= result.low <= result.value <= result.high <= 1
    assert seen["unchanged"] + seen["improved"] <= 6


def test_rare_large_gains_are_not_overlooked() -> None:
    """The loss is 0.0125 in the mean, although 19 of 20 questions lose."""
    gains = np.r_[np.full(19, -0.05), 0.7]
    assert verdict(paired(gains), 0.02).verdict == "not_enough_data"
    # The large gain was not drawn: still not a loss beyond the tolerance.
    assert verdict(paired(gains[:-1]), 0.02).verdict == "not_enough_data"


def test_whole_clusters_are_lost_or_not() -> None:
    clusters = np.repeat(np.arange(10), 50)
    result = verdict(paired(np.zeros(500), clusters=clusters), 0.02)
    assert result.verdict == "not_enough_data"
    assert result.low == pytest.approx(-(1 - 0.05 ** (1 / 10)))
    assert verdict(paired(np.zeros(500)), 0.02).verdict == "unchanged"


def test_an_unseen_cluster_may_be_as_large_as_the_largest() -> None:
    few = verdict(paired(np.zeros(21), clusters=np.r_[np.zeros(2), np.arange(1, 20)]), 0.02)
    many = verdict(paired(np.zeros(29), clusters=np.r_[np.zeros(10), np.arange(1, 20)]), 0.02)
    assert many.low < few.low


def test_low_scores_may_be_better() -> None:
    generator = np.random.default_rng(1)
    seconds = generator.uniform(0, 1, 200)
    slower = verdict(paired(-seconds - 10, LATENESS), 2.0)
    assert slower.verdict == "regressed"
    assert 2 < slower.low < slower.value < slower.high < 60
    assert verdict(paired(seconds + 10, LATENESS), 2.0).verdict == "improved"


def test_an_unbounded_scale_allows_for_differences_beyond_those_seen() -> None:
    gains = np.random.default_rng(2).normal(0, 0.1, 100)
    result = verdict(paired(gains, UNBOUNDED), 0.05)
    half = stats.t.ppf(0.95, 99) * gains.std(ddof=1) / 10
    assert result.low < -gains.mean() - half < -gains.mean() + half < result.high
    assert result.verdict == "unchanged"
    assert verdict(paired(gains - 0.2, UNBOUNDED), 0.05).verdict == "regressed"
    # Equal differences say nothing about the differences that were not drawn.
    constant = verdict(paired(np.zeros(100), UNBOUNDED), 0.05)
    assert constant.verdict == "not_enough_data"
    assert np.isnan(constant.low)


def test_a_single_cluster_has_an_interval() -> None:
    for tolerance in (0.0, 0.1):
        result = verdict(paired([0.1, 0.2], clusters=[1, 1]), tolerance)
        assert result.verdict == "not_enough_data"
        assert -1 <= result.low < result.value < result.high <= 1


def test_without_questions_nothing_is_known() -> None:
    for tolerance in (0.0, 0.1):
        result = verdict(paired([]), tolerance)
        assert (result.verdict, result.n_pairs) == ("not_enough_data", 0)
        assert np.isnan(result.value)
