"""Soft context relevancy: similarity of the retrieved chunks with the question."""

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
class SoftContextRelevancy(SentenceSimilarityEvaluator):
    """How similar is the retrieved context to the question?

    The relevancy of a chunk is the largest cosine similarity of the question with one of its
    sentences. `recall_relevancy` is that of the best chunk, `precision_relevancy` the mean over all
    chunks: an irrelevant one lowers it.

    Source: context relevancy (soft recall and precision) of Eval Studio.

    Edges: a sentence counts if it has at least eleven characters; a chunk without one is compared
    as a whole. Blank chunks are left out of the mean and counted in the detail; a context with
    blank chunks only is undefined. Cosines may be negative and are stored unchanged, unless
    `scale` is `unit`.
    """

    metrics = (
        Metric(
            name="recall_relevancy",
            summary="Similarity of the question with the retrieved chunk nearest to it.",
            bounds=(-1.0, 1.0),
            primary=True,
        ),
        Metric(
            name="precision_relevancy",
            summary="Mean over the retrieved chunks of their similarity with the question.",
            bounds=(-1.0, 1.0),
        ),
    )
    reads = frozenset({"question", "contexts"})
    non_empty = frozenset({"question"})

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare the question with each sentence of each chunk."""
        contexts = sample.contexts or ()
        cut = [comparable_sentences(chunk, self.language) for chunk in contexts]
        chunks = [sentences for sentences in cut if sentences]
        if not chunks:
            raise Undefined("the context has no sentence")
        texts = [sentence for sentences in chunks for sentence in sentences]
        question, *vectors = yield from embed([sample.question or "", *texts])
        similarities = iter(cosines([question], vectors)[0].tolist())
        relevancies = [
            self.scaled(max(next(similarities) for _ in sentences)) for sentences in chunks
        ]
        return Graded(
            {
                "recall_relevancy": max(relevancies),
                "precision_relevancy": sum(relevancies) / len(relevancies),
            },
            {"chunks": relevancies, "blank_chunks": len(contexts) - len(chunks)},
        )
