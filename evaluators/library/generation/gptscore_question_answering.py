"""GPTScore of answers: how likely a yes is when a language model is asked about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.gptscore import GptScore, aspect_instructions, aspects, score_text
from evaluators.outcome import Graded, Undefined

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

INSTRUCTIONS = aspect_instructions(
    "Answer the question based on the conversation between a human and AI.\n"
    "Question: Are the responses of AI ASPECT? (a) Yes. (b) No.\n"
    "Conversation: {}\n",
    {
        "interest": "interesting",
        "engagement": "engaging",
        "understandability": "understandable",
        "relevance": "relevant to the conversation",
        "specific": "generic or specific to the conversation",
        "correctness": "correct to conversations",
        "semantically_appropriate": "semantically appropriate",
        "fluency": "fluently written",
    },
)


@dataclass(frozen=True, kw_only=True)
class GptscoreQuestionAnswering(GptScore):
    """Would a language model say yes when asked whether the answer is of a kind?

    A language model is shown question and answer as a conversation between a human and an AI, and
    asked about one aspect of the AI's responses; the value is the average negative log-likelihood
    of the tokens of "Answer: Yes": low is good, 0 is certain. The tokens of "Answer:" are the same
    for all systems and dilute the signal of "Yes". The instruction for `specific` offers two
    alternatives, but a yes is scored all the same. Both follow the source.

    Source: GPTScore (Fu et al., 2023) with the instructions of Eval Studio.

    Edges: a blank answer is undefined; a conversation that does not fit the model's window is cut
    from its end (`truncated`). A failed answer has no value, because there is no worst value.
    Values of different models cannot be compared.
    """

    metrics = aspects(
        {
            "interest": "Surprise at the statement that the answer is interesting.",
            "engagement": "Surprise at the statement that the answer is engaging.",
            "understandability": "Surprise at the statement that the answer is understandable.",
            "relevance": "Surprise at the statement that the answer is relevant to the question.",
            "specific": (
                "Surprise at a yes to whether the answer is generic or specific; ill-posed."
            ),
            "correctness": "Surprise at the statement that the answer is correct.",
            "semantically_appropriate": (
                "Surprise at the statement that the answer is semantically appropriate."
            ),
            "fluency": "Surprise at the statement that the answer is fluently written.",
        }
    )
    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})
    instructions = INSTRUCTIONS

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Show the conversation with each question about it."""
        answer = (sample.answer or "").strip()
        if not answer:
            raise Undefined("the answer is blank")
        history = f"human: {(sample.question or '').strip()}\nAI: {answer}"
        values, detail = yield from score_text(INSTRUCTIONS, history, "Answer: Yes")
        return Graded(values, detail)
