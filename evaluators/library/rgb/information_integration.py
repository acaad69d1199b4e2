"""Information integration: answers that have to be put together from several documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.kinds.row import RowEvaluator
from evaluators.text.rgb.rightness import (
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
    """Does the answer put together what stands in different documents?

    The rules are those of noise robustness. What has to be put together are the question's
    `expected_parts`: every part must be found in one of its spellings. The detail tells for each
    part by which flexible rule it was found, null for one that is missing.

    Sources: the RGB evaluation of the RGBMetrics application (accuracy); Chen et al.,
    "Benchmarking Large Language Models in Retrieval-Augmented Generation", AAAI 2024, and its
    script (exact).

    Edges: without parts, any of the expected answers will do, as one text. No part and no
    expected answer, or only blank ones: not applicable. A part without a spelling is never found.
    A question of another `scenario` is not applicable; one without a scenario is graded. An empty
    answer is wrong.

    Attributes:
        language: `zh` takes all blanks out of the answer before the exact rule looks at it, as
            the benchmark does for its Chinese questions.
    """

    metrics = ACCURACIES
    reads = frozenset({"answer"})
    optional = EXPECTED | {"scenario"}

    language: Literal["en", "zh"] = "en"

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Another scenario, or no expected answer."""
        return other_scenario_reason(self.name), nothing_expected_reason()

    def grade(self, sample: Sample) -> Graded:
        """Apply the three sets of rules to every part; see the class."""
        return accuracies(sample.answer or "", expected_parts(sample), self.language)
