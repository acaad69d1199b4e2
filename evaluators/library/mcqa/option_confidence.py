"""Option confidence: the probabilities of a multiple-choice question's options."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from evaluators.components.calibration_error import calibration_error, chance_levels
from evaluators.components.option_orders import read_option_orders
from evaluators.kinds.frame import FrameEvaluator
from evaluators.metric import Metric
from evaluators.outcome import NotApplicable, Scores, Undefined

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.outcome import Chance, Value

_NEVER = float("-inf")
_FLOOR = 1e-12
_ROUNDING = 1e-3


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
    probable options (`accuracy_first_argmax`).

    Edges: an option whose log-probability is missing (null) or minus infinity has probability 0.
    Right option tied with another: not accurate. Right option of probability 0: no negative
    log-likelihood, which would be infinite. No option of any probability: phi 0, delta 0 and not
    accurate; the normalised figures are undefined. No log-probabilities at all where the system
    gives them elsewhere (an empty list): the worst value of every bounded metric. One option only:
    no delta. Undefined altogether: the position of the right option lies outside the list; the
    list is not as long as the list of choices; a log-probability is above 0.001. One between 0 and
    that is rounding and read as 0; likewise an option mass of up to 1.001 is 1, while a larger one
    is undefined, as the options are then not outcomes of one distribution (texts scored by their
    mean per token, say). A failed answer, one without log-probabilities, or one whose options have
    no probability counts as certain and wrong in the calibration errors, so that the maximum is 1,
    as probability 0 in the log losses, and as 1 in the order spread of a system that was asked in
    several orders. An answer in one order only has no part in the spread.

    Attributes:
        bins: The number of bins of the calibration error.
    """

    metrics = (
        Metric(
            name="accuracy",
            pass_fail=True,
            summary="Whether the right option is more probable than every other.",
        ),
        Metric(
            name="accuracy_first_argmax",
            pass_fail=True,
            summary="Whether the first of the most probable options is the right one.",
        ),
        Metric(name="phi", summary="Probability of the right option as given.", primary=True),
        Metric(
            name="delta",
            summary="Probability of the right option less that of the most probable wrong one.",
            bounds=(-1.0, 1.0),
        ),
        Metric(name="option_mass", summary="Sum of the probabilities of all options as given."),
        Metric(
            name="phi_normalized",
            summary="Probability of the right option among the options alone.",
        ),
        Metric(
            name="delta_normalized",
            summary="Delta with the probabilities among the options alone.",
            bounds=(-1.0, 1.0),
        ),
        Metric(
            name="negative_log_likelihood",
            summary="Negative natural logarithm of the right option's normalised probability.",
            best="low",
            bounds=(0.0, float("inf")),
        ),
        Metric(
            name="brier",
            summary="Squared distance of the normalised probabilities from certainty in the right "
            "option, summed over the options.",
            best="low",
            bounds=(0.0, 2.0),
        ),
        Metric(
            name="negative_log_likelihood_unnormalized",
            summary="Negative natural logarithm of the right option's probability as given.",
            best="low",
            bounds=(0.0, float("inf")),
            threshold=None,
        ),
        Metric(
            name="brier_unnormalized",
            summary="Squared distance of the probabilities as given from certainty in the right "
            "option; the probability outside the options counts as a wrong one.",
            best="low",
            bounds=(0.0, 2.0),
            threshold=None,
        ),
        Metric(
            name="expected_calibration_error",
            summary="Mean distance of confidence from accuracy over bins of confidence.",
            best="low",
            level="system",
        ),
        Metric(
            name="maximum_calibration_error",
            summary="Largest distance of confidence from accuracy in a bin of confidence.",
            best="low",
            level="system",
        ),
        Metric(
            name="log_loss",
            summary="Mean negative log-likelihood in which probability 0 counts as 1e-12.",
            best="low",
            bounds=(0.0, float("inf")),
            level="system",
        ),
        Metric(
            name="expected_calibration_error_debiased",
            summary="Expected calibration error less its chance level.",
            best="low",
            bounds=(-1.0, 1.0),
            threshold=None,
            level="system",
            debiases="expected_calibration_error",
        ),
        Metric(
            name="maximum_calibration_error_debiased",
            summary="Maximum calibration error less its chance level.",
            best="low",
            bounds=(-1.0, 1.0),
            threshold=None,
            level="system",
            debiases="maximum_calibration_error",
        ),
        Metric(
            name="expected_calibration_error_unnormalized",
            summary="Expected calibration error of the probabilities as given; the probability "
            "outside the options counts as a wrong one.",
            best="low",
            threshold=None,
            level="system",
        ),
        Metric(
            name="log_loss_unnormalized",
            summary="Mean unnormalised negative log-likelihood in which probability 0 counts as "
            "1e-12.",
            best="low",
            bounds=(0.0, float("inf")),
            threshold=None,
            level="system",
        ),
        Metric(
            name="order_spread",
            summary="Mean difference between the largest and the smallest phi of a question over "
            "the orders of its options.",
            best="low",
            threshold=None,
            level="system",
        ),
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
    version = 3
    undefined = "the log-probabilities given for the options do not allow it"

    bins: int = 15

    def __post_init__(self) -> None:
        """Validate the number of bins.

        Raises:
            ValueError: The number is below 1.
        """
        if self.bins < 1:
            raise ValueError(f"there must be at least one bin, got {self.bins}")

    def prepare(self, samples: pl.DataFrame) -> pl.DataFrame:
        """Add shared columns: the relevant log-probabilities, and sums over the options."""
        log, element = pl.col("log"), pl.element()
        read = pl.when(element.is_between(0, _ROUNDING)).then(0.0).otherwise(element)
        options = samples.select(
            log=pl.col("choice_logprobs").list.eval(read.fill_null(_NEVER)),
            place=pl.col("correct_choice").cast(pl.Int64),
            listed=pl.coalesce(pl.col("choices").list.len(), pl.col("choice_logprobs").list.len()),
        )
        count = log.list.len()
        usable = (
            pl.col("place").is_between(0, count - 1)
            & (count == pl.col("listed"))
            & (log.list.max() <= 0)
        )
        first = options.select(
            absent=count == 0,
            log=pl.when(usable).then(log),
            right=pl.when(usable).then(log.list.get(pl.col("place"), null_on_oob=True)),
            place="place",
        ).with_columns(top=log.list.max())
        # Distances from the most probable option: the shares stay exact where p itself is 0.
        behind = pl.when(pl.col("top") > _NEVER).then(log - pl.col("top"))
        second = pl.when(element < 0).then(element)
        orders = read_option_orders(samples["extra"], samples["correct_choice"])
        return first.with_columns(*orders, behind=behind).select(
            "absent",
            "right",
            "top",
            "bounded",
            "order_spread",
            options=log.list.len(),
            first_best=log.list.arg_max() == pl.col("place"),
            chosen=pl.when(pl.col("behind").is_not_null()).then(log.list.arg_max()),
            equals=pl.col("behind").list.eval(element == 0).list.sum(),
            next=pl.col("behind").list.eval(second).list.max(),
            mass=log.list.eval(element.exp()).list.sum(),
            scale=pl.col("behind").list.eval(element.exp()).list.sum(),
            squares=pl.col("behind").list.eval((2 * element).exp()).list.sum(),
        )

    def expressions(self) -> Mapping[str, pl.Expr]:
        """Return the formulas; the worst value where there are no log-probabilities."""
        right, top, mass, scale = map(pl.col, ("right", "top", "mass", "scale"))
        some, best, tied = top > _NEVER, right == top, pl.col("equals") > 1
        rival = pl.when(best & ~tied).then("next").otherwise(0.0)
        share, rival_share = (right - top).exp() / scale, rival.exp() / scale
        wrong_shares = pl.col("squares") / scale**2 - share**2
        several = pl.col("options") > 1
        # A mass above 1 by a rounding error is scaled down to 1.
        unit = pl.max_horizontal(mass, pl.lit(1.0))
        given_squares = (pl.col("squares") * (2 * top).exp()).fill_null(0.0) - (2 * right).exp()
        formulas = {
            "accuracy": some & best & ~tied,
            "accuracy_first_argmax": some & pl.col("first_best"),
            "phi": right.exp(),
            "delta": pl.when(several).then(
                right.exp() - pl.when(some).then((top + rival).exp()).otherwise(0.0)
            ),
            "option_mass": pl.when(mass <= 1)
            .then(mass)
            .when(mass <= 1 + _ROUNDING)
            .then(pl.lit(1.0)),
            "phi_normalized": share,
            "delta_normalized": pl.when(several).then(share - rival_share),
            "negative_log_likelihood": pl.when(right > _NEVER).then(top - right + scale.log()),
            "brier": (1 - share) ** 2 + wrong_shares,
            "negative_log_likelihood_unnormalized": pl.when(right > _NEVER).then(0.0 - right),
            "brier_unnormalized": pl.when(mass <= 1 + _ROUNDING).then(
                (1 - right.exp() / unit) ** 2 + given_squares / unit**2 + _outside() ** 2
            ),
        }
        worst = {metric.name: metric.worst for metric in self.sample_metrics}
        return {
            name: pl.when("absent")
            .then(pl.lit(worst[name], pl.Float64))
            .otherwise(formula.cast(pl.Float64))
            for name, formula in formulas.items()
        }

    def evidence_expressions(self) -> Mapping[str, pl.Expr]:
        """Return the preferred option, its probability, whether it is tied, and the rest.

        The probability is normalised (`confidence`) and as given (`top`); `outside` is the
        probability outside the options, `bounded` the letters whose probability is a bound.
        """
        is_known = pl.col("right").is_not_null()
        return {
            "chosen": pl.col("chosen"),
            "confidence": 1 / pl.col("scale"),
            "tied": pl.col("equals") > 1,
            "top": pl.col("top").exp(),
            "outside": _outside(),
            "order_spread": pl.when(is_known).then("order_spread"),
            "bounded": pl.when(is_known).then("bounded"),
        }

    def counted(self) -> pl.Expr:
        """Return the samples with a phi; failed answers have the worst."""
        return pl.col("phi").is_not_null()

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Compare confidence with accuracy; answers without a probability are the worst."""
        known = rows.drop_nulls("confidence")
        if not known.height:
            raise Undefined("no sample has probabilities of its options")
        normalized = calibration_error(
            known["confidence"].to_numpy(),
            known["accuracy"].to_numpy() == 1,
            self.bins,
            failed=rows.height - known.height,
        )
        given = rows.drop_nulls("top")
        top, outside = given["top"].to_numpy(), given["outside"].to_numpy()
        unnormalized = calibration_error(
            np.maximum(top, outside),
            (given["accuracy"].to_numpy() == 1) & (top > outside),
            self.bins,
            failed=rows.height - given.height,
        )
        return {
            "expected_calibration_error": normalized.expected,
            "maximum_calibration_error": normalized.maximum,
            "log_loss": _mean_loss(rows["negative_log_likelihood"]),
            "expected_calibration_error_unnormalized": unnormalized.expected,
            "log_loss_unnormalized": _mean_loss(rows["negative_log_likelihood_unnormalized"]),
            "order_spread": _mean_spread(rows),
        }

    def chance(self, rows: pl.DataFrame) -> Mapping[str, Chance]:
        """Return what a perfectly calibrated system has.

        With failed answers the maximum is 1 by definition, and noise has no part in it.
        """
        confidence = rows["confidence"].drop_nulls().to_numpy()
        failed = rows.height - len(confidence)
        expected, maximum = chance_levels(confidence, self.bins, failed)
        levels = {"expected_calibration_error": expected}
        return levels if failed else {**levels, "maximum_calibration_error": maximum}


def _outside() -> pl.Expr:
    """Return the probability outside the options."""
    return 1 - pl.col("mass").clip(upper_bound=1.0)


def _mean_spread(rows: pl.DataFrame) -> Value:
    """Return the mean spread; answers without a probability have the worst."""
    known = rows.drop_nulls("confidence")["order_spread"].drop_nulls()
    if not len(known):
        return NotApplicable("no question was asked with its options in several orders")
    silent = rows["confidence"].null_count()
    return float((known.sum() + silent) / (len(known) + silent))


def _mean_loss(losses: pl.Series) -> float:
    """Return the mean of losses in which a missing one has the probability `_FLOOR`."""
    largest = -math.log(_FLOOR)
    return float(losses.fill_null(largest).clip(upper_bound=largest).to_numpy().mean())
