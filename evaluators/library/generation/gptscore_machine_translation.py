"""GPTScore of translations: how likely the answer and the expected answer are after each other."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.components.gptscore import ReferencedGptScore, aspect_instructions, aspects

INSTRUCTIONS = aspect_instructions(
    "Rewrite the following text ASPECT: {} In other words, ",
    {
        "accuracy": "with its core information and consistent facts",
        "fluency": "to make it more grammatical and well-written",
        "multidimensional_quality": "into high-quality text with its core information",
    },
)


@dataclass(frozen=True, kw_only=True)
class GptscoreMachineTranslation(ReferencedGptScore):
    """Would a language model rewrite the expected translation as the answer, and back?

    A language model is given an instruction with the expected answer, and the average negative
    log-likelihood of the answer's tokens after it is measured; then the two are swapped. The value
    is the mean of both: low is good, 0 is certain. There is an instruction for each aspect. The
    detail has both directions.

    Source: GPTScore (Fu et al., 2023) with the instructions of Eval Studio, which also uses both
    directions. Unlike the paper's code, case, commas and full stops stay unchanged.

    Edges: no expected answer, or only blank ones: not applicable; of several, the first is used. A
    blank answer is undefined, and so is one that alone exceeds the model's window; the text before
    the scored one is cut from its end (`truncated`). A failed answer has no value, because there is
    no worst value. Values of different models cannot be compared.
    """

    metrics = aspects(
        {
            "accuracy": "Surprise at the answer as a text with the same facts as the expected one.",
            "fluency": "Surprise at the answer as a more grammatical wording of the expected one.",
            "multidimensional_quality": (
                "Surprise at the answer as a text of high quality with the same core."
            ),
        }
    )
    instructions = INSTRUCTIONS
