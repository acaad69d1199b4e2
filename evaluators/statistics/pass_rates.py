"""Pass rates of several answers to a question: pass@k and pass^k."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers


def all_pass(answers: Integers, passed: Integers, k: int) -> Floats:
    """Estimate the probability that k answers to a question all pass (pass^k).

    C(c, k) / C(n, k): the share of the choices of k from n answers in which all pass, which is
    unbiased whatever the probability that one answer passes.

    Args:
        answers: The number n of answers to each question; shape (questions,).
        passed: The number c of them that pass; the same shape.
        k: The number of answers that are chosen.

    Returns:
        Shape (questions,); NaN where there are fewer than k answers.

    Source: Yao et al., "tau-bench: A Benchmark for Tool-Agent-User Interaction in Real-World
        Domains", 2024.
    """
    step = np.arange(k)[:, None]
    # A factor of 0 where fewer than k answers pass; the factors after it do not matter.
    ratios = np.maximum(passed - step, 0) / np.where(answers < k, np.nan, answers - step)
    share: Floats = np.prod(ratios, axis=0)
    return share


def any_passes(answers: Integers, passed: Integers, k: int) -> Floats:
    """Estimate the probability that at least one of k answers to a question passes (pass@k).

    1 - C(n - c, k) / C(n, k); arguments and result as for `all_pass`.

    Source: Chen et al., "Evaluating Large Language Models Trained on Code", 2021.
    """
    return 1.0 - all_pass(answers, answers - passed, k)
