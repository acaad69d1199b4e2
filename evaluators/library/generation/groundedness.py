"""Groundedness: whether every sentence of the answer has one like it in the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.similarity import SentenceSimilarityEvaluator, nearest_neighbours
from evaluators.flows.requests import embed
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.sentences import comparable_sentences

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Groundedness(SentenceSimilarityEvaluator):
    """Does every sentence of the answer have one in the retrieved context that is near it?

    For each sentence of the answer the largest cosine similarity with a sentence of the context;
    the smallest of these is the value. The detail has the least grounded sentence and the context's
    sentence nearest to it. Similarity is not truth: a sentence is near its own negation.

    Source: groundedness (semantic similarity) of Eval Studio.

    Edges: a sentence counts if it has at least eleven characters; a text without one is compared as
    a whole. A blank answer, or a context without text, is undefined. So is a value where the model
    gives a sentence of the answer, or all of the context, an empty embedding (a vector of zeros, as
    for a text without a word that it knows); the reason names the sentence. Cosines may be negative
    and are stored unchanged, unless `scale` is `unit`.
    """

    metrics = (
        Metric(
            name="groundedness",
            summary="Similarity of the answer's least grounded sentence with the context.",
            bounds=(-1.0, 1.0),
            primary=True,
        ),
    )
    reads = frozenset({"answer", "contexts"})

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare each sentence of the answer with each of the context."""
        claims = comparable_sentences(sample.answer or "", self.language)
        evidence = [
            (number, sentence)
            for number, chunk in enumerate(sample.contexts or ())
            for sentence in comparable_sentences(chunk, self.language)
        ]
        if not claims:
            raise Undefined("the answer has no sentence")
        if not evidence:
            raise Undefined("the context has no sentence")
        vectors = yield from embed([*claims, *(sentence for _, sentence in evidence)])
        for claim, vector in zip(claims, vectors, strict=False):
            if not vector.any():
                raise Undefined(f"the embedding of a sentence of the answer is empty: {claim!r}")
        if not any(vector.any() for vector in vectors[len(claims) :]):
            text = evidence[0][1]
            raise Undefined(f"the embedding of the context is empty, such as that of {text!r}")
        grounds, places = nearest_neighbours(vectors[: len(claims)], vectors[len(claims) :])
        least = int(grounds.argmin())
        context, ground = evidence[int(places[least])]
        return Graded(
            {"groundedness": self.scaled(float(grounds[least]))},
            {
                "least_grounded": claims[least],
                "nearest": ground,
                "context": context,
                "sentences": len(claims),
            },
        )
