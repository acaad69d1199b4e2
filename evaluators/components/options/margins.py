"""Accuracy and margins: whether, and how clearly, a system prefers the right option."""

from __future__ import annotations

import polars as pl

from evaluators.components.options.probabilities import (
    IS_BEST,
    IS_SEVERAL,
    IS_SOME,
    IS_TIED,
    MASS,
    RIGHT,
    RIVAL,
    SCALE,
    SHARE,
    TOP,
)
from evaluators.metric import Metric
from records.record import ROUNDING

MARGINS: dict[Metric, pl.Expr] = {
    Metric(
        name="accuracy",
        pass_fail=True,
        summary="Whether the right option is more probable than every other.",
    ): IS_SOME & IS_BEST & ~IS_TIED,
    Metric(
        name="accuracy_first_argmax",
        pass_fail=True,
        summary="Whether the first of the most probable options is the right one.",
    ): IS_SOME & pl.col("first_best"),
    Metric(
        name="accuracy_per_character",
        pass_fail=True,
        summary="Whether the right option is the first of those with the largest log-probability "
        "for each character of their text.",
    ): IS_SOME & pl.col("best_per_character"),
    Metric(
        name="accuracy_per_byte",
        pass_fail=True,
        summary="The same for each byte of their text in UTF-8.",
    ): IS_SOME & pl.col("best_per_byte"),
    Metric(
        name="phi", summary="Probability of the right option as given.", primary=True
    ): RIGHT.exp(),
    Metric(
        name="delta",
        summary="Probability of the right option less that of the most probable wrong one.",
        bounds=(-1.0, 1.0),
    ): pl.when(IS_SEVERAL).then(
        RIGHT.exp() - pl.when(IS_SOME).then((TOP + RIVAL).exp()).otherwise(0.0)
    ),
    Metric(name="option_mass", summary="Sum of the probabilities of all options as given."): (
        pl.when(MASS <= 1).then(MASS).when(MASS <= 1 + ROUNDING).then(pl.lit(1.0))
    ),
    Metric(
        name="phi_normalized",
        summary="Probability of the right option among the options alone.",
    ): SHARE,
    Metric(
        name="delta_normalized",
        summary="Delta with the probabilities among the options alone.",
        bounds=(-1.0, 1.0),
    ): pl.when(IS_SEVERAL).then(SHARE - RIVAL.exp() / SCALE),
}
"""The metrics with their formulas, over the columns of `read_probabilities`."""
