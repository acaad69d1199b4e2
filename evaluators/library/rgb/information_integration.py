"""Information integration: answers that combine several documents."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.components.rgb import RgbAccuracyEvaluator


@dataclass(frozen=True, kw_only=True)
class InformationIntegration(RgbAccuracyEvaluator):
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
    """
