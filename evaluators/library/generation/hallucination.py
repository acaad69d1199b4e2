"""Hallucination: whether the retrieved context supports the answer, by a trained model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.flows.requests import HALLUCINATION, compare
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.requests import Flow
    from evaluators.outcome import Value
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class Hallucination(FlowEvaluator):
    """Does the retrieved context support the answer?

    A model reads a chunk of the context and the answer, in this order, and gives the probability
    that the answer is consistent with the chunk; the value is that of the chunk that supports it
    best. High is good, as in the source, despite the name. `hallucination_joined` is the same for
    all chunks joined to one text: an answer that combines two chunks follows from neither alone.
    Text beyond the model's window is ignored.

    Source: hallucination of Eval Studio, which uses Vectara's HHEM. Any cross-encoder with one
    output works, and so does any entailment model (its probability of entailment is used).

    Edges: a blank answer, or a context without text, is undefined; so is an answer that alone
    exceeds the model's window, because answers are not cut.
    """

    metrics = (
        Metric(
            name="hallucination",
            summary="Probability that the answer is consistent with the context that fits it best.",
            primary=True,
        ),
        Metric(
            name="hallucination_joined",
            summary="Probability that the answer is consistent with all of the context together.",
        ),
    )
    reads = frozenset({"answer", "contexts"})
    needs = frozenset({HALLUCINATION})

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare the answer with each chunk, and with all chunks together."""
        answer = (sample.answer or "").strip()
        chunks = [(at, text) for at, text in enumerate(sample.contexts or ()) if text.strip()]
        if not answer:
            raise Undefined("the answer is blank")
        if not chunks:
            raise Undefined("the context has no text")
        found = yield from compare([(text, answer) for _, text in chunks], HALLUCINATION)
        scores = [consistency(each) for each in found]
        best = scores.index(max(scores))
        joined: Value
        try:
            (whole,) = yield from compare(
                [("\n".join(text for _, text in chunks), answer)], HALLUCINATION
            )
            joined = consistency(whole)
        except Unscored as reason:
            joined = reason
        return Graded(
            {"hallucination": scores[best], "hallucination_joined": joined},
            {"context": chunks[best][0], "chunks": scores},
        )


def consistency(said: Mapping[str, float]) -> float:
    """Return the score of a cross-encoder, or the probability of entailment."""
    return said["score"] if "score" in said else said["entailment"]
