"""Answer correctness: whether the answer states what the expected answer states, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluators.components.claims import (
    EXTRACT,
    NONE_RIGHT,
    Agreement,
    Extraction,
    Statements,
    extract_statements,
)
from evaluators.components.similarity import cosine
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, faults_by_id, verdicts_by_id
from evaluators.flows.requests import EMBEDDING, JUDGE, ask, embed
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Unscored
from evaluators.text.references import non_blank, numbered_alternatives
from evaluators.text.sentences import SPLITTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.flows.requests import Flow
    from evaluators.outcome import Value
    from evaluators.sample import Sample

MATCH = Instruction(
    "The block `answer` lists what an answer to the question in the block `question` states, the "
    "block `expected` what the right answer states, each after its key in brackets. Say of every "
    "statement of the answer whether one or more statements of the right answer support all of it, "
    "and of every statement of the right answer whether statements of the answer express all of "
    "it; name the keys of those statements on the other side. Other words for the same thing are "
    "fine; numbers, units, dates, names and negations must agree. Hold the two against each other "
    "only: whether a statement is true in the world does not matter. Where there is a block "
    "`alternatives`, it lists other answers that are just as right: what agrees with one of them "
    "is supported, and what it puts in place of a statement is expressed, too. Give exactly one "
    "verdict for each key of both blocks."
)


class Match(Reply):
    """Whether the other side has one statement."""

    key: Key
    reasoning: str
    matched: list[Key]
    supported: bool


class Matches(Reply):
    """Whether each statement of one side is to be found on the other."""

    answer: list[Match]
    expected: list[Match]


@dataclass(frozen=True, kw_only=True)
class AnswerCorrectness(FlowEvaluator):
    """Does the answer state what the expected answer states, no less and no more?

    The judge splits each answer into statements without seeing the other answer, then decides which
    statements of each answer the other one has. Factuality is TP / (TP + 0.5 (FP + FN)): TP and FP
    are the answer's statements that the expected answer supports and does not, FN those of the
    expected answer that the answer leaves out. Similarity is the cosine of the vectors of both
    texts, 0 where it is negative. Answer correctness is their weighted mean. `f1_symmetric` is the
    harmonic mean of TP / (TP + FP) and the covered share of the expected answer's statements;
    unlike factuality it does not rise when one fact is split into three.

    Source: answer correctness of Eval Studio and of ragas 0.1.

    Edges: an empty answer scores 0 (`empty_answer`). An answer that only refuses or evades has
    factuality 0, unless the expected answer does so as well: then both count as one statement and
    may agree. Of several expected answers the first is split and the others are shown as
    alternatives; similarity is that of the most similar one. A missing or contradictory verdict is
    a parse failure. If either part is missing, answer correctness has no value and the other part
    keeps its value. A wrong answer in similar words still has some similarity: check factuality.

    Attributes:
        weights: The weights of factuality and similarity; they need not add up to 1.
        beta: The weight of recall relative to precision in factuality.
    """

    metrics = (
        Metric(
            name="answer_correctness",
            summary="Weighted mean of factuality and similarity.",
            primary=True,
        ),
        Metric(
            name="factuality",
            summary="F1 of the statements that answer and expected answer share.",
        ),
        Metric(
            name="similarity",
            summary="Cosine similarity of the answer with the expected answer, 0 if negative.",
        ),
        Metric(
            name="f1_symmetric",
            summary="Harmonic mean of the answer's share of right and the expected answer's share "
            "of covered statements.",
        ),
    )
    reads = frozenset({"expected_answers", "answer"})
    optional = frozenset({"question"})
    non_empty = frozenset({"expected_answers"})
    libraries = (SPLITTER,)
    needs = frozenset({JUDGE, EMBEDDING})
    prompts = (EXTRACT, MATCH)
    replies = (Statements, Matches)

    weights: tuple[float, float] = (0.75, 0.25)
    beta: float = 1.0

    def __post_init__(self) -> None:
        """Validate the weights.

        Raises:
            ValueError: A weight is negative, both are 0, or `beta` is not above 0.
        """
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError(f"weights: expected two from 0 up, not both 0, got {self.weights}")
        if self.beta <= 0:
            raise ValueError(f"beta: expected a number above 0, got {self.beta}")

    def expected_calls(self, sample: Sample) -> int:
        """Return 3 (two of them may be shared), or 0 for an empty answer."""
        return 3 if (sample.answer or "").strip() else 0

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Compare statements, then vectors; each may fail independently."""
        names = [metric.name for metric in self.metrics]
        answer = sample.answer or ""
        references = list(dict.fromkeys(non_blank(sample.expected_answers)))
        if not answer.strip():
            return Graded(dict.fromkeys(names, 0.0), remark="empty_answer")
        factuality: Value
        symmetric: Value
        detail: dict[str, Any] = {}
        try:
            agreement, detail = yield from self._agreement(sample.question, answer, references)
        except Unscored as reason:
            factuality = symmetric = reason
        else:
            factuality, symmetric = agreement.f1(self.beta), agreement.f1_symmetric()
        similarity: Value
        try:
            given, *wanted = yield from embed([answer, *references])
            nearest = max(cosine(given, each) for each in wanted)
        except Unscored as reason:
            similarity = reason
        else:
            similarity = max(0.0, nearest)
            detail["cosine"] = nearest
        scores = (self._mean(factuality, similarity), factuality, similarity, symmetric)
        return Graded(dict(zip(names, scores, strict=True)), detail)

    def _agreement(
        self, question: str | None, answer: str, references: Sequence[str]
    ) -> Flow[tuple[Agreement, dict[str, Any]]]:
        """Compare the statements; return the counts and the evidence."""
        first, *others = references
        given = yield from extract_statements(question, answer)
        wanted = yield from extract_statements(question, first)
        if given.evades and not wanted.evades:
            return NONE_RIGHT, {"noncommittal": True, "missed": list(wanted.texts)}
        return (yield from _matched(question, given.or_whole(), wanted.or_whole(), others))

    def _mean(self, factuality: Value, similarity: Value) -> Value:
        if isinstance(factuality, Unscored):
            return factuality
        if isinstance(similarity, Unscored):
            return similarity
        one, other = self.weights
        return (one * factuality + other * similarity) / (one + other)


def _matched(
    question: str | None, given: Extraction, wanted: Extraction, others: Sequence[str]
) -> Flow[tuple[Agreement, dict[str, Any]]]:
    answered, expected = given.keyed("s"), wanted.keyed("r")
    found = yield from ask(
        Matches,
        MATCH.prompt(
            question=question,
            answer=answered,
            expected=expected,
            alternatives=numbered_alternatives(others) if others else None,
        ),
        check=lambda reply: [
            *faults_by_id(reply.answer, _key, _supported, answered),
            *faults_by_id(reply.expected, _key, _supported, expected),
        ],
    )
    wrong, right, unknown = _split(found.answer, answered)
    missed, covered, unknown_ = _split(found.expected, expected)
    detail = {"unsupported": wrong, "missed": missed, "unknown_keys": unknown + unknown_}
    return Agreement(len(right), len(wrong), len(covered), len(missed)), detail


def _split(matches: Sequence[Match], asked: Mapping[str, str]) -> tuple[list[str], list[str], int]:
    """Return the unmatched and the matched statements, and the number of unknown keys."""
    verdicts, unknown = verdicts_by_id(matches, _key, asked)
    lacking = [text for key, text in asked.items() if not verdicts[key].supported]
    return lacking, [text for key, text in asked.items() if verdicts[key].supported], unknown


def _key(match: Match) -> str:
    return match.key


def _supported(match: Match) -> bool:
    return match.supported
