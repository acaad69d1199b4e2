"""GPTScore of summaries that have a reference: how likely each is after the other."""

from __future__ import annotations

from dataclasses import dataclass

from evaluators.components.gptscore import ReferencedGptScore, aspect_instructions, aspects

INSTRUCTIONS = aspect_instructions(
    "Rewrite the following text ASPECT. {} In other words, ",
    {
        "semantic_coverage": "with the same semantics",
        "factuality": "with consistent facts",
        "informativeness": "with its core information",
        "coherence": "into a coherent text",
        "relevance": "with consistent details",
        "fluency": "into a fluent and grammatical text",
    },
)


@dataclass(frozen=True, kw_only=True)
class GptscoreSummarizationWithReference(ReferencedGptScore):
    """Would a language model rewrite the expected summary as the answer, and back?

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
            "semantic_coverage": (
                "Surprise at the summary as a text with the same semantics as the expected one."
            ),
            "factuality": (
                "Surprise at the summary as a text with facts consistent with the expected one."
            ),
            "informativeness": (
                "Surprise at the summary as a text with the core of the expected one."
            ),
            "coherence": "Surprise at the summary as a coherent wording of the expected one.",
            "relevance": (
                "Surprise at the summary as a text with details consistent with the expected one."
            ),
            "fluency": "Surprise at the summary as a fluent wording of the expected one.",
        }
    )
    instructions = INSTRUCTIONS
