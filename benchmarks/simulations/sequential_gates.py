"""Sequential gates: false alarms over many looks, and looks until an alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.arrays import LEVEL, SEED
from evaluators.statistics.mean_bounds import mean_above_p
from evaluators.statistics.sequential_test import SequentialTest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evaluators.statistics.arrays import Floats

    Night = tuple[Floats, int]
    """The gains and the epoch of a look."""
    Nights = Callable[[np.random.Generator, float], Iterator[Night]]
    """Draws the nights, given the true loss."""

LOOKS = 100
TOLERANCE = 0.02
N = 200


_known: dict[tuple[object, ...], float] = {}


class Use(NamedTuple):
    """How a gate is used."""

    name: str
    nights: Nights


def tables(repeats: int) -> Iterator[Table]:
    """Yield the false alarms over 100 looks, and the looks until an alarm."""
    trials = max(1, repeats // 5)
    uses = [
        Use("20 new pass/fail questions every night", growing),
        Use("one new pass/fail question every night", growing_slowly),
        Use("20 new questions, 5 % gain 1, the others lose equally little", growing_skewed),
        Use(f"the same {N} questions, answered again every night", answered_again),
        Use(f"{N} questions, 20 new every night, all answered again", growing_and_answered_again),
        Use(f"the same {N} questions, one in ten nights answered again", sometimes_answered_again),
    ]
    rows = []
    for use in uses:
        row = [use.name]
        for loss, side in ((0.0, 0.0), (TOLERANCE, TOLERANCE)):
            alarms = [first_alarm(use.nights, loss, side, trial) for trial in range(trials)]
            row.append(rate(sum(each is not None for each in alarms), trials))
        ruled = [
            first_alarm(use.nights, TOLERANCE, TOLERANCE, trial, rules_out=True)
            for trial in range(trials)
        ]
        row.append(rate(sum(each is not None for each in ruled), trials))
        fixed = [fixed_alarm(use.nights, trial) for trial in range(trials)]
        row.append(rate(sum(fixed), trials))
        rows.append(row)
    yield Table(
        f"False verdicts over {LOOKS} looks (at most 0.05; {trials:,} repeats)",
        [
            "use",
            "`regressed`, tolerance 0",
            f"`regressed`, tolerance {TOLERANCE}",
            f"`unchanged`, tolerance {TOLERANCE}",
            "`regressed`, tolerance 0, without `sequential`",
        ],
        rows,
    )
    few = max(1, repeats // 10)
    powers = []
    for use in (
        Use(f"{N} questions and 20 new every night", growing_from_n),
        Use(f"the same {N} questions, answered again every night", answered_again),
    ):
        for loss in (0.05, 0.1):
            for tolerance in (0.0, TOLERANCE):
                found = [first_alarm(use.nights, loss, tolerance, trial) for trial in range(few)]
                reached = np.array([each or np.inf for each in found])
                median = f"{np.median(reached):g}".replace("inf", "-")
                powers.append(
                    [
                        use.name,
                        f"{loss:g}",
                        f"{tolerance:g}",
                        *(f"{(reached <= by).mean():.2f}" for by in (1, 10, 30, LOOKS)),
                        median,
                    ]
                )
    yield Table(
        f"Alarms of a real loss, pass/fail, 5 % gains ({few:,} repeats)",
        [
            "use",
            "true loss",
            "tolerance",
            *(f"by look {by}" for by in (1, 10, 30, LOOKS)),
            "median look",
        ],
        powers,
    )


def first_alarm(
    nights: Nights, loss: float, tolerance: float, trial: int, *, rules_out: bool = False
) -> int | None:
    """Return the first look at which a loss beyond the tolerance is found, or ruled out."""
    generator = np.random.default_rng([SEED, trial])
    sign, limit = (1.0, -tolerance) if rules_out else (-1.0, tolerance)
    first, last = 0, 0
    for look, (gains, epoch) in enumerate(nights(generator, loss), start=1):
        if is_new := epoch != last:
            first, last = len(gains), epoch
        test = SequentialTest(
            sums=sign * gains, counts=np.ones(len(gains)), reach=1.0, first=first, epoch=epoch
        )
        # The first look of an epoch was tested before.
        if test.betting_above_p(limit) <= LEVEL or (is_new and _first_p(test, limit) <= LEVEL):
            return look
    return None


def _first_p(test: SequentialTest, limit: float) -> float:
    """Return the part of the p-value from the first look, which few distinct gains share."""
    values, repeats = np.unique(test.sums[: test.first], return_counts=True)
    key = (tuple(values), tuple(repeats), limit)
    if key not in _known:
        _known[key] = mean_above_p(test.sums[: test.first], np.ones(test.first), 1.0, limit)
    return _known[key] / test.share


def fixed_alarm(nights: Nights, trial: int) -> bool:
    """Return whether the test for a single look, repeated at every look, finds a loss."""
    from scipy.special import stdtr

    generator = np.random.default_rng([SEED, trial])
    for gains, _ in nights(generator, 0.0):
        error = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
        if error > 0 and 2 * stdtr(len(gains) - 1, gains.mean() / error) < LEVEL:
            return True
    return False


def pass_fail(generator: np.random.Generator, n: int, loss: float) -> Floats:
    """Draw gains of independent questions: 5 % are gained, 5 % and the loss are lost."""
    drawn = generator.random(n)
    return (drawn < 0.05).astype(float) - (drawn > 0.95 - loss)


def growing(generator: np.random.Generator, loss: float, first: int = 20) -> Iterator[Night]:
    """Add 20 questions every night."""
    gains = pass_fail(generator, first + 20 * (LOOKS - 1), loss)
    for look in range(LOOKS):
        yield gains[: first + 20 * look], 1


def growing_from_n(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Begin with `N` questions, and add 20 every night."""
    yield from growing(generator, loss, N)


def growing_slowly(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Add one question every night."""
    gains = pass_fail(generator, LOOKS, loss)
    for look in range(LOOKS):
        yield gains[: look + 1], 1


def growing_skewed(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Add 20 questions every night, of which few are gained and all others are lost a little."""
    gains = np.where(generator.random(20 * LOOKS) < 0.05, 1.0, -(loss + 0.05) / 0.95)
    for look in range(LOOKS):
        yield gains[: 20 * (look + 1)], 1


def answers(
    generator: np.random.Generator, difficulty: Floats, nights: int = LOOKS
) -> Iterator[Floats]:
    """Answer questions again and again; each has its own probability of a right answer."""
    for _ in range(nights):
        yield (generator.random(len(difficulty)) < difficulty).astype(float)


def answered_again(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Answer the same questions every night; the baseline answered them once."""
    difficulty = generator.beta(2, 1, N)
    (baseline,) = answers(generator, difficulty, 1)
    # The loss is a share of what would be right; the mean of beta(2, 1) is 2 / 3.
    for look, given in enumerate(answers(generator, difficulty * (1 - 1.5 * loss))):
        yield given - baseline, look + 1


def sometimes_answered_again(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Answer the same questions again in every tenth night."""
    for look, (gains, _) in enumerate(answered_again(generator, loss)):
        if look % 10 == 0:
            last = gains
        yield last, look // 10 + 1


def growing_and_answered_again(generator: np.random.Generator, loss: float) -> Iterator[Night]:
    """Add 20 questions every night, and answer all again."""
    difficulty = generator.beta(2, 1, N + 20 * LOOKS)
    (baseline,) = answers(generator, difficulty, 1)
    for look, given in enumerate(answers(generator, difficulty * (1 - 1.5 * loss))):
        n = N + 20 * look
        yield (given - baseline)[:n], look + 1
