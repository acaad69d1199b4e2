"""Pass/fail evaluators whose verdicts come from a judge."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from evaluators.flows.requests import JUDGE
from evaluators.kinds.flow import FlowEvaluator
from evaluators.kinds.pass_fail import PassFailEvaluator, pass_fail_scores
from evaluators.outcome import Graded, NotApplicable, ParseFailure, Scores, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

EMPTY_ANSWER = "empty_answer"
_NO_CONTEXT_TEXT = NotApplicable("no context with text")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judge's verdict on one text.

    Attributes:
        passes: Whether the text passes.
        detail: The evidence.
        remark: A note on the verdict; see `Graded`.
        scores: The evaluator's additional metrics, if the text is the answer.
    """

    passes: bool
    detail: Mapping[str, Any] = field(default_factory=dict)
    remark: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JudgedEvaluator(PassFailEvaluator, FlowEvaluator):
    """Asks a judge whether the answer passes.

    A reply that cannot be parsed is a parse failure, not a verdict. Human labels that replace the
    judge need to give `passes` only; they imply the other metrics.
    """

    needs = frozenset({JUDGE})

    def on_reason(self, reason: Unscored) -> Scores:
        """Count parse failures; no other metric has a value."""
        unparsed = float(isinstance(reason, ParseFailure))
        return {**super().on_reason(reason), "parse_failures": unparsed}

    def on_failure(self, sample: Sample) -> Graded:
        """Mark parse failures as not applicable: a failed answer is not judged."""
        return self.unanswered_scores(sample)

    def on_labels(self, labels: Mapping[str, float]) -> Scores:
        """Derive failures and parse failures from the label `passes`, or passes from `failures`."""
        if "passes" not in labels and "failures" not in labels:
            return super().on_labels(labels)
        passes = labels["passes"] if "passes" in labels else 1 - labels["failures"]
        implied = {"passes": passes, "failures": 1 - passes, "parse_failures": 0.0}
        if not self.judges_context:
            implied["generation_failures"] = 1 - passes
        return super().on_labels({**implied, **labels})


@dataclass(frozen=True, kw_only=True)
class AnswerAndContextEvaluator(JudgedEvaluator):
    """Asks a judge about the answer and, on request, about the retrieved context.

    Attributes:
        judges_blank_answers: Whether a blank answer goes to the judge like any other.
        evaluate_retrieved_context: Whether the passages, joined by line breaks, must pass as well;
            this is one more judge call.
    """

    optional = frozenset({"contexts"})
    judges_blank_answers: ClassVar[bool] = False

    evaluate_retrieved_context: bool = False

    @abstractmethod
    def judge(self, sample: Sample, text: str) -> Flow[Verdict]:
        """Judge one text: the answer, or the joined context if it is not blank."""

    def blank_verdict(self) -> Verdict:
        """Return the verdict on a blank answer, if the judge is not called for it; it passes.

        Raises:
            Unscored: A blank answer has no verdict.
        """
        return Verdict(passes=True, remark=EMPTY_ANSWER)

    @property
    def judges_context(self) -> bool:
        """Whether the retrieved context is judged too."""
        return self.evaluate_retrieved_context

    def expected_calls(self, sample: Sample) -> int:
        """One call for each text that is judged."""
        return self._is_judged(sample) + bool(self._context(sample).strip())

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Judge the answer, then the context."""
        answer = sample.answer or ""
        verdict = (
            (yield from self.judge(sample, answer))
            if self._is_judged(sample)
            else self.blank_verdict()
        )
        context: bool | Unscored = self.context_skip_reason(sample) or _NO_CONTEXT_TEXT
        detail = {"answer": verdict.detail} if verdict.detail else {}
        retrieved = self._context(sample)
        if retrieved.strip():
            context_verdict = yield from self.judge(sample, retrieved)
            context = context_verdict.passes
            detail |= {"context": context_verdict.detail} if context_verdict.detail else {}
        scores = {**pass_fail_scores(answer=verdict.passes, context=context), **verdict.scores}
        return Graded(scores, detail or None, verdict.remark)

    def _is_judged(self, sample: Sample) -> bool:
        return self.judges_blank_answers or bool((sample.answer or "").strip())

    def _context(self, sample: Sample) -> str:
        if self.context_skip_reason(sample):
            return ""
        return "\n".join(text for text in sample.contexts or () if text)
