"""Krippendorff's alpha: the agreement of any number of raters, with missing ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats

Scale: TypeAlias = Literal["nominal", "ordinal", "interval"]

_RATERS = 2


def krippendorff_alpha(ratings: Floats, scale: Scale = "nominal") -> float | None:
    """Return 1 for perfect agreement, 0 for chance agreement, less for worse.

    Units with fewer than two ratings are left out.

    Args:
        ratings: Shape (raters, units); NaN where a rating is missing.
        scale: What the ratings are: names, an order, or numbers with meaningful differences.

    Returns:
        Alpha; None if no two raters rated the same unit, or all ratings are equal.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability", 2011.
    """
    pairable = ratings[:, np.isfinite(ratings).sum(axis=0) >= _RATERS]
    is_present = np.isfinite(pairable)
    categories = np.unique(pairable[is_present])
    if len(categories) <= 1:
        return None
    counts = np.stack(
        [((pairable == value) & is_present).sum(axis=0) for value in categories], axis=1
    ).astype(np.float64)
    raters = counts.sum(axis=1, keepdims=True)
    # How often two values occur together in a unit; a rating does not pair with itself.
    shares = counts / (raters - 1)
    together = counts.T @ shares - np.diag(shares.sum(axis=0))
    totals = together.sum(axis=0)
    n = totals.sum()
    cost = _distances(categories, totals, scale)
    expected = (np.outer(totals, totals) * cost).sum() / (n - 1)
    return float(1.0 - (together * cost).sum() / expected)


def _distances(categories: Floats, totals: Floats, scale: Scale) -> Floats:
    """Return the squared distance of each pair of values on the scale."""
    if scale == "nominal":
        differ: Floats = (np.subtract.outer(categories, categories) != 0).astype(np.float64)
        return differ
    if scale == "interval":
        squared: Floats = np.subtract.outer(categories, categories) ** 2
        return squared
    # On an ordinal scale, the distance of two values is the number of ratings between them.
    positions = np.cumsum(totals) - totals / 2
    between: Floats = np.subtract.outer(positions, positions) ** 2
    return between
