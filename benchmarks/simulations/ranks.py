"""Rank sets: whether they hold all true ranks at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.simulations.result import Table, rate
from evaluators.statistics.arrays import SEED
from evaluators.statistics.clusters import Groups
from evaluators.statistics.comparisons import compare, every_pair
from evaluators.statistics.ranks import rank_sets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.comparisons import Outcomes


def tables(repeats: int) -> Iterator[Table]:
    """Yield how often the sets hold all true ranks."""
    repeats = max(1, repeats // 5)
    rows = []
    for name, step, questions, before in (
        ("ten systems, 0.005 apart", 0.005, 50, "0.26 to 0.32"),
        ("ten systems, 0.005 apart", 0.005, 500, ""),
        ("ten systems, 0.05 apart", 0.05, 50, ""),
        ("ten equal systems", 0.0, 50, "0.00"),
    ):
        generator = np.random.default_rng(SEED)
        truth = -step * np.arange(10)
        # Equal systems share the first rank, and may have any.
        rank = np.arange(1, 11) if step else np.ones(10)
        covered, sizes = 0, 0.0
        for _ in range(repeats):
            level = generator.random((questions, 1))
            values = level + truth + generator.normal(0, 0.15, (questions, 10))
            found = compare(values, Groups(), every_pair(10), best="high", pass_fail=False)
            low, high = rank_sets(found.outcomes, np.ones(10, dtype=bool))
            covered += bool(((low <= rank) & (rank <= high)).all())
            sizes += float((high - low + 1).mean())
        rows.append(
            [name, str(questions), before, rate(covered, repeats), f"{sizes / repeats:.1f}"]
        )
    yield Table(
        f"All true ranks within their sets, target at least 0.95 ({repeats:,} benchmarks)",
        ["systems", "questions", "before", "now", "ranks in a set"],
        rows,
    )
    yield _with_catastrophes(repeats)


def _with_catastrophes(repeats: int) -> Table:
    """Three equal systems, of which one loses 0.495 on 1 % of the questions."""
    rows = []
    for questions in (30, 100, 300):
        generator = np.random.default_rng(SEED)
        everyone = np.ones(3, dtype=bool)
        covered = won = 0
        for _ in range(repeats):
            level = 0.5 + 0.4 * generator.random((questions, 1))
            values = level + generator.normal(0, 0.005, (questions, 3))
            values[:, 2] += np.where(generator.random(questions) < 0.01, -0.495, 0.005)
            found = compare(
                values.clip(0, 1),
                Groups(),
                every_pair(3),
                best="high",
                pass_fail=False,
                bounds=(0.0, 1.0),
            )
            covered += bool((rank_sets(found.outcomes, everyone).low == 1).all())
            won += has_winner(found.outcomes)
        rows.append([str(questions), rate(covered, repeats), rate(won, repeats)])
    return Table(
        f"Three equal systems, one with rare catastrophes ({repeats:,} benchmarks)",
        ["questions", "sets hold the ranks (at least 0.95)", "a false winner (at most 0.05)"],
        rows,
    )


def has_winner(outcomes: Outcomes) -> bool:
    """Return whether one system is better than every other by a verdict of their own."""
    decided = outcomes.signs != 0
    better = np.where(outcomes.signs > 0, *outcomes.pairs.T)[decided]
    systems = outcomes.pairs.max() + 1
    return bool((np.bincount(better, minlength=systems) == systems - 1).any())
