"""Comparisons: p-values against exact ones, error rates, intervals and power."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.arrays import SEED
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.permutation_test import FLIPS, sign_flip_p
from evaluators.statistics.power import detectable_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Floats

UNIT = (0.0, 1.0)


def tables(repeats: int) -> Iterator[Table]:
    """Yield the tables of `docs/trust.md`."""
    yield _one_large_difference()
    yield _false_alarms(repeats)
    yield _family(max(1, repeats // 4))
    yield _intervals(repeats)
    yield _power(repeats)


def _one_large_difference() -> Table:
    """One difference dominates: exact p-values are known, 2 of 2 ** k patterns."""
    before = {13: "0.0376", 16: "0.0197"}
    rows = []
    for gains in (13, 16, 20, 25):
        differences = np.zeros((60, 1))
        differences[:gains] = 0.09
        differences[0] = 0.9
        p = float(sign_flip_p(differences)[0])
        # Only up to 20 differences are counted.
        bound = f"(at least 1 / {1 + FLIPS:,})" if gains > 20 else ""
        exact = 2 * 0.5**gains
        rows.append([str(gains), f"{exact:.2g}", before.get(gains, ""), f"{p:.2g} {bound}".strip()])
    return Table(
        "p of k gains, one of 0.90 and the others of 0.09, on 60 questions",
        ["k", "exact", "before", "now"],
        rows,
    )


def _false_alarms(repeats: int) -> Table:
    """Equal systems: how often p is at most 5 % and 1 %."""
    trials = 10 * repeats
    rows = []
    for name, questions, size in (
        ("normal", 10, 1),
        ("skewed", 40, 1),
        ("one of 30 differs ten times as much", 30, 1),
        ("clusters of 1 to 9", 100, 5),
    ):
        generator = np.random.default_rng(SEED)
        differences = generator.normal(size=(questions, trials))
        if name == "skewed":
            differences = np.exp(1.5 * differences) * generator.choice((-1, 1), differences.shape)
        if name.startswith("one"):
            differences[0] *= 10
        if size > 1:
            ends = np.cumsum(np.arange(1, 10))
            differences = np.add.reduceat(differences, np.r_[0, ends[ends < questions]], axis=0)
        p = sign_flip_p(differences)
        below = (int((p <= level).sum()) for level in (0.05, 0.01))
        rows.append([name, str(questions), *(rate(each, trials) for each in below)])
    return Table(
        f"Equal systems: p at most 0.05 and 0.01 ({trials:,} pairs)",
        ["differences", "questions", "0.05", "0.01"],
        rows,
    )


def _family(repeats: int) -> Table:
    """Equal systems: how often any pair is called different."""
    rows = []
    for systems, questions, passes in ((5, 30, False), (10, 30, True), (10, 100, False)):
        generator = np.random.default_rng(SEED)
        wrong = 0
        for _ in range(repeats):
            level = generator.random((questions, 1))
            values = np.clip(level + generator.normal(0, 0.2, (questions, systems)), 0, 1)
            if passes:
                values = (values > 0.5).astype(np.float64)
            found = compare(
                values, Groups(), every_pair(systems), best="high", pass_fail=passes, bounds=UNIT
            )
            wrong += any(verdict in ("better", "worse") for verdict in found.verdict)
        kind = "pass/fail" if passes else "continuous"
        rows.append([str(systems), str(questions), kind, rate(wrong, repeats)])
    return Table(
        f"Equal systems: any verdict better or worse, target at most 0.05 ({repeats:,} benchmarks)",
        ["systems", "questions", "metric", "any verdict"],
        rows,
    )


def _intervals(repeats: int) -> Table:
    """How often the interval of a difference holds the truth, and stays within the scale."""
    rows = []
    for name, questions, before in (
        ("equal in 90 % of questions", 6, "none if all are equal"),
        ("equal in 90 % of questions", 30, "none if all are equal"),
        ("phi, -1 to 1", 3, "ends at -2.63 and 3.73"),
        ("phi, -1 to 1", 10, ""),
        ("phi, -1 to 1", 50, ""),
    ):
        generator = np.random.default_rng(SEED)
        shape = (questions, repeats)
        if name.startswith("phi"):
            bounds, truth = (-1.0, 1.0), 0.0
            a, b = 2 * generator.beta(0.7, 0.4, (2, *shape)) - 1
        else:
            bounds, truth = UNIT, 0.1 * 0.5
            a = np.full(shape, 0.5)
            b = np.where(generator.random(shape) < 0.1, 0.0, 0.5)
        pairs = np.stack([np.arange(repeats), repeats + np.arange(repeats)], axis=1)
        found = compare(
            np.hstack([a, b]), Groups(), pairs, best="high", pass_fail=False, bounds=bounds
        )
        covered = int(((found.low <= truth) & (truth <= found.high)).sum())
        width = bounds[1] - bounds[0]
        inside = int(((found.low >= -width) & (found.high <= width)).sum())
        rows.append([name, str(questions), before, rate(covered, repeats), rate(inside, repeats)])
    return Table(
        f"Intervals of differences ({repeats:,} pairs)",
        ["differences", "questions", "before", "hold the truth", "within the scale"],
        rows,
    )


def _power(repeats: int) -> Table:
    """The share of comparisons that find a true difference of the detectable size."""
    before = {(6, 2): "0.42", (10, 2): "0.71", (30, 2): "0.75"}
    rows = []
    for questions, systems in ((6, 2), (10, 2), (30, 2), (100, 2), (12, 5), (30, 10), (100, 10)):
        tests = systems * (systems - 1) // 2
        generator = np.random.default_rng(SEED)
        effect = _detectable(questions, tests)
        # Only one difference is not 0, so that its level is that of the smallest step.
        differences = generator.normal(effect, 1, (questions, repeats))
        values = np.hstack([differences, np.zeros_like(differences)])
        pairs = np.stack([np.arange(repeats), repeats + np.arange(repeats)], axis=1)
        found = compare(values, Groups(), pairs, best="high", pass_fail=False)
        hits = int(((found.p_value * tests < 0.05) & (found.low > 0)).sum())
        rows.append(
            [
                str(systems),
                str(questions),
                f"{effect:.2f}",
                before.get((questions, systems), ""),
                rate(hits, repeats),
            ]
        )
    return Table(
        f"Power at the detectable difference, target 0.8 ({repeats:,} pairs, normal differences)",
        ["systems", "questions", "difference / spread", "before", "now"],
        rows,
    )


def _detectable(questions: int, tests: int) -> float:
    def one(number: float) -> Floats:
        return np.array([number])

    given = one(questions**-0.5), one(questions), one(questions - 1.0)
    return float(detectable_difference(*given, tests=tests)[0])
