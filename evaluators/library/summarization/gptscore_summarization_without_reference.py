"""GPTScore of summaries without a reference: how likely the summary is after its source."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluators.components.gptscore import GptScore, aspect, score_text
from evaluators.outcome import Graded

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

INSTRUCTIONS = MappingProxyType(
    {
        "semantic_coverage": (
            "Generate a summary with as much semantic coverage as possible for the following text: "
            "{}\nTl;dr\n"
        ),
        "factuality": (
            "Generate a summary with consistent facts for the following text: {}\nTl;dr\n"
        ),
        "consistency": (
            "Generate a factually consistent summary for the following text: {}\nTl;dr\n"
        ),
        "informativeness": (
            "Generate an informative summary that captures the key points of the following text: "
            "{}\nTl;dr\n"
        ),
        "coherence": "Generate a coherent summary for the following text: {}\nTl;dr\n",
        "relevance": (
            "Generate a relevant summary with consistent details for the following text: "
            "{}\nTl;dr\n"
        ),
        "fluency": "Generate a fluent and grammatical summary for the following text: {}\nTl;dr\n",
    }
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

    metrics = (
        aspect(
            "semantic_coverage",
            "Surprise at the summary as one that covers as much of the source as possible.",
            primary=True,
        ),
        aspect(
            "factuality", "Surprise at the summary as one with facts consistent with the source."
        ),
        aspect("consistency", "Surprise at the summary as one that is factually consistent."),
        aspect("informativeness", "Surprise at the summary as one that captures the key points."),
        aspect("coherence", "Surprise at the summary as a coherent one."),
        aspect("relevance", "Surprise at the summary as one with relevant, consistent details."),
        aspect("fluency", "Surprise at the summary as a fluent and grammatical one."),
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
