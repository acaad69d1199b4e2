"""Answer similarity: whether the answer means what the expected answer means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.components.similarity import SimilarityEvaluator, cosines
from evaluators.flows.requests import EMBEDDING, SIMILARITY, compare, embed
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.references import non_blank

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class AnswerSemanticSimilarity(SimilarityEvaluator):
    """Does the answer as a whole mean something near the expected answer?

    The cosine similarity of the vectors of both texts; or the score of a cross-encoder for sentence
    pairs, from 0 to 1. Similarity is not truth: answers that differ in a number or in a "not" are
    similar.

    Source: answer semantic similarity of Eval Studio and of ragas.

    Edges: no expected answer, or only blank ones: not applicable. Several expected answers: the
    most similar one. A blank answer is undefined. Text beyond the model's window is ignored.
    Cosines may be negative and are stored unchanged, unless `scale` is `unit`.

    Attributes:
        by: The model that compares: `embedding` (vectors) or `similarity` (a cross-encoder).
    """

    metrics = (
        Metric(
            name="answer_similarity",
            summary="Similarity of the answer with the expected answer nearest to it.",
            bounds=(-1.0, 1.0),
            primary=True,
        ),
    )
    reads = frozenset({"expected_answers", "answer"})
    non_empty = frozenset({"expected_answers"})
    needs = frozenset({EMBEDDING})

    by: Literal["embedding", "similarity"] = "embedding"

    def engine_roles(self) -> frozenset[str]:
        """Return the role of the embedding model or of the cross-encoder."""
        return frozenset({SIMILARITY}) if self.by == "similarity" else self.needs

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare the answer with each expected answer and keep the most similar."""
        answer = sample.answer or ""
        references = non_blank(sample.expected_answers)
        if not answer.strip():
            raise Undefined("the answer is blank")
        if self.by == "embedding":
            one, *others = yield from embed([answer, *references])
            found = cosines([one], others)[0].tolist()
        else:
            said = yield from compare([(each, answer) for each in references], SIMILARITY)
            found = [each["score"] for each in said]
        best = found.index(max(found))
        return Graded(
            {"answer_similarity": self.scaled(found[best])}, {"nearest": references[best]}
        )
