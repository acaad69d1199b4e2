"""Krippendorff's alpha: the agreement of any number of raters, also where some left gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]

_RATERS = 2


def krippendorff_alpha(ratings: Floats, scale: Scale = "nominal") -> float | None:
    """1 for perfect agreement, 0 for that of chance, less for worse.

    Units with fewer than two ratings say nothing about agreement and are left out.

    Args:
        ratings: Shape (raters, units); NaN where a rater gave none.
        scale: What the ratings are: names, an order, or numbers with meaningful differences.

    Returns:
        Alpha; None where no two raters rated the same unit, or all ratings are equal.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    """
    pairable = ratings[:, np.isfinite(ratings).sum(axis=0) >= _RATERS]
    there = np.isfinite(pairable)
    categories = np.unique(pairable[there])
    if len(categories) <= 1:
        return None
    counts = np.stack(
        [((pairable == value) & there).sum(axis=0) for value in categories], axis=1
    ).astype(np.float64)
    raters = counts.sum(axis=1, keepdims=True)
    # How often each two values were given to one unit; a rating does not pair with itself.
    shares = counts / (raters - 1)
    together = counts.T @ shares - np.diag(shares.sum(axis=0))
    totals = together.sum(axis=0)
    n = totals.sum()
    cost = _distances(categories, totals, scale)
    expected = (np.outer(totals, totals) * cost).sum() / (n - 1)
    return float(1.0 - (together * cost).sum() / expected)


def _distances(categories: Floats, totals: Floats, scale: Scale) -> Floats:
    """The squared distance of each two values on their scale."""
    if scale == "nominal":
        differ: Floats = (np.subtract.outer(categories, categories) != 0).astype(np.float64)
        return differ
    if scale == "interval":
        apart: Floats = np.subtract.outer(categories, categories) ** 2
        return apart
    # On an ordinal scale the ratings between two values are what lies between them.
    places = np.cumsum(totals) - totals / 2
    between: Floats = np.subtract.outer(places, places) ** 2
    return between
