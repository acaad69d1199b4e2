"""Faithfulness: whether what an answer states follows from what was retrieved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.components.claims import EXTRACT, Statements, extract_statements
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, faults_by_id, verdicts_by_id
from evaluators.flows.requests import JUDGE, ask
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined
from evaluators.text.sentences import SPLITTER, passage_keys

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

VERIFY = Instruction(
    "The block `statements` lists statements, the block `context` passages, each after its key in "
    "brackets; the block `question`, where there is one, is what the statements answer. "
    "Say of every statement whether it follows from the passages: whether somebody who "
    "believes them and knows nothing else must believe the statement too. What you know yourself "
    "does not count, however true the statement is. Numbers, units, dates, names and negations "
    "must agree; other words for the same thing are fine. A statement of which only a part "
    "follows does not follow. Name the keys of the passages that support it; give an empty list "
    "when none does. Give exactly one verdict for each key of the block `statements`."
)


class Verdict(Reply):
    """Whether one statement follows, and from which passages."""

    statement: Key
    reasoning: str
    passages: list[Key]
    supported: bool


class Verdicts(Reply):
    """Whether each statement follows."""

    verdicts: list[Verdict]


@dataclass(frozen=True, kw_only=True)
class Faithfulness(FlowEvaluator):
    """Does everything that the answer states follow from the retrieved context?

    The judge first splits the answer into statements without seeing the context, then decides for
    each whether it follows from the context alone. The metric is the number of statements that
    follow, divided by the number of statements in the prompt, however many verdicts come back.

    Source: faithfulness of Eval Studio and of ragas 0.1.

    Edges: an empty answer (`empty_answer`) and an empty context (`no_context`) score 0 without a
    judge call. An answer that only refuses or evades states nothing: undefined, unless
    `no_claims_score` says otherwise. If the judge finds no statement in an answer that does not
    evade, the whole answer is one statement. A verdict that is missing or contradicted is a parse
    failure; verdicts on unknown keys are dropped and counted. The metric is not applicable to a
    system that never retrieves. Correct answers that the context does not contain count as
    unfaithful.

    Attributes:
        no_claims_score: The value of an answer that states nothing: 0, 1, or null for none.
    """

    metrics = (
        Metric(
            name="faithfulness",
            summary="Share of the answer's statements that follow from the retrieved context.",
            primary=True,
        ),
    )
    reads = frozenset({"answer", "contexts"})
    optional = frozenset({"question"})
    libraries = (SPLITTER,)
    needs = frozenset({JUDGE})
    prompts = (EXTRACT, VERIFY)
    replies = (Statements, Verdicts)

    no_claims_score: float | None = None

    def __post_init__(self) -> None:
        """Validate the parameter.

        Raises:
            ValueError: It is neither 0, 1 nor null.
        """
        if self.no_claims_score not in {None, 0.0, 1.0}:
            raise ValueError(f"no_claims_score: expected 0, 1 or null, got {self.no_claims_score}")

    def expected_calls(self, sample: Sample) -> int:
        """Return 2, or 0 if nothing was answered or retrieved."""
        nothing = not (sample.answer or "").strip() or not passage_keys(sample.contexts or ())
        return 0 if nothing else len(self.prompts)

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Extract the statements, then judge each."""
        answer = sample.answer or ""
        passages = passage_keys(sample.contexts or ())
        if not answer.strip():
            return Graded({"faithfulness": 0.0}, remark="empty_answer")
        if not passages:
            return Graded({"faithfulness": 0.0}, remark="no_context")
        claims = yield from extract_statements(sample.question, answer)
        if claims.evades:
            return self._nothing_claimed()
        asserted = claims.keyed("s")
        judged = yield from ask(
            Verdicts,
            VERIFY.prompt(question=sample.question, statements=asserted, context=passages),
            check=lambda reply: faults_by_id(
                reply.verdicts, lambda each: each.statement, lambda each: each.supported, asserted
            ),
        )
        found, unknown = verdicts_by_id(judged.verdicts, lambda each: each.statement, asserted)
        supported = [key for key in asserted if found[key].supported]
        detail = {
            "statements": len(asserted),
            "unsupported": [text for key, text in asserted.items() if key not in supported],
            "passages": {
                key: [c for c in found[key].passages if c in passages] for key in supported
            },
            "unknown_keys": unknown,
        }
        return Graded({"faithfulness": len(supported) / len(asserted)}, detail)

    def _nothing_claimed(self) -> Graded:
        if self.no_claims_score is None:
            raise Undefined("no_claims: the answer states nothing")
        return Graded({"faithfulness": self.no_claims_score}, remark="no_claims")
