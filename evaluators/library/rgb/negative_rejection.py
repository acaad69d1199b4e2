"""Negative rejection: declining to answer where the documents hold no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.rgb import RgbEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded
from evaluators.text.rgb import exact, normalized
from evaluators.text.rgb.flexible import find_rejection

if TYPE_CHECKING:
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class NegativeRejection(RgbEvaluator):
    """Does the system decline to answer where none of the documents holds the answer?

    The rejection rate counts answers that hold one of 27 phrases, from "insufficient information"
    to "unclear", anywhere and in any case; the first of them is the evidence. It is generous: "the
    Tomb of the Unknown Soldier" is a rejection. `rejection_rate_exact` counts those with exactly
    "insufficient information" (or its Chinese counterpart); `rejection_rate_sentence` those with
    the whole sentence that the benchmark's prompt asks for, "cannot" and "can not" being one.

    Sources: the RGB evaluation of the RGBMetrics application (flexible); Chen et al.,
    "Benchmarking Large Language Models in Retrieval-Augmented Generation", AAAI 2024, figure 3
    (the sentence), and its script (exact).

    Edges: an empty answer is not a rejection: 0. Phrases with an apostrophe are found with the
    straight one only. The benchmark's script adds right answers to its rate; here they are not
    rejections. Every question is assumed to be one that the documents do not answer: a question of
    another `scenario` is not applicable, one without a scenario is graded.
    """

    metrics = (
        Metric(
            name="rejection_rate",
            pass_fail=True,
            summary="Whether the answer holds a phrase that declines to answer.",
            primary=True,
        ),
        Metric(
            name="rejection_rate_exact",
            pass_fail=True,
            summary='Whether the answer says "insufficient information", as the script looks.',
        ),
        Metric(
            name="rejection_rate_sentence",
            pass_fail=True,
            summary="Whether the answer holds the whole sentence that the prompt asks for.",
        ),
    )

    def grade(self, sample: Sample) -> Graded:
        """Search the phrases."""
        answer = sample.answer or ""
        phrase = find_rejection(answer)
        scores = {
            "rejection_rate": float(phrase is not None),
            "rejection_rate_exact": float(
                exact.is_refusal(exact.remove_spaces(answer, self.language))
            ),
            "rejection_rate_sentence": float(normalized.is_refusal(normalized.normalize(answer))),
        }
        return Graded(scores, {"phrase": phrase})
