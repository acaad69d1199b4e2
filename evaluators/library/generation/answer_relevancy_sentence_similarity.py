"""Answer relevancy by similarity: whether some sentence of the answer is near the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.similarity import SentenceSimilarityEvaluator, cosines
from evaluators.flows.requests import embed
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.sentences import comparable_sentences

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class AnswerRelevancySentenceSimilarity(SentenceSimilarityEvaluator):
    """Does some sentence of the answer mean something near the question?

    The largest cosine similarity of the question's vector with the vector of a sentence of the
    answer. Similarity is not truth: "The capital of France is not Paris." is near the question for
    the capital, and repeating the question is worth 1.

    Source: answer relevancy (sentence similarity) of Eval Studio.

    Edges: a sentence counts if it has at least eleven characters; an answer without one is compared
    as a whole. A blank answer is undefined. Cosines may be negative and are stored unchanged,
    unless `scale` is `unit`.
    """

    metrics = (
        Metric(
            name="answer_relevancy",
            summary="Similarity of the question with the sentence of the answer nearest to it.",
            bounds=(-1.0, 1.0),
            primary=True,
        ),
    )
    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare the question with each sentence of the answer."""
        sentences = comparable_sentences(sample.answer or "", self.language)
        if not sentences:
            raise Undefined("the answer has no sentence")
        question, *vectors = yield from embed([sample.question or "", *sentences])
        similarities = cosines([question], vectors)[0]
        best = int(similarities.argmax())
        return Graded(
            {"answer_relevancy": self.scaled(float(similarities[best]))},
            {"nearest": sentences[best], "sentences": len(sentences)},
        )
