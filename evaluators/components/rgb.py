"""RGB: what its four evaluators share, and the accuracy of an answer by three sets of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import polars as pl

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded
from evaluators.text.rgb import exact, normalized
from evaluators.text.rgb.flexible import NormalizedAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.sample import Sample

_EXPECTED = frozenset({"expected_answers", "expected_parts"})


@dataclass(frozen=True, kw_only=True)
class RgbEvaluator(RowEvaluator):
    """Grades the questions of one scenario, which has the name of the evaluator.

    Attributes:
        language: `zh` removes all spaces from the answer before the exact rule applies, as the
            benchmark does for its Chinese questions.
    """

    optional = frozenset({"scenario"})
    reads = frozenset({"answer"})
    version = 2

    language: Literal["en", "zh"] = "en"

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the reason: another scenario."""
        scenario = pl.col("scenario")
        return (pl.when(scenario != self.name).then(pl.format("the scenario is {}", scenario)),)


@dataclass(frozen=True, kw_only=True)
class RgbAccuracyEvaluator(RgbEvaluator):
    """Grades answers of which it is known what is right; by default by their accuracy.

    Attributes:
        strict: Whether the flexible rules ask for an answer that equals the expected one, both
            normalised, as the source's `strict` does. The other rules are the same.
    """

    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            name="accuracy",
            pass_fail=True,
            summary="Whether the answer is right by flexible matching.",
            primary=True,
        ),
        Metric(
            name="accuracy_exact",
            pass_fail=True,
            summary="Whether the answer is right by the benchmark's own script, refusals being "
            "wrong.",
        ),
        Metric(
            name="accuracy_normalized",
            pass_fail=True,
            summary="Whether the answer holds what is expected, however spaces and case are "
            "written.",
        ),
    )
    optional = _EXPECTED | {"scenario"}

    strict: bool = False

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the reason: another scenario, or no expected answer."""
        return (*super().not_applicable_reasons(), _nothing_expected_reason())

    def grade(self, sample: Sample) -> Graded:
        """Apply the three sets of rules to every part.

        The detail gives the flexible rule that found each part; null if none did.
        """
        answer, parts = sample.answer or "", expected_parts(sample)
        reply = NormalizedAnswer(answer)
        rules = [reply.rule_of_any(spellings, strict=self.strict) for spellings in parts]
        text, plain = exact.remove_spaces(answer, self.language), normalized.normalize(answer)
        scores = {
            "accuracy": float(bool(rules) and all(rules)),
            "accuracy_exact": float(exact.is_correct(text, parts)),
            "accuracy_normalized": float(normalized.is_correct(plain, parts)),
        }
        return Graded(scores, {"rules": rules})


def _nothing_expected_reason() -> pl.Expr:
    """Return the reason where the expected answer is unknown."""
    answers = pl.col("expected_answers")
    spellings = pl.col("expected_parts").list.eval(pl.element().explode())
    known = [
        texts.list.eval(pl.element().str.strip_chars().str.len_bytes() > 0).list.any()
        for texts in (answers, spellings)
    ]
    return pl.when(~pl.any_horizontal(part.fill_null(value=False) for part in known)).then(
        pl.lit("no expected_answers")
    )


def expected_parts(sample: Sample) -> list[list[str]]:
    """Return the parts of a right answer, each as a list of spellings.

    Without `expected_parts` there is one part, whose spellings are the expected answers.
    """
    parts = [[text for text in part if text is not None] for part in sample.expected_parts or ()]
    if any(text.strip() for part in parts for text in part):
        return parts
    return [[text for text in sample.expected_answers or () if text is not None]]
