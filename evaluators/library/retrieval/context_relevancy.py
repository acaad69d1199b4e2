"""Context relevancy: how much of the retrieved context is useful for the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, too_many_unknown
from evaluators.flows.requests import JUDGE, ask
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded
from evaluators.text.sentences import SPLITTER, sentence_keys

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

FIND = Instruction(
    "The block `context` lists sentences, each after its key in brackets. List the keys of all "
    "sentences that are useful for answering the question in the block `question`: those that "
    "state the answer or a part of it, and those that are needed to understand such a sentence. A "
    "sentence that shares the topic but does not help to answer is not useful. If no sentence is "
    "useful, give an empty list."
)


class UsefulSentences(Reply):
    """Which sentences are useful."""

    reasoning: str
    useful_keys: list[Key]


@dataclass(frozen=True, kw_only=True)
class ContextRelevancy(FlowEvaluator):
    """How much of the retrieved context is useful for answering the question?

    The number of sentences of the context that the judge finds useful, divided by the number of
    all its sentences. The judge names sentences by key and never repeats their text.

    Source: context relevancy of Eval Studio and of ragas 0.1.3, which let the judge copy sentences
    and counted the copies; with keys no preamble counts, and no value exceeds 1.

    Edges: a context without sentences scores 0 (`no_context`). A sentence named twice counts once.
    Unknown keys are dropped and counted in the detail; if more than a fifth of the keys are
    unknown, the reply is repaired by the judge once or becomes a parse failure.
    """

    metrics = (
        Metric(
            name="context_relevancy",
            summary="Share of the context's sentences that are useful for answering.",
            primary=True,
        ),
    )
    reads = frozenset({"question", "contexts"})
    non_empty = frozenset({"question"})
    libraries = (SPLITTER,)
    needs = frozenset({JUDGE})
    prompts = (FIND,)
    replies = (UsefulSentences,)

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Get the useful sentences and count them."""
        sentences = sentence_keys(sample.contexts or ())
        if not sentences:
            return Graded({"context_relevancy": 0.0}, remark="no_context")
        found = yield from ask(
            UsefulSentences,
            FIND.prompt(question=sample.question, context=sentences),
            check=lambda reply: too_many_unknown(reply.useful_keys, sentences),
        )
        useful = [key for key in sentences if key in set(found.useful_keys)]
        unknown = {key for key in found.useful_keys if key not in sentences}
        return Graded(
            {"context_relevancy": len(useful) / len(sentences)},
            {"useful": useful, "sentences": len(sentences), "unknown_keys": len(unknown)},
        )
