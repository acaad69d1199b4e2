"""Rubric judge: the grade that an answer gets by the rubric of its question."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import JUDGE, ask
from evaluators.kinds.flow import FlowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, JudgeError, NotApplicable, ParseFailure, Scores, Unscored
from evaluators.text.references import numbered_alternatives
from evaluators.text.rubrics import LEVELS, Rubric, read_rubric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

GRADE = Instruction(
    "Grade the text in the block `answer`, which answers the question in the block `question`. The "
    "block `expected_answer` is a right answer, or lists several of which any is right; the block "
    "`rubric` says what matters, and the block `scale` what an answer of each level from 1 to 5 is "
    "like; one of these two may be missing. Compare the answer with the expected one by this "
    "rubric and nothing else: length, style and tone do not matter unless it says so, nor does "
    "what you know yourself. Say what the answer leaves out and what it says wrongly, as far as "
    "the rubric is concerned. Find the level whose description fits best, and say why those next "
    "to it do not fit; levels without a description lie evenly between their neighbours."
)

_BEST = 5
_FAILURES_AS_ZERO = "answer_score_failures_as_zero"
_ZERO_IN_SOURCE = ("answer_score", "raw_score", _FAILURES_AS_ZERO)
"""The scores that are 0 in the source where the judge gave no grade."""


class Grade(Reply):
    """The grade of an answer."""

    reasoning: str
    missing: list[str]
    incorrect: list[str]
    # No `Literal`, which takes `true` for 1.
    score: Annotated[int, Field(ge=1, le=5)]


@dataclass(frozen=True, kw_only=True)
class RubricJudge(FlowEvaluator):
    """How good is the answer according to the rubric of its question?

    The judge compares the answer with the expected one and gives a grade A from 1 to 5 by the
    question's own rubric. The score is A / 5, so the worst answer scores 0.2; `answer_score_01` is
    (A - 1) / 4, which starts at 0.

    Source: the evaluation script of document-grounded question answering, which counts a question
    that the judge could not grade as 0. `answer_score_failures_as_zero` does the same, to reproduce
    published means; the other metrics have no value then, unless `failed_judgments` is `zero`.

    Edges: an empty answer has grade 1 (`empty_answer`) without a judge call. Several expected
    answers are shown together. A rubric without description and scale, or with other levels than 1
    to 5: not applicable. A refusal is graded by the rubric like any answer. A system that failed to
    answer has the worst value of each scale, which is 0 for the scores.

    Attributes:
        failed_judgments: What a question without a grade has: `unscored`, or `zero` as in the
            source, also in `raw_score`, which then starts at 0, in the combined score and in the
            summary. `answer_score_01` has no value in any case.
    """

    metrics = (
        Metric(
            name="answer_score",
            summary="Grade by the question's rubric, divided by 5.",
            primary=True,
        ),
        Metric(
            name="raw_score",
            summary="Grade by the question's rubric, from 1 to 5.",
            bounds=(1.0, 5.0),
            threshold=3.75,
        ),
        Metric(
            name="answer_score_01",
            summary="Grade by the question's rubric, stretched to 0 to 1.",
        ),
        Metric(
            name="answer_score_failures_as_zero",
            summary="Grade by the question's rubric, divided by 5; 0 where the judge gave none.",
        ),
    )
    reads = frozenset({"question", "expected_answers", "answer", "rubric"})
    non_empty = frozenset({"question", "expected_answers", "rubric"})
    needs = frozenset({JUDGE})
    prompts = (GRADE,)
    replies = (Grade,)

    failed_judgments: Literal["unscored", "zero"] = "unscored"

    def measured(self) -> tuple[Metric, ...]:
        """Return the metrics; the raw score starts at 0 if a failed judgment has it."""
        if self.failed_judgments == "unscored":
            return self.metrics
        return tuple(
            replace(metric, bounds=(0.0, 5.0)) if metric.name == "raw_score" else metric
            for metric in self.metrics
        )

    def expected_calls(self, sample: Sample) -> int:
        """Return 1, or 0 for an empty answer."""
        return int(bool((sample.answer or "").strip()))

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Ask for the grade."""
        rubric = self._rubric(sample)
        answer = sample.answer or ""
        if not answer.strip():
            return Graded(scores_of(1), remark="empty_answer")
        grade = yield from ask(
            Grade,
            GRADE.prompt(
                question=sample.question,
                expected_answer=numbered_alternatives(sample.expected_answers),
                rubric=rubric.description,
                scale=rubric.scale or None,
                answer=answer,
            ),
        )
        detail = {
            "reasoning": grade.reasoning,
            "missing": grade.missing,
            "incorrect": grade.incorrect,
        }
        return Graded(scores_of(grade.score), detail)

    def on_reason(self, reason: Unscored) -> Scores:
        """Return the reason; metrics as in the source count a missing grade as 0."""
        scores = super().on_reason(reason)
        if isinstance(reason, ParseFailure | JudgeError):
            is_zero = self.failed_judgments == "zero"
            names = _ZERO_IN_SOURCE if is_zero else (_FAILURES_AS_ZERO,)
            return {**scores, **dict.fromkeys(names, 0.0)}
        return scores

    def on_failure(self, sample: Sample) -> Graded:
        """Mark a failed answer as not applicable if its rubric is invalid."""
        try:
            self._rubric(sample)
        except NotApplicable as reason:
            return Graded(self.on_reason(reason))
        return Graded({})

    def on_labels(self, labels: Mapping[str, float]) -> Scores:
        """Derive all scores from a human grade."""
        if "raw_score" not in labels:
            return super().on_labels(labels)
        return super().on_labels({**scores_of(labels["raw_score"]), **labels})

    def _rubric(self, sample: Sample) -> Rubric:
        rubric = read_rubric(sample.rubric)
        if isinstance(rubric, str):
            raise NotApplicable(rubric)
        return rubric


def scores_of(grade: float) -> dict[str, float]:
    """Return all metrics of a grade from 1 to 5."""
    share = grade / _BEST
    return {
        "answer_score": share,
        "raw_score": float(grade),
        "answer_score_01": (grade - 1) / (len(LEVELS) - 1),
        _FAILURES_AS_ZERO: share,
    }
