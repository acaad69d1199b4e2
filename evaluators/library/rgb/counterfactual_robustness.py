"""Counterfactual robustness: noticing that the documents are wrong, and knowing better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.rgb import RgbAccuracyEvaluator, expected_parts
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, Undefined, Value
from evaluators.text.rgb import exact, normalized
from evaluators.text.rgb.flexible import NormalizedAnswer, find_detection

if TYPE_CHECKING:
    from evaluators.sample import Sample

_UNDETECTED = "the answer detects no error"


@dataclass(frozen=True, kw_only=True)
class CounterfactualRobustness(RgbAccuracyEvaluator):
    """Does the system notice an error planted in the documents, and give the right answer?

    Flexible rules: an error is detected where the answer holds one of 16 phrases ("incorrect",
    "however" and the like, the first of them is the evidence), "not X" or "X is wrong", X being the
    counterfactual answer. It is corrected where the answer is right by the rules of noise
    robustness and does not merely repeat X; whether the error was detected does not matter. The
    source counts as correct exactly what it counts as corrected: accuracy is the same number.

    Exact rules: detected is an answer with "factual errors", right one that holds what is expected
    and is not a refusal. `error_correction_rate_exact` is the share of right answers among those
    that detect an error; `error_correction_overall_exact` is the share of all answers that do both.
    The rules `_sentence` ask instead for the whole sentence that the benchmark's prompt dictates,
    and for right answers as `accuracy_normalized` does.

    Sources: the RGB evaluation of the RGBMetrics application (flexible); Chen et al.,
    "Benchmarking Large Language Models in Retrieval-Augmented Generation", AAAI 2024, and its
    script (exact).

    Edges: the exact correction rates are undefined for an answer that detects no error, and they
    leave out failed answers; both count as 0 in the overall ones. A refusal beside a detected error
    is not a correction. No counterfactual answer given, or a blank one: the phrases alone count. No
    expected answer, or only blank ones: not applicable; alternatives and parts are the same as for
    noise robustness. A question of another `scenario` is not applicable; one without a scenario is
    graded. An empty answer detects and corrects nothing.
    """

    metrics = (
        Metric(
            name="error_detection_rate",
            pass_fail=True,
            summary="Whether the answer holds a phrase that calls the documents wrong.",
            primary=True,
        ),
        Metric(
            name="error_correction_rate",
            pass_fail=True,
            summary="Whether the answer is right and does not merely repeat the planted error.",
        ),
        Metric(
            name="accuracy",
            pass_fail=True,
            summary="Whether the answer is right and does not merely repeat the planted error.",
        ),
        Metric(
            name="error_detection_rate_exact",
            pass_fail=True,
            summary='Whether the answer says "factual errors", as the benchmark\'s script looks.',
        ),
        Metric(
            name="error_correction_rate_exact",
            pass_fail=True,
            summary="Whether an answer that detects an error is right, by the benchmark's script.",
        ),
        Metric(
            name="error_correction_overall_exact",
            pass_fail=True,
            summary="Whether the answer detects the error and is right, by the benchmark's script.",
        ),
        Metric(
            name="accuracy_exact",
            pass_fail=True,
            summary="Whether the answer is right by the benchmark's own script.",
        ),
        Metric(
            name="error_detection_rate_sentence",
            pass_fail=True,
            summary="Whether the answer holds the whole sentence that the prompt asks for.",
        ),
        Metric(
            name="error_correction_rate_sentence",
            pass_fail=True,
            summary="Whether an answer with the whole sentence is right, after normalising.",
        ),
        Metric(
            name="error_correction_overall_sentence",
            pass_fail=True,
            summary="Whether the answer holds the whole sentence and is right, after normalising.",
        ),
        Metric(
            name="accuracy_normalized",
            pass_fail=True,
            summary="Whether the answer holds what is expected, however spaces and case are "
            "written.",
        ),
    )
    optional = RgbAccuracyEvaluator.optional | {"counterfactual_answer"}

    def grade(self, sample: Sample) -> Graded:
        """Apply the three sets of rules."""
        answer, parts = sample.answer or "", expected_parts(sample)
        reply, wrong = NormalizedAnswer(answer), sample.counterfactual_answer
        phrase = find_detection(answer, wrong)
        corrected = float(
            all(reply.corrects(spellings, wrong, strict=self.strict) for spellings in parts)
        )
        scores: dict[str, Value] = {
            "error_detection_rate": float(phrase is not None),
            "error_correction_rate": corrected,
            "accuracy": corrected,
        }
        text = exact.remove_spaces(answer, self.language)
        right = exact.is_correct(text, parts)
        scores |= _correction("exact", detected=exact.reports_errors(text), right=right)
        scores["accuracy_exact"] = float(right)
        text = normalized.normalize(answer)
        right = normalized.is_correct(text, parts)
        scores |= _correction("sentence", detected=normalized.reports_errors(text), right=right)
        scores["accuracy_normalized"] = float(right)
        return Graded(scores, {"phrase": phrase})

    def on_failure(self, sample: Sample) -> Graded:  # noqa: ARG002 - the same for every sample
        """Leave a failed answer out of the correction rates, as it detects no error."""
        nothing = NotApplicable(_UNDETECTED)
        return Graded(
            dict.fromkeys(
                ("error_correction_rate_exact", "error_correction_rate_sentence"), nothing
            )
        )


def _correction(rules: str, *, detected: bool, right: bool) -> dict[str, Value]:
    """Detection, and correction among the detected and overall."""
    return {
        f"error_detection_rate_{rules}": float(detected),
        f"error_correction_rate_{rules}": float(right) if detected else Undefined(_UNDETECTED),
        f"error_correction_overall_{rules}": float(detected and right),
    }
