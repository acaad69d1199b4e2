"""Gates with a tolerance: how often a verdict is wrong, and how often there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.arrays import LEVEL, SEED
from evaluators.statistics.mean_bounds import mean_above_p

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evaluators.statistics.arrays import Floats

    Draw = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]
    """Returns the summed gains and the sizes of n clusters, given the true mean gain."""

TOLERANCE = 0.02
SIZES = (6, 10, 20, 30, 50, 100, 200, 500)
POWER_SIZES = (100, 200, 500, 1_000, 2_000)
BEFORE = ("0.74", "0.56", "0.35", "0.23", "0.07", "", "", "")
"""What an earlier version gave for passes and failures of which 5 % are lost."""


def tables(repeats: int) -> Iterator[Table]:
    """Yield the false `unchanged`, the false `regressed`, and the power."""
    trials = max(1, repeats // 2)
    lost: list[tuple[str, Draw, float]] = [
        ("pass/fail, no gains", losses, 0.05),
        ("pass/fail, no gains", losses, 0.021),
        ("pass/fail, 5 % gains", discordant, 0.021),
        ("5 % lose 1, the others gain equally little", rare_losses, 0.021),
        ("4 % lose up to 1, the others gain a little", mixed, 0.021),
        ("uniform", uniform, 0.021),
        ("clusters of 5, correlated", equal_clusters, 0.021),
        ("clusters of 1 to 45, lost as a whole", unequal_clusters, 0.05),
        ("clusters of 1 to 45, only large ones lose", large_clusters, 0.05),
    ]
    rows = [["pass/fail, no gains: before", "0.05", *BEFORE]]
    for name, draw, loss in lost:
        found = (_shares(draw, n, -loss, -1, trials) for n in SIZES)
        rows.append([name, str(loss), *found])
    yield Table(
        f"False `unchanged`, tolerance {TOLERANCE}, by the number of clusters (at most 0.05; "
        f"{trials:,} repeats)",
        ["differences", "true loss", *map(str, SIZES)],
        rows,
    )
    at_tolerance: list[tuple[str, Draw]] = [
        ("pass/fail, no gains", losses),
        ("pass/fail, 5 % gains", discordant),
        ("5 % gain 1, the others lose equally little", rare_gains),
        ("uniform", uniform),
        ("clusters of 5, correlated", equal_clusters),
        ("clusters of 1 to 45, lost as a whole", unequal_clusters),
        ("clusters of 1 to 45, only large ones lose", large_clusters),
    ]
    yield Table(
        f"False `regressed`, true loss {TOLERANCE}, tolerance {TOLERANCE}, by the number of "
        f"clusters (at most 0.05; {trials:,} repeats)",
        ["differences", *map(str, SIZES)],
        [
            [name, *(_shares(draw, n, -TOLERANCE, 1, trials) for n in SIZES)]
            for name, draw in at_tolerance
        ],
    )
    few = max(1, repeats // 10)
    powers: list[tuple[str, Draw, float, int]] = [
        ("`unchanged`", discordant, 0.0, -1),
        ("`unchanged`", rarely_discordant, 0.0, -1),
        ("`unchanged`", uniform, 0.0, -1),
        ("`regressed`", discordant, -0.07, 1),
        ("`regressed`", discordant, -0.12, 1),
        ("`regressed`", uniform, -0.07, 1),
    ]
    names: dict[Draw, str] = {
        discordant: "pass/fail, 5 % gains",
        rarely_discordant: "pass/fail, 1 % gains",
        uniform: "uniform, 0.6 wide",
    }
    yield Table(
        f"Power, tolerance {TOLERANCE}, by the number of questions ({few:,} repeats; in brackets: "
        "Student's t, which does not hold for few questions)",
        ["verdict", "differences", "true loss", *map(str, POWER_SIZES)],
        [
            [
                verdict,
                names[draw],
                f"{abs(gain):g}",
                *(_powers(draw, n, gain, side, few) for n in POWER_SIZES),
            ]
            for verdict, draw, gain, side in powers
        ],
    )


def losses(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw passes and failures of which some are lost and none is gained."""
    return -(generator.random(n) < -gain).astype(float), np.ones(n)


def discordant(
    generator: np.random.Generator, n: int, gain: float, gained: float = 0.05
) -> tuple[Floats, Floats]:
    """Draw passes and failures of which a share is gained, and more are lost."""
    drawn = generator.random(n)
    won, lost = drawn < gained, drawn > 1 - gained + gain
    return won.astype(float) - lost, np.ones(n)


def rarely_discordant(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw passes and failures of which 1 % are gained."""
    return discordant(generator, n, gain, gained=0.01)


def rare_losses(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw scores of which 5 % are lost entirely and all others are gained a little."""
    return np.where(generator.random(n) < 0.05, -1.0, (0.05 + gain) / 0.95), np.ones(n)


def rare_gains(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw scores of which 5 % are gained entirely and all others are lost a little."""
    return np.where(generator.random(n) < 0.05, 1.0, (gain - 0.05) / 0.95), np.ones(n)


def mixed(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw small gains, and losses between 0 and 1 for 4 % of the questions."""
    share = 0.04
    large = -generator.random(n)
    small = generator.uniform(0, 2, n) * (gain + share / 2) / (1 - share)
    return np.where(generator.random(n) < share, large, small), np.ones(n)


def uniform(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw uniform differences of a width of 0.6."""
    return gain + generator.uniform(-0.3, 0.3, n), np.ones(n)


def equal_clusters(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw clusters of five; questions are lost in a tenth of them only."""
    share = np.where(generator.random(n) < 0.1, -10 * gain, 0.0)
    return -generator.binomial(5, share).astype(float), np.full(n, 5.0)


def unequal_clusters(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw clusters of 1 to 45 questions, some of which are lost as a whole."""
    sizes = generator.integers(1, 46, n).astype(float)
    return np.where(generator.random(n) < -gain, -sizes, 0.0), sizes


def large_clusters(generator: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Draw clusters of 1 to 45 questions; some with more than 30 are lost as a whole."""
    sizes = generator.integers(1, 46, n).astype(float)
    # Clusters of more than 30 have 570 / 1,035 of the questions.
    lost = (sizes > 30) & (generator.random(n) < -gain * 1035 / 570)
    return np.where(lost, -sizes, 0.0), sizes


def _shares(draw: Draw, n: int, gain: float, side: int, trials: int) -> str:
    """Return how often a loss beyond the tolerance is ruled out (-1) or found (1)."""
    return rate(sum(_decisions(draw, n, gain, side, trials)), trials)


def _decisions(draw: Draw, n: int, gain: float, side: int, trials: int) -> Sequence[bool]:
    generator = np.random.default_rng([SEED, n])
    known: dict[bytes, bool] = {}
    decisions = []
    for _ in range(trials):
        sums, counts = draw(generator, n, gain)
        key = np.unique(np.stack([sums, counts], axis=1), axis=0, return_counts=True)
        cached = key[0].tobytes() + key[1].tobytes()
        if cached not in known:
            p = mean_above_p(-side * sums, counts, 1.0, side * TOLERANCE)
            known[cached] = p <= LEVEL
        decisions.append(known[cached])
    return decisions


def _powers(draw: Draw, n: int, gain: float, side: int, trials: int) -> str:
    """Return the power, and in brackets that of a one-sided test with Student's t."""
    from scipy.stats import t

    generator = np.random.default_rng([SEED, n])
    found = 0
    for _ in range(trials):
        sums, _ = draw(generator, n, gain)
        error = sums.std(ddof=1) / n**0.5
        found += int(-side * sums.mean() - side * TOLERANCE > t.ppf(1 - LEVEL, n - 1) * error)
    return f"{sum(_decisions(draw, n, gain, side, trials)) / trials:.2f} ({found / trials:.2f})"
