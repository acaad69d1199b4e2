"""Several answers to a question, judged several times: what their variance is due to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.simulations.result import Table
from evaluators.statistics.judges.judge_variance import split_score_variance, split_variance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evaluators.statistics.arrays import Floats

QUESTIONS, ANSWERS = 50, 4
COMBINED: dict[str, Any] = {"median": np.nanmedian, "mean": np.nanmean}


def tables(repeats: int) -> Iterator[Table]:
    """Yield the components by the distribution of judgments, with a quarter of the repeats."""
    repeats = max(1, repeats // 4)
    rows = []
    for noise in ("normal", "exponential", "pass/fail"):
        for combined in COMBINED:
            for counts in ("3", "3 or 5", "3, some lost"):
                for spread in (0.0, 0.2):
                    head = [noise, combined, counts, f"{spread**2:.3f}"]
                    rows.append([*head, *_measure(repeats, noise, combined, counts, spread)])
    title = (
        f"Variance of {QUESTIONS} questions with {ANSWERS} answers: mean estimates and their "
        f"simulation error, {repeats:,} repeats"
    )
    heads = [
        *("judgments", "combined by their", "of each answer", "true answer"),
        *("answer before", "answer now", "judge now", "sum of the parts / variance"),
    ]
    yield Table(title, heads, rows)


def _measure(repeats: int, noise: str, combined: str, counts: str, spread: float) -> list[str]:
    generator = np.random.default_rng(1)
    former, answers, judges, parts, wholes = np.empty((5, repeats))
    for at in range(repeats):
        judged = _judge(generator, noise, counts, spread)
        scores = COMBINED[combined](judged, axis=2)
        found = split_score_variance(scores, judged)
        single = split_variance(judged.reshape(-1, judged.shape[2]))
        if found is None or single is None or found.judge is None:
            raise AssertionError("every answer is judged")
        mean = np.isfinite(judged).sum(axis=2).mean()
        former[at] = found.answer + found.judge - single.judge_variance / mean
        answers[at], judges[at] = found.answer, found.judge
        parts[at] = found.question + found.answer + found.judge
        # The expected variance of two scores of different questions.
        means = scores.mean(axis=1)
        wholes[at] = ((scores**2).mean() - means.mean() ** 2) + means.var(ddof=1) / QUESTIONS
    cells = [f"{each.mean():.4f} ± {each.std() / repeats**0.5:.4f}" for each in (former, answers)]
    return [*cells, f"{judges.mean():.4f}", f"{parts.mean() / wholes.mean():.3f}"]


def _judge(generator: np.random.Generator, noise: str, counts: str, spread: float) -> Floats:
    """Draw the judgments of one benchmark; those that an answer lacks are NaN."""
    shape = (QUESTIONS, ANSWERS)
    level = generator.uniform(0.3, 0.7, (QUESTIONS, 1)) + generator.choice([-spread, spread], shape)
    size = 5 if counts == "3 or 5" else 3
    if noise == "pass/fail":
        judged: Floats = (generator.random((*shape, size)) < level[..., None]).astype(np.float64)
    else:
        drawn = generator.normal if noise == "normal" else generator.exponential
        judged = level[..., None] + 0.3 * drawn(size=(*shape, size))
    if counts == "3 or 5":
        judged[generator.random(shape) < 0.5, 3:] = np.nan
    elif counts != "3":
        judged[..., 2][generator.random(shape) < 0.2] = np.nan
    return judged
