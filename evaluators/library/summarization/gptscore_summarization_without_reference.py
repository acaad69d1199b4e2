"""GPTScore of summaries without a reference: how likely the summary is after its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.gptscore import GptScore, aspect_instructions, aspects, score_text
from evaluators.outcome import Graded

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

INSTRUCTIONS = aspect_instructions(
    "Generate ASPECT the following text: {}\nTl;dr\n",
    {
        "semantic_coverage": "a summary with as much semantic coverage as possible for",
        "factuality": "a summary with consistent facts for",
        "consistency": "a factually consistent summary for",
        "informativeness": "an informative summary that captures the key points of",
        "coherence": "a coherent summary for",
        "relevance": "a relevant summary with consistent details for",
        "fluency": "a fluent and grammatical summary for",
    },
)


@dataclass(frozen=True, kw_only=True)
class GptscoreSummarizationWithoutReference(GptScore):
    """How likely would a language model write this summary of the source?

    A language model is given an instruction with the source, which is the question's text, and the
    average negative log-likelihood of the answer's tokens after it is the value: low is good, 0 is
    certain. There is an instruction for each aspect.

    Source: GPTScore (Fu et al., 2023) with the instructions of Eval Studio.

    Edges: a blank summary is undefined, and so is one that alone exceeds the model's window; a
    source that does not fit is cut from its end (`truncated`). A failed answer has no value,
    because there is no worst value. Values of different models cannot be compared.
    """

    metrics = aspects(
        {
            "semantic_coverage": (
                "Surprise at the summary as one that covers as much of the source as possible."
            ),
            "factuality": "Surprise at the summary as one with facts consistent with the source.",
            "consistency": "Surprise at the summary as one that is factually consistent.",
            "informativeness": "Surprise at the summary as one that captures the key points.",
            "coherence": "Surprise at the summary as a coherent one.",
            "relevance": "Surprise at the summary as one with relevant, consistent details.",
            "fluency": "Surprise at the summary as a fluent and grammatical one.",
        }
    )
    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})
    instructions = INSTRUCTIONS

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Score the summary after each instruction."""
        values, detail = yield from score_text(
            INSTRUCTIONS, sample.question or "", sample.answer or ""
        )
        return Graded(values, detail)
