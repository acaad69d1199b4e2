"""Information integration: answers that combine several documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.kinds.row import RowEvaluator
from evaluators.text.rgb.accuracy import (
    ACCURACIES,
    EXPECTED,
    accuracies,
    expected_parts,
    nothing_expected_reason,
    other_scenario_reason,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from evaluators.outcome import Graded
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class InformationIntegration(RowEvaluator):
    """Does the answer combine information from different documents?

    The rules are the same as for noise robustness. The answer must contain every one of the
    question's `expected_parts`, in one of its spellings. The detail gives for each part the
    flexible rule that found it; null for a missing part.

    Sources: the RGB evaluation of the RGBMetrics application (accuracy); Chen et al.,
    "Benchmarking Large Language Models in Retrieval-Augmented Generation", AAAI 2024, and its
    script (exact).

    Edges: without parts, any of the expected answers will do, as one text. No part and no
    expected answer, or only blank ones: not applicable. A part without a spelling is never found.
    A question of another `scenario` is not applicable; one without a scenario is graded. An empty
    answer is wrong.

    Attributes:
        language: `zh` removes all spaces from the answer before the exact rule applies, as the
            benchmark does for its Chinese questions.
    """

    metrics = ACCURACIES
    reads = frozenset({"answer"})
    optional = EXPECTED | {"scenario"}

    language: Literal["en", "zh"] = "en"

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the reason: another scenario, or no expected answer."""
        return other_scenario_reason(self.name), nothing_expected_reason()

    def grade(self, sample: Sample) -> Graded:
        """Apply the three sets of rules to every part."""
        return accuracies(sample.answer or "", expected_parts(sample), self.language)
