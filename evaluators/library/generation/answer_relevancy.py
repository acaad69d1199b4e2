"""Answer relevancy: whether the answer answers the question that was asked, and no other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evaluators.components.similarity import cosine
from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import EMBEDDING, JUDGE, Ask, ask, embed
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

_EVASIVE = (
    "Say also whether the answer is noncommittal: whether it refuses, evades, stays vague, or says "
    "that the answer is not known or not to be found. An answer that is wrong, short or careful "
    "but does answer is not noncommittal."
)
SEVERAL = Instruction(
    "The block `answer` is an answer to a question that you do not see. Write as many different "
    "questions as the block `number` says, each of which this text answers as it stands. Be as "
    "specific as the text allows, ask for no more and no less than it gives, and use its language. "
    f"{_EVASIVE} Decide that anew with every question."
)
ONE = Instruction(
    "The block `answer` is an answer to a question that you do not see. Write a question that this "
    "text answers as it stands. Be as specific as the text allows, ask for no more and no less "
    f"than it gives, and use its language. {_EVASIVE}"
)


class GeneratedQuestion(Reply):
    """A question that the answer answers."""

    question: str
    noncommittal: bool


class GeneratedQuestions(Reply):
    """Questions that the answer answers."""

    questions: list[GeneratedQuestion]


@dataclass(frozen=True, kw_only=True)
class AnswerRelevancy(FlowEvaluator):
    """Does the answer answer the question that was asked?

    The judge sees the answer alone and writes questions that it answers. The mean cosine similarity
    of their vectors with the vector of the question, 0 where it is negative, is
    `answer_relevancy_ungated`: the source's formula, kept within 0 and 1. `answer_relevancy` is the
    same number, but 0 if most of the judge's verdicts call the answer noncommittal.

    Sources: answer relevancy of Eval Studio, without a gate; ragas closes the gate at one
    noncommittal verdict of three (0.1 to 0.2) or when all three are (0.4), so one wrong verdict
    makes a good answer worthless or a refusal good. The majority lies in between.

    Edges: an empty answer scores 0 (`empty_answer`). Another number of questions than was asked
    for, or an empty one, is a parse failure. A question or answer without words has no vector:
    undefined. A correct refusal scores 0 as well: read this metric together with a rejection
    metric. The level of cosines, and thus a sensible threshold, depends on the embedding model.

    Attributes:
        n_questions: The number of generated questions.
        mode: `list` generates all questions in one call; `independent` makes one call per question,
            which gives different questions only at a temperature above 0.
        gate: Which noncommittal verdicts make the answer score 0: `majority` (more than half),
            `any`, `all`, or `none` (never).
    """

    metrics = (
        Metric(
            name="answer_relevancy",
            summary="Mean similarity of the question with questions that the answer answers, "
            "0 if it evades.",
            primary=True,
        ),
        Metric(
            name="answer_relevancy_ungated",
            summary="Mean similarity of the question with questions that the answer answers.",
        ),
    )
    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})
    needs = frozenset({JUDGE, EMBEDDING})
    prompts = (SEVERAL, ONE)
    replies = (GeneratedQuestion, GeneratedQuestions)

    n_questions: int = 3
    mode: Literal["list", "independent"] = "list"
    gate: Literal["majority", "any", "all", "none"] = "majority"

    def __post_init__(self) -> None:
        """Validate the number of questions.

        Raises:
            ValueError: `n_questions` is less than 1.
        """
        if self.n_questions < 1:
            raise ValueError(f"n_questions: expected 1 or more, got {self.n_questions}")

    def expected_calls(self, sample: Sample) -> int:
        """Return 1, or `n_questions` in the mode `independent`."""
        if not (sample.answer or "").strip():
            return 0
        return 1 if self.mode == "list" else self.n_questions

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Generate questions, and compare their vectors with the question's."""
        names = [metric.name for metric in self.metrics]
        question, answer = sample.question or "", sample.answer or ""
        if not answer.strip():
            return Graded(dict.fromkeys(names, 0.0), remark="empty_answer")
        written = yield from (self._several(answer) if self.mode == "list" else self._each(answer))
        asked, *others = yield from embed([question, *(each.question for each in written)])
        similarities = [cosine(asked, other) for other in others]
        mean = sum(similarities) / len(similarities)
        flags = [each.noncommittal for each in written]
        ungated = min(1.0, max(0.0, mean))
        gated = 0.0 if closed(self.gate, flags) else ungated
        detail = {
            "questions": [each.question for each in written],
            "similarities": similarities,
            "mean": mean,
            "noncommittal": sum(flags),
        }
        return Graded(dict(zip(names, (gated, ungated), strict=True)), detail)

    def _several(self, answer: str) -> Flow[Sequence[GeneratedQuestion]]:
        number = self.n_questions
        found = yield from ask(
            GeneratedQuestions,
            SEVERAL.prompt(number=str(number), answer=answer),
            check=lambda reply: _faults(reply.questions, number),
        )
        return found.questions

    def _each(self, answer: str) -> Flow[Sequence[GeneratedQuestion]]:
        prompt = ONE.prompt(answer=answer)
        found: list[GeneratedQuestion] = yield tuple(
            Ask(GeneratedQuestion, prompt, lambda reply: _faults([reply], 1), replicate)
            for replicate in range(self.n_questions)
        )
        return found


def closed(gate: str, flags: Sequence[bool]) -> bool:
    """Return whether noncommittal verdicts make an answer score 0, by the rule of a gate."""
    match gate:
        case "majority":
            return sum(flags) > len(flags) / 2
        case "any":
            return any(flags)
        case "all":
            return all(flags)
        case _:
            return False


def _faults(questions: Sequence[GeneratedQuestion], number: int) -> list[str]:
    faults = []
    if len(questions) != number:
        faults.append(f"expected {number} questions, got {len(questions)}")
    if any(not each.question.strip() for each in questions):
        faults.append("a question is empty")
    return faults
