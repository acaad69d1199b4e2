"""Option confidence: the probabilities of a multiple-choice question's options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.components.options.calibration import (
    CALIBRATION,
    CALIBRATION_DEBIASED,
    CALIBRATION_UNNORMALIZED,
    calibration_chance,
    calibration_errors,
)
from evaluators.components.options.losses import (
    LOG_LOSS,
    LOG_LOSS_UNNORMALIZED,
    LOSSES,
    log_losses,
)
from evaluators.components.options.margins import MARGINS
from evaluators.components.options.orders import ORDER_SPREAD, mean_spread
from evaluators.components.options.probabilities import (
    IS_TIED,
    OUTSIDE,
    SCALE,
    TOP,
    read_probabilities,
)
from evaluators.kinds.frame import FrameEvaluator
from evaluators.outcome import Scores, Undefined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.outcome import Chance


@dataclass(frozen=True, kw_only=True)
class OptionConfidence(FrameEvaluator):
    """How confident is the system in the right option, beyond merely preferring it?

    With p the probabilities of the options as given: phi is p of the right option, delta is phi
    minus the largest p of a wrong option, option mass the sum of all p (small where the system does
    not answer with an option at all), accuracy whether the right option is strictly more probable
    than every other. The normalised figures use q = p / option mass, computed from the
    log-probabilities so that very small ones survive: phi and delta of q, the negative natural
    logarithm of q of the right option, and Brier's sum over all options of (q - 1 or 0) squared.
    The share of samples with a phi (or delta) above x, over x, is the system's curve.

    Normalised figures cannot see a system that hardly ever answers with an option: one that gives
    the right option 0.01 and the others nothing has the Brier score, log-likelihood and calibration
    error of a perfect one. In the unnormalised ones the probability outside the options counts as a
    wrong option, which is the chosen one if it is the most probable.

    Expected calibration error: samples are put in bins of equal width by their largest q (a bin
    holds its upper edge); it is the mean distance of a bin's mean largest q from its accuracy,
    weighted by its samples. A system that only guesses can be perfectly calibrated: read it
    together with the accuracy. Noise alone makes both calibration errors positive, the more the
    fewer samples there are. Their chance level is what a perfectly calibrated system has on
    average: the mean over 200 sets of labels, drawn from the stated probabilities. The debiased
    errors are the excess over it; below 0 is better than chance alone. Log loss is the mean
    negative log-likelihood in which a probability of 0 counts as 1e-12.

    A server may list only its likeliest tokens. The task `mcqa` then gives a letter that is not
    among them the largest probability that it can have, which all figures use, and names it in the
    field `bounded_choices` of `extra`; the detail has it as `bounded`. A question that was asked
    with its options in several orders has their log-probabilities in `choice_logprobs_by_order`.
    Order spread is the mean over such questions of the largest less the smallest phi: 0 for a
    system that does not care where the right option stands.

    Sources: the RoBustEval dashboard (phi, delta, accuracy); Brier, 1950; Guo et al., "On
    Calibration of Modern Neural Networks", ICML 2017; Bröcker and Smith, "Increasing the
    reliability of reliability diagrams", 2007; Kumar, Liang and Ma, "Verified uncertainty
    calibration", 2019; EleutherAI's evaluation harness, which takes the first of several equally
    probable options (`acc`: `accuracy_first_argmax`), also of log-probabilities divided by the
    number of characters (`acc_norm`: `accuracy_per_character`) or bytes (`acc_bytes`:
    `accuracy_per_byte`) of the option, which otherwise is less probable the longer it is.

    Edges: an option whose log-probability is missing (null) or minus infinity has probability 0.
    Right option tied with another: not accurate. Right option of probability 0: no negative
    log-likelihood, which would be infinite. No option of any probability: phi 0, delta 0 and not
    accurate; the normalised figures are undefined. No log-probabilities at all where the system
    gives them elsewhere (an empty list): the worst value of every bounded metric. One option only:
    no delta. Without the texts of the options (`choices`): no accuracy per character or byte.
    Undefined altogether: the position of the right option lies outside the list; the list is not as
    long as the list of choices; a log-probability is above 0.001. One between 0 and that is
    rounding and read as 0; likewise an option mass of up to 1.001 is 1, while a larger one is
    undefined, as the options are then not outcomes of one distribution (texts scored by their mean
    per token, say). A failed answer, one without log-probabilities, or one whose options have no
    probability counts as certain and wrong in the calibration errors, so that the maximum is 1, as
    probability 0 in the log losses, and as 1 in the order spread of a system that was asked in
    several orders. An answer in one order only has no part in the spread.

    Attributes:
        bins: The number of bins of the calibration error.
    """

    metrics = (
        *MARGINS,
        *LOSSES,
        *CALIBRATION,
        LOG_LOSS,
        *CALIBRATION_DEBIASED,
        CALIBRATION_UNNORMALIZED,
        LOG_LOSS_UNNORMALIZED,
        ORDER_SPREAD,
    )
    reads = frozenset({"choice_logprobs", "correct_choice"})
    optional = frozenset({"choices", "extra"})
    evidence: ClassVar[Mapping[str, type[pl.DataType] | pl.DataType]] = {
        "chosen": pl.UInt32,
        "confidence": pl.Float64,
        "tied": pl.Boolean,
        "top": pl.Float64,
        "outside": pl.Float64,
        "order_spread": pl.Float64,
    }
    version = 4
    undefined = "the log-probabilities or the texts of the options do not allow it"

    bins: int = 15

    def __post_init__(self) -> None:
        """Validate the number of bins.

        Raises:
            ValueError: The number is below 1.
        """
        if self.bins < 1:
            raise ValueError(f"there must be at least one bin, got {self.bins}")

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Return the probabilities of the options, and sums over them."""
        return read_probabilities(samples)

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return the formulas; the worst value where there are no log-probabilities."""
        return {
            metric.name: pl.when("absent")
            .then(pl.lit(metric.worst, pl.Float64))
            .otherwise(formula.cast(pl.Float64))
            for metric, formula in (MARGINS | LOSSES).items()
        }

    def evidence_expressions(self) -> Mapping[str, pl.Expr]:
        """Return the preferred option, its probability, whether it is tied, and the rest.

        The probability is normalised (`confidence`) and as given (`top`); `outside` is the
        probability outside the options, `bounded` the letters whose probability is a bound.
        """
        is_known = pl.col("right").is_not_null()
        return {
            "chosen": pl.col("chosen"),
            "confidence": 1 / SCALE,
            "tied": IS_TIED,
            "top": TOP.exp(),
            "outside": OUTSIDE,
            "order_spread": pl.when(is_known).then("order_spread"),
            "bounded": pl.when(is_known).then("bounded"),
        }

    def counted(self) -> pl.Expr:
        """Return the samples with a phi; failed answers have the worst."""
        return pl.col("phi").is_not_null()

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Return the system metrics; answers without a probability are the worst."""
        if not rows["confidence"].count():
            raise Undefined("no sample has probabilities of its options")
        return {
            **calibration_errors(rows, self.bins),
            **log_losses(rows),
            ORDER_SPREAD.name: mean_spread(rows),
        }

    def chance(self, rows: pl.DataFrame) -> Mapping[str, Chance]:
        """Return the calibration errors of a perfectly calibrated system."""
        return calibration_chance(rows, self.bins)
