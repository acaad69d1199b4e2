"""Noise robustness: right answers despite irrelevant retrieved documents."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.components.rgb import RgbAccuracyEvaluator


@dataclass(frozen=True, kw_only=True)
class NoiseRobustness(RgbAccuracyEvaluator):
    """Is the answer right although some of the documents are noise?

    Accuracy takes the first rule that fits: the normalised answer (lower case, final marks cut,
    single spaces) contains the expected one; it is shorter and contained in it; it has at least 80
    % of its different words. These rules are generous ("a" is right where "Paris" is expected, so
    is "It is not Paris."), so there are two stricter metrics. `accuracy_exact`: the answer in lower
    case contains the expected one and does not say "insufficient information".
    `accuracy_normalized`: both after NFKC, in lower case, with single spaces. Composed and
    decomposed letters (NFC, NFD) are equal by all rules. Slice by `noise_ratio` to see how accuracy
    falls with the noise.

    Sources: the RGB evaluation of the RGBMetrics application (accuracy); Chen et al.,
    "Benchmarking Large Language Models in Retrieval-Augmented Generation", AAAI 2024, and its
    script (exact).

    Edges: any of several expected answers will do; if there are `expected_parts`, the answer must
    contain each part in one of its spellings. No expected answer, or only blank ones: not
    applicable; a blank one among others is found in every answer by the exact rule and in none by
    the others. A question of another `scenario` is not applicable; one without a scenario is
    graded. An empty answer is wrong.
    """
