"""GPTScore of translations: how likely the answer and the expected answer are after each other."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from evaluators.components.gptscore import ReferencedGptScore, aspect

INSTRUCTIONS = MappingProxyType(
    {
        "accuracy": (
            "Rewrite the following text with its core information and consistent facts: {} In "
            "other words, "
        ),
        "fluency": (
            "Rewrite the following text to make it more grammatical and well-written: {} In other "
            "words, "
        ),
        "multidimensional_quality": (
            "Rewrite the following text into high-quality text with its core information: {} In "
            "other words, "
        ),
    }
)


@dataclass(frozen=True, kw_only=True)
class GptscoreMachineTranslation(ReferencedGptScore):
    """Would a language model rewrite the expected translation as the answer, and back?

    A language model is given an instruction with the expected answer, and the average negative
    log-likelihood of the answer's tokens after it is measured; then the two change places, and the
    mean of both is the value: low is good, 0 is certain. There is an instruction for each aspect.
    Both directions stand in the detail.

    Source: GPTScore (Fu et al., 2023) with the instructions of Eval Studio, which also lets both
    directions count. Unlike the paper's code, nothing is done to case, commas or full stops.

    Edges: no expected answer, or only blank ones: not applicable; of several, the first is taken.
    A blank answer is undefined, and so is one that alone exceeds the model's window; a text that
    the other is scored after gives way from its end (`truncated`). An answer that failed has no
    value, for there is no worst one. Values of different models cannot be compared.
    """

    metrics = (
        aspect(
            "accuracy",
            "Surprise at the answer as a text with the same facts as the expected one.",
            primary=True,
        ),
        aspect(
            "fluency", "Surprise at the answer as a more grammatical wording of the expected one."
        ),
        aspect(
            "multidimensional_quality",
            "Surprise at the answer as a text of high quality with the same core.",
        ),
    )
    instructions = INSTRUCTIONS
