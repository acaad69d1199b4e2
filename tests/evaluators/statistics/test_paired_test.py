"""The test of a mean difference: exact cases, skewed differences, and its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import integrate, stats

from benchmarks.simulations.ranks import has_winner
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import Comparisons, compare, every_pair
from evaluators.statistics.paired_test import PairedTest, least_p, paired_test
from evaluators.statistics.ranks import rank_sets
from evaluators.statistics.weighted_sums import below_zero_p
from tests.support.services import takes_minutes

UNIT = (0.0, 1.0)
UNBOUNDED = (-np.inf, np.inf)


def column(numbers: list[float] | np.ndarray) -> np.ndarray:
    return np.asarray(numbers, dtype=np.float64)[:, None]


def pair_test(differences: np.ndarray, reach: float = 1.0) -> PairedTest:
    return paired_test(differences, np.ones_like(differences), np.full(differences.shape[1], reach))


def compared(
    differences: np.ndarray, bounds: tuple[float, float] = UNIT, level: float = 0.5
) -> Comparisons:
    """Compare each column of differences as a pair of its own family."""
    trials = differences.shape[1]
    pairs = np.stack([np.arange(trials), trials + np.arange(trials)], axis=1)
    values = np.hstack([level + differences, np.full_like(differences, level)])
    return compare(
        values, Groups(), pairs, best="high", pass_fail=False, bounds=bounds, families=trials
    )


def share_of_verdicts(found: Comparisons) -> float:
    return float(np.mean([verdict in ("better", "worse") for verdict in found.verdict]))


@pytest.mark.parametrize(("gains", "loss"), [([1.0, 2.0], 1.0), ([0.3, 0.5, 0.7, 2.0], 3.0)])
def test_the_probability_of_a_weighted_sum_is_that_of_an_integral(
    gains: list[float], loss: float
) -> None:
    """P(sum of gains <= loss * E) is the product of 1 / (1 + gain / loss)."""
    expected = float(np.prod([1 / (1 + gain / loss) for gain in gains]))
    assert below_zero_p(column([-loss, *gains]))[0] == pytest.approx(expected, rel=1e-9)


def test_repeated_numbers_are_gamma_distributed() -> None:
    # P(Gamma(7) <= 0.4 Gamma(3)): a beta distribution.
    expected = stats.beta(7, 3).cdf(0.4 / 1.4)
    found = below_zero_p(column([1.0, -0.4]), column([7.0, 3.0]))[0]
    assert found == pytest.approx(expected, rel=1e-9)
    apart = below_zero_p(column([1.0] * 7 + [-0.4] * 3))[0]
    assert apart == pytest.approx(expected, rel=1e-6)


@given(arrays.arrays(float, (5,), elements=st.floats(-1, 1)))
def test_sums_of_five_numbers(numbers: np.ndarray) -> None:
    """By Gil-Pelaez's inversion of the characteristic function."""
    a = np.r_[numbers, -1.0]
    if np.abs(a).min() < 0.05 or a.max() <= 0:
        return

    def integrand(t: float) -> float:
        return float((np.prod(1 / (1 - 1j * t * a)) / t).imag)

    expected = 0.5 - integrate.quad(integrand, 0, 400, limit=2000)[0] / np.pi
    assert below_zero_p(a[:, None])[0] == pytest.approx(expected, abs=1e-5)


@given(st.integers(0, 40), st.integers(0, 40))
def test_passes_and_failures_have_mcnemars_p(gained: int, lost: int) -> None:
    values = column(np.r_[np.ones(gained), -np.ones(lost), np.zeros(5)])
    expected = stats.binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
    for pass_fail in (True, False):
        found = paired_test(values, np.ones_like(values), np.ones(1), pass_fail=pass_fail)
        assert found.difference_p()[0] == pytest.approx(expected, rel=1e-5)


def test_the_interval_of_passes_is_clopper_and_pearsons() -> None:
    values = column(np.r_[np.ones(3), np.zeros(17)])
    found = paired_test(values, np.ones_like(values), np.ones(1), pass_fail=True)
    # Only gains: the upper end is exact; the lower allows for losses, too.
    exact = stats.binomtest(3, 20).proportion_ci(method="exact")
    low, high = found.interval(0.025)
    assert high[0] == pytest.approx(exact.high, abs=1e-6)
    assert low[0] < exact.low


@takes_minutes
@given(arrays.arrays(float, (9, 4), elements=st.floats(-1, 1)))
def test_p_interval_and_verdict_agree(differences: np.ndarray) -> None:
    for bounds in ((-2.0, 2.0), UNBOUNDED):
        found = compared(differences, bounds, level=0.0)
        is_known = np.isfinite(found.low)
        excludes = (found.low > 0) | (found.high < 0)
        clear = np.abs(found.p_value - 0.05) > 1e-5
        assert (excludes == (found.p_value < 0.05))[is_known & clear].all()
        decided = np.isin(found.verdict, ("better", "worse"))
        assert (decided == (found.p_value < 0.05)).all()


@pytest.mark.parametrize("jitter", [0.0, 1e-12, 1e-6])
def test_24_of_24_questions_better_by_the_same_amount(jitter: float) -> None:
    differences = 0.2 + jitter * np.random.default_rng(1).normal(size=(24, 1))
    found = compared(differences)
    # 24 gains of 0.2 and an unseen loss of 1: 1.2 ** -24, twice.
    assert found.p_value[0] == pytest.approx(2 * 1.2**-24, rel=1e-4)
    assert found.verdict == ["better"]
    assert found.low[0] > 0
    fewer = compared(differences[:15])
    assert (fewer.verdict, fewer.p_value[0] > 0.05, fewer.low[0] < 0) == (["tied"], True, True)
    unbounded = compared(differences, UNBOUNDED)
    assert (unbounded.verdict[0] == "not_enough_data") == (jitter < 1e-9)


@pytest.mark.parametrize(
    ("name", "n", "mean"),
    [("exp(1.5 z)", 40, np.exp(1.125)), ("lognormal", 30, np.exp(0.5)), ("exponential", 10, 1.0)],
)
def test_skewed_differences_give_few_false_verdicts(name: str, n: int, mean: float) -> None:
    generator = np.random.default_rng(n)
    spread = {"exp(1.5 z)": 1.5, "lognormal": 1.0}.get(name)
    drawn = (
        generator.exponential(size=(n, 500))
        if spread is None
        else np.exp(spread * generator.normal(size=(n, 500)))
    )
    for sign in (1, -1):
        # Three standard errors above 5 %; sign flips had 12 to 21 %.
        found = compared(sign * (drawn - mean), UNBOUNDED, level=0.0)
        assert share_of_verdicts(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize("n", [30, 100, 500])
@pytest.mark.parametrize("jitter", [0.0, 1e-3])
def test_rare_catastrophes_give_few_false_verdicts(n: int, jitter: float) -> None:
    """One percent lose 0.495 and the others gain 0.005: no difference in the mean."""
    generator = np.random.default_rng(n)
    drawn = np.where(generator.random((n, 300)) < 0.01, -0.495, 0.005)
    drawn += jitter * generator.normal(size=drawn.shape)
    assert share_of_verdicts(compared(drawn)) <= 0.05


@takes_minutes
def test_no_false_winner_among_equal_systems_of_which_one_has_catastrophes() -> None:
    generator = np.random.default_rng(3)
    covered = won = 0
    for _ in range(100):
        level = 0.5 + 0.4 * generator.random((60, 1))
        values = level + generator.normal(0, 0.005, (60, 3))
        values[:, 2] += np.where(generator.random(60) < 0.01, -0.495, 0.005)
        found = compare(
            values.clip(0, 1), Groups(), every_pair(3), best="high", pass_fail=False, bounds=UNIT
        )
        everyone = np.ones(3, dtype=bool)
        covered += bool((rank_sets(found.outcomes, everyone).low == 1).all())
        won += has_winner(found.outcomes)
    assert covered >= 95
    assert won <= 5


def test_a_clear_difference_is_found() -> None:
    drawn = np.random.default_rng(4).normal(0.1, 0.2, (100, 200)).clip(-1, 1)
    assert share_of_verdicts(compared(drawn)) > 0.9


def test_large_families_decide_what_small_ones_decide() -> None:
    """Above 500 pairs, p-values above 0.05 are only computed for the wanted pairs."""
    generator = np.random.default_rng(5)
    values = np.clip(
        generator.random((80, 1)) * 0.5
        + np.linspace(0, 0.4, 34)
        + generator.normal(0, 0.1, (80, 34)),
        0,
        1,
    )
    pairs = every_pair(34)
    wanted = (pairs == 3).any(axis=1)
    every = compare(values, Groups(), pairs, best="high", pass_fail=False, bounds=UNIT)
    some = compare(
        values, Groups(), pairs, best="high", pass_fail=False, bounds=UNIT, is_wanted=wanted
    )
    assert len(pairs) > 500
    assert (every.outcomes.signs == some.outcomes.signs).all()
    assert np.count_nonzero(some.outcomes.signs) > 100
    # An adjusted p that is not significant may be larger than Holm's.
    decided = every.p_adjusted[wanted] < 0.05
    assert some.p_adjusted[decided] == pytest.approx(every.p_adjusted[wanted][decided], rel=1e-6)
    assert (some.p_adjusted >= every.p_adjusted[wanted] * (1 - 1e-6)).all()
    for name in ("low", "high", "p_value", "detectable"):
        ours, theirs = getattr(some, name), getattr(every, name)[wanted]
        assert ours == pytest.approx(theirs, rel=1e-6), name
    assert some.verdict == [every.verdict[at] for at in np.flatnonzero(wanted)]


def test_many_questions_are_put_into_bins() -> None:
    differences = np.random.default_rng(6).normal(0.003, 0.2, (9_000, 2)).clip(-1, 1)
    binned = pair_test(differences)
    whole = PairedTest(differences, np.ones_like(differences), np.ones(2))
    assert len(binned.sums) < 9_000
    assert binned.difference_p() == pytest.approx(whole.difference_p(), rel=1e-3)
    assert np.array(binned.interval(0.025)) == pytest.approx(
        np.array(whole.interval(0.025)), abs=1e-5
    )


def test_the_least_p_needs_all_questions() -> None:
    assert least_p(np.ones((6, 1)))[0] == pytest.approx(2 / 2**6)
    # Nine small clusters weigh less than the large one: 2 / (2 * 1.1 ** 9).
    assert least_p(column([10.0, *[1.0] * 9]))[0] == pytest.approx(1.1**-9)
    assert least_p(np.ones((7, 1)), bounded=False)[0] == pytest.approx(2 * 0.6**7)
