"""Perplexity: how surprising the words of the answer are to a language model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from evaluators.flows.requests import LANGUAGE_MODEL, Likelihood
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.likelihoods import average_negative, count_zeros

if TYPE_CHECKING:
    from evaluators.flows.protocols import TokenLikelihood
    from evaluators.flows.requests import Flow
    from evaluators.outcome import Scores
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Perplexity(FlowEvaluator):
    """How surprising is the answer to a language model that reads it word by word?

    The exponential of the mean, over all tokens of the answer but the first, of the negative
    natural logarithm of the token's probability given those before it. A text that exceeds the
    model's window is read by a window that moves over it, and the tokens of all windows are pooled:
    the worst window would dominate a mean of the windows' perplexities. `corpus_perplexity` pools
    the tokens of all answers in the same way, and `median_perplexity` is the median of the answers.

    Sources: perplexity of Eval Studio, whose threshold of 0.5 is below the smallest possible value,
    1, so there is none here; lmppl for the first token, which has no probability.

    Edges: fewer than two tokens: undefined, unless `start_token` gives the first one a probability.
    There is no worst value, so a failed answer has none, and a system with a failed answer has
    neither a mean nor a corpus or median perplexity. Values by different models, or with and
    without start token, cannot be compared.

    Attributes:
        start_token: Whether to put the model's start token first, so that all tokens count; this
            changes short answers a lot.
        stride: Tokens by which the window moves over a long answer, at most half the window.
    """

    metrics = (
        Metric(
            name="perplexity",
            summary="How surprising the answer is to a language model; 1 is not at all.",
            best="low",
            bounds=(1.0, math.inf),
            threshold=None,
            primary=True,
        ),
        Metric(
            name="corpus_perplexity",
            summary="Perplexity of all answers read as one text.",
            best="low",
            bounds=(1.0, math.inf),
            threshold=None,
            level="system",
        ),
        Metric(
            name="median_perplexity",
            summary="The middle one of the answers' perplexities.",
            best="low",
            bounds=(1.0, math.inf),
            threshold=None,
            level="system",
        ),
    )
    reads = frozenset({"answer"})
    evidence = {"tokens": pl.Int64}  # noqa: RUF012 - a class variable, as declared above
    needs = frozenset({LANGUAGE_MODEL})

    start_token: bool = False
    stride: int = 512

    def __post_init__(self) -> None:
        """Validate the stride.

        Raises:
            ValueError: `stride` is less than 1.
        """
        if self.stride < 1:
            raise ValueError(f"stride: expected 1 or more, got {self.stride}")

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Request the log-probabilities of the answer's tokens."""
        answer = (sample.answer or "").strip()
        if not answer:
            raise Undefined("the answer is blank")
        found: TokenLikelihood = yield Likelihood(
            "", answer, stride=self.stride, start=self.start_token
        )
        try:
            value = math.exp(average_negative(found.logprobs))
        except OverflowError:
            raise Undefined("the perplexity exceeds the largest number") from None
        detail = {"tokens": len(found.logprobs), "zeros": count_zeros(found.logprobs)}
        return Graded({"perplexity": value}, detail)

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Pool the tokens of all answers, and compute the median."""
        losses = pl.col("perplexity").log() * pl.col("tokens")
        mean = rows.select(losses.sum() / pl.col("tokens").sum()).item()
        return {
            "corpus_perplexity": math.exp(max(0.0, mean)),
            "median_perplexity": float(rows.select(pl.col("perplexity").median()).item()),
        }
