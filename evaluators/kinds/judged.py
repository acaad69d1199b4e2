"""Evaluators of the boolean family whose verdicts come from a judge."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
    """What the judge made of one text.

    Attributes:
        holds: Whether the text passes.
        detail: The evidence.
        remark: What else is to be said; see `Graded`.
        scores: What metrics of its own the evaluator gives, when the text is the answer.
    """

    holds: bool
    detail: Mapping[str, Any] = field(default_factory=dict)
    remark: str | None = None
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class JudgedEvaluator(PassFailEvaluator, FlowEvaluator):
    """Asks a judge whether the answer passes.

    A reply that cannot be understood is a parse failure and no verdict; people who judge in the
    judge's place give `passes`, and the other metrics follow.
    """

    needs = frozenset({JUDGE})

    def on_reason(self, reason: Unscored) -> Scores:
        """Count what could not be understood; nothing else has a value."""
        unparsed = float(isinstance(reason, ParseFailure))
        return {**super().on_reason(reason), "parse_failures": unparsed}

    def on_failure(self, sample: Sample) -> Graded:
        """An answer that was not given was not judged, so that no verdict could be unclear."""
        return self.unanswered_scores(sample)

    def on_labels(self, labels: Mapping[str, float]) -> Scores:
        """Whoever says that an answer passes says that it does not fail, and is understood."""
        if "passes" not in labels and "failures" not in labels:
            return super().on_labels(labels)
        passes = labels["passes"] if "passes" in labels else 1 - labels["failures"]
        implied = {"passes": passes, "failures": 1 - passes, "parse_failures": 0.0}
        if not self.judges_context:
            implied["generation_failures"] = 1 - passes
        return super().on_labels({**implied, **labels})


@dataclass(frozen=True, kw_only=True)
class AnswerAndContextEvaluator(JudgedEvaluator):
    """Asks a judge the same of the answer and, on request, of the retrieved context.

    Attributes:
        evaluate_retrieved_context: Whether the passages, joined by line breaks, must pass as well;
            this is one more question to the judge.
    """

    optional = frozenset({"contexts"})

    evaluate_retrieved_context: bool = False

    @abstractmethod
    def judge(self, sample: Sample, text: str) -> Flow[Verdict]:
        """Ask about one text that is not blank: the answer, or the joined context."""

    @abstractmethod
    def blank_verdict(self) -> Verdict:
        """What holds of a blank answer, about which nobody is asked.

        Raises:
            Unscored: When nothing can be said of it.
        """

    @property
    def judges_context(self) -> bool:
        """Whether the retrieved context is judged, too."""
        return self.evaluate_retrieved_context

    def expected_calls(self, sample: Sample) -> int:
        """One question for each text that is not blank."""
        return sum(bool(text.strip()) for text in (sample.answer or "", self._context(sample)))

    def flow(self, sample: Sample) -> Flow[Graded]:
        """Ask about the answer, then about the context."""
        answer = sample.answer or ""
        given = (yield from self.judge(sample, answer)) if answer.strip() else self.blank_verdict()
        context: bool | Unscored = self.context_skip_reason(sample) or _NO_CONTEXT_TEXT
        detail = {"answer": given.detail} if given.detail else {}
        retrieved = self._context(sample)
        if retrieved.strip():
            found = yield from self.judge(sample, retrieved)
            context = found.holds
            detail |= {"context": found.detail} if found.detail else {}
        scores = {**pass_fail_scores(answer=given.holds, context=context), **given.scores}
        return Graded(scores, detail or None, given.remark)

    def _context(self, sample: Sample) -> str:
        if self.context_skip_reason(sample):
            return ""
        return "\n".join(text for text in sample.contexts or () if text)
