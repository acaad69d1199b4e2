"""The jackknife: the uncertainty of system metrics, by leaving out parts of the samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evaluators import scoring
from evaluators.outcome import Unscored
from evaluators.statistics.arrays import SEED

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from evaluators.evaluator import Evaluator
    from evaluators.outcome import Graded
    from evaluators.statistics.arrays import Floats, Integers

PARTS = 200
"""The number of parts; each is left out once. With fewer clusters, each cluster is a part."""

LARGE = 10_000
"""The number of samples above which only some are used; the spread is then scaled to all."""


def assign_parts(clusters: NDArray[np.uint64]) -> Integers:
    """Assign each sample of a system to a part; -1 for unused samples.

    Few clusters are distributed randomly, many by their keys, which are as good as random.

    Args:
        clusters: The key of each sample's cluster, evenly spread over 64 bits.
    """
    if len(clusters) > LARGE:
        dealt = (clusters % np.uint64(PARTS * -(-len(clusters) // LARGE))).astype(np.int64)
        return np.where(dealt < PARTS, dealt, -1)
    codes = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
    count = int(codes.max(initial=-1)) + 1
    if count <= PARTS:
        return codes
    parts: Integers = np.random.default_rng(SEED).permutation(count) % PARTS
    return parts[codes]


def pseudo_values(
    evaluator: Evaluator,
    rows: pl.DataFrame,
    parts: Integers,
    found: Graded,
    total: int | None = None,
) -> dict[str, Floats]:
    """Compute what each part of the samples contributes to each system metric.

    The mean of a metric's pseudo-values is the metric, and their spread is its uncertainty: they
    can be resampled, compared and ranked like scores of single questions. Chance levels are those
    of all samples throughout: they hardly depend on a part, and drawing them again would add noise.

    Args:
        evaluator: The evaluator of the system metrics.
        rows: The samples of one system, as `scoring.unpack_evidence` returns them.
        parts: The part of each sample; -1: unused.
        found: The system metrics of all samples.
        total: The total number of parts; None: the number of parts of these samples.

    Returns:
        By metric, one number for each part: NaN for parts without samples; all NaN if the metric
        has no value, for all samples or without one of the parts.

    Source: Tukey 1958; delete-a-group, Kott 2001.
    """
    uses_all = bool((parts >= 0).all())
    used_rows = rows if uses_all else rows.filter(parts >= 0)
    part = parts[parts >= 0]
    whole = found.scores
    if not uses_all:
        whole = scoring.aggregate_unpacked(evaluator, used_rows, found.chance).scores
    present, codes = np.unique(part, return_inverse=True)
    count = len(present)
    without = _without_each(evaluator, used_rows, codes.astype(np.int64), count, found)
    scale = np.sqrt(used_rows.height / rows.height) if rows.height else 1.0
    pseudo_by_metric = {}
    for name, score in found.scores.items():
        values = np.full(int(present.max(initial=-1)) + 1 if total is None else total, np.nan)
        if count:
            values[present] = _combine(_number(score), _number(whole[name]), without[name], scale)
        pseudo_by_metric[name] = values
    return pseudo_by_metric


def _combine(score: float, whole: float, without: Floats, scale: float) -> Floats:
    """Return the pseudo-values of one metric.

    Args:
        score: The metric of all samples.
        whole: The metric of the samples that are in a part.
        without: Shape (parts,): the metric without each part.
        scale: Scales the spread to all samples.
    """
    count = len(without)
    pseudo = count * whole - (count - 1) * without
    values: Floats = score + (pseudo - pseudo.mean()) * scale
    return values


def _without_each(
    evaluator: Evaluator, rows: pl.DataFrame, parts: Integers, count: int, found: Graded
) -> Mapping[str, Floats]:
    """Return the metrics without each part; NaN where there is no value."""
    answered = np.bincount(parts, ~rows["failed"].to_numpy(), minlength=count)
    has_answers = answered.sum() > answered
    if count and has_answers.all() and rows[scoring.COUNTED].all():
        by_metric = evaluator.aggregate_without(rows, parts, count)
        if by_metric is not None:
            return by_metric
    without = [
        scoring.aggregate_unpacked(evaluator, rows.filter(parts != left), found.chance).scores
        for left in range(count)
    ]
    return {
        name: np.array([_number(each[name]) for each in without], dtype=np.float64)
        for name in found.scores
    }


def _number(value: float | Unscored) -> float:
    return np.nan if isinstance(value, Unscored) else float(value)
