"""Proper scores of the options' probabilities: log-likelihood and Brier, and the mean log loss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl

from evaluators.components.options.probabilities import (
    MASS,
    NEVER,
    OUTSIDE,
    RIGHT,
    SCALE,
    SHARE,
    SQUARES,
    TOP,
)
from evaluators.metric import Metric
from records.record import ROUNDING

if TYPE_CHECKING:
    from evaluators.outcome import Scores

_FLOOR = 1e-12
"""The probability that 0 counts as in the log loss."""

# A mass above 1 by a rounding error is scaled down to 1.
_UNIT = pl.max_horizontal(MASS, pl.lit(1.0))
_WRONG_SQUARES = (SQUARES * (2 * TOP).exp()).fill_null(0.0) - (2 * RIGHT).exp()

LOSSES: dict[Metric, pl.Expr] = {
    Metric(
        name="negative_log_likelihood",
        summary="Negative natural logarithm of the right option's normalised probability.",
        best="low",
        bounds=(0.0, float("inf")),
    ): pl.when(RIGHT > NEVER).then(TOP - RIGHT + SCALE.log()),
    Metric(
        name="brier",
        summary="Squared distance of the normalised probabilities from certainty in the right "
        "option, summed over the options.",
        best="low",
        bounds=(0.0, 2.0),
    ): (1 - SHARE) ** 2 + (SQUARES / SCALE**2 - SHARE**2),
    Metric(
        name="negative_log_likelihood_unnormalized",
        summary="Negative natural logarithm of the right option's probability as given.",
        best="low",
        bounds=(0.0, float("inf")),
        threshold=None,
    ): pl.when(RIGHT > NEVER).then(0.0 - RIGHT),
    Metric(
        name="brier_unnormalized",
        summary="Squared distance of the probabilities as given from certainty in the right "
        "option; the probability outside the options counts as a wrong one.",
        best="low",
        bounds=(0.0, 2.0),
        threshold=None,
    ): pl.when(MASS <= 1 + ROUNDING).then(
        (1 - RIGHT.exp() / _UNIT) ** 2 + _WRONG_SQUARES / _UNIT**2 + OUTSIDE**2
    ),
}
"""The metrics with their formulas, over the columns of `read_probabilities`."""

LOG_LOSS = Metric(
    name="log_loss",
    summary="Mean negative log-likelihood in which probability 0 counts as 1e-12.",
    best="low",
    bounds=(0.0, float("inf")),
    level="system",
)
LOG_LOSS_UNNORMALIZED = Metric(
    name="log_loss_unnormalized",
    summary="Mean unnormalised negative log-likelihood in which probability 0 counts as 1e-12.",
    best="low",
    bounds=(0.0, float("inf")),
    threshold=None,
    level="system",
)


def log_losses(rows: pl.DataFrame) -> Scores:
    """Return both log losses of a system; a likelihood that is missing has the probability 1e-12.

    Args:
        rows: With both metrics of negative log-likelihood.
    """
    return {
        LOG_LOSS.name: _mean_loss(rows["negative_log_likelihood"]),
        LOG_LOSS_UNNORMALIZED.name: _mean_loss(rows["negative_log_likelihood_unnormalized"]),
    }


def _mean_loss(losses: pl.Series) -> float:
    largest = -math.log(_FLOOR)
    return float(losses.fill_null(largest).clip(upper_bound=largest).to_numpy().mean())
