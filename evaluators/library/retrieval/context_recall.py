"""Context recall: how much of the expected answer the retrieved context contains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.claims import EXTRACT, Statements, extract_statements
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, faults_by_id, verdicts_by_id
from evaluators.flows.requests import JUDGE, ask
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, Scores, Undefined, Unscored
from evaluators.text.references import non_blank, numbered_alternatives
from evaluators.text.sentences import SPLITTER, answer_keys, passage_keys

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

ATTRIBUTE = Instruction(
    "The block `sentences` holds the sentences of the right answer to the question in the block "
    "`question`; the block `statements`, where there is one, lists what they state one by one; the "
    "block `context` lists the passages that a search returned. All stand after keys in brackets. "
    "Say of every sentence and of every statement whether it can be attributed to the passages: "
    "whether they state or imply all of it, read as an answer to the question. A sentence of which "
    "the passages hold only a part cannot be attributed. What you know yourself does not count. "
    "Where there is a block `alternatives`, it lists other answers that are just as right: what "
    "the passages say in the words of one of them counts, too. Name the keys of the passages; give "
    "an empty list when there is none. Give exactly one verdict for each key of the blocks "
    "`sentences` and `statements`, and decide each by itself."
)


class Attribution(Reply):
    """Whether one sentence or statement stands in the passages."""

    key: Key
    reasoning: str
    passages: list[Key]
    attributed: bool


class Attributions(Reply):
    """Whether each sentence and each statement stands in the passages."""

    verdicts: list[Attribution]


@dataclass(frozen=True, kw_only=True)
class ContextRecall(FlowEvaluator):
    """Does the retrieved context contain everything that the expected answer says?

    The expected answer is split into sentences, and the judge decides for each whether it can be
    fully attributed to the context. The metric is the share of attributed sentences. The second
    metric counts the statements in the expected answer instead; unlike a long sentence, they do not
    fail because of a small part.

    Source: context recall of Eval Studio and ragas; there the judge itself splits the answer, so
    the denominator changes from run to run.

    Edges: no passage with text: 0 (`no_context`) without a judge call. A one-word answer is one
    sentence, read with its question. Of several expected answers the first is split, and the others
    are shown as alternatives. A missing or contradictory verdict on a sentence is a parse failure;
    verdicts on unknown keys are dropped and counted. Where an expected answer states nothing (it
    says that there is no answer) the metric of statements is undefined and the other one usually 0:
    leave such questions out. If the statements could not be extracted, only the sentences are
    judged.

    Attributes:
        claims: Whether to compute the second metric, which costs one more judge call for each
            expected answer.
    """

    metrics = (
        Metric(
            name="context_recall",
            summary="Share of the expected answer's sentences that the context holds.",
            primary=True,
        ),
        Metric(
            name="context_recall_claims",
            summary="Share of the expected answer's statements that the context holds.",
        ),
    )
    reads = frozenset({"expected_answers", "contexts"})
    optional = frozenset({"question"})
    non_empty = frozenset({"expected_answers"})
    libraries = (SPLITTER,)
    needs = frozenset({JUDGE})
    prompts = (EXTRACT, ATTRIBUTE)
    replies = (Statements, Attributions)

    claims: bool = True

    def expected_calls(self, sample: Sample) -> int:
        """Return 2 (systems share the statements), 1 without `claims`, or 0 without a context."""
        return 1 + self.claims if passage_keys(sample.contexts or ()) else 0

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Extract the statements, then judge each sentence and each statement."""
        passages = passage_keys(sample.contexts or ())
        if not passages:
            scores = dict.fromkeys([metric.name for metric in self.metrics], 0.0)
            return Graded(scores, remark="no_context")
        first, *others = dict.fromkeys(non_blank(sample.expected_answers))
        sentences = answer_keys(first)
        claims: dict[str, str] = {}
        why: Unscored = Undefined("no_claims: the expected answer states nothing")
        try:
            if not self.claims:
                raise NotApplicable("the parameter claims is off", of_run=True)
            found = yield from extract_statements(sample.question, first)
            claims = found.keyed("r")
        except Unscored as reason:
            why = reason
        items = sentences | claims
        judged = yield from ask(
            Attributions,
            ATTRIBUTE.prompt(
                question=sample.question,
                sentences=sentences,
                statements=claims or None,
                alternatives=numbered_alternatives(others) if others else None,
                context=passages,
            ),
            check=lambda reply: faults_by_id(
                reply.verdicts, lambda each: each.key, lambda each: each.attributed, items
            ),
        )
        verdicts, unknown = verdicts_by_id(judged.verdicts, lambda each: each.key, items)
        scores_: Scores = {
            "context_recall": _share(sentences, verdicts),
            "context_recall_claims": _share(claims, verdicts) if claims else why,
        }
        detail = {
            "sentences": len(sentences),
            "statements": len(claims),
            "missing": [text for key, text in items.items() if not verdicts[key].attributed],
            "unknown_keys": unknown,
        }
        return Graded(scores_, detail)


def _share(keys: Mapping[str, str], verdicts: Mapping[str, Attribution]) -> float:
    return sum(verdicts[key].attributed for key in keys) / len(keys)
