"""Tokens presence: required texts and patterns in the answer and its context."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from evaluators.kinds.pass_fail import PassFailEvaluator, pass_fail_scores, unjudged_scores
from evaluators.kinds.row import RowEvaluator
from evaluators.outcome import Graded, Undefined
from evaluators.text.constraints import Constraint, any_of, read_constraints
from evaluators.text.patterns import Matcher, PatternTimeout
from evaluators.text.references import no_reference_reason, non_blank
from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.sample import Sample

_NOTHING_REQUIRED = "no_constraints"


@dataclass(frozen=True, kw_only=True)
class TokensPresence(PassFailEvaluator, RowEvaluator):
    """Does the answer contain what it must contain?

    Constraints are a list, all of which must hold: a text must occur in the answer with the same
    case; `REGEXP:` and a pattern must match by Python's `re.search` (not anchored, no flags);
    `{is_json: true}`: the whole answer must be JSON, and with `false` it must not; of a list, one
    of these must hold. Composed and decomposed letters (NFC, NFD) are equal, also
    in patterns. With `check_context` the passages, joined by spaces, must satisfy the same
    constraints.

    Source: the tokens presence evaluator of Eval Studio. Unlike that evaluator, texts with quotes
    match.

    Edges: without constraints (null, or an empty list) one of the expected answers becomes the only
    constraint; an empty list and no expected answer: passes, with the reason `no_constraints`;
    neither known: not applicable. An empty answer fails a real constraint. A pattern that takes
    longer than `pattern_seconds` on a text leaves the sample undefined, with that reason; after ten
    such texts it is not tried again in the same run. Invalid constraints are an error of the
    configuration, not of an answer. The detail lists the constraints that failed, by their numbers
    from 1.

    Attributes:
        check_context: Whether the retrieved context must satisfy the constraints too.
        pattern_seconds: The time limit of one pattern on one text.
    """

    reads = frozenset({"answer"})
    version = 2
    optional = frozenset({"constraints", "expected_answers", "contexts"})

    check_context: bool = False
    pattern_seconds: float = 1.0

    def __post_init__(self) -> None:
        """Validate the limit.

        Raises:
            ValueError: `pattern_seconds` is not above 0.
        """
        if not self.pattern_seconds > 0:
            raise ValueError(f"pattern_seconds must be above 0, got {self.pattern_seconds}")

    @property
    def columns(self) -> frozenset[str]:
        """The sample columns that it reads: passages, which are long, only if they are checked."""
        return super().columns if self.check_context else super().columns - {"contexts"}

    @property
    def judges_context(self) -> bool:
        """Whether the retrieved context must satisfy the constraints too."""
        return self.check_context

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the reason where there are neither constraints nor an expected answer."""
        unknown = pl.col("constraints").is_null()
        unexpected = pl.col("expected_answers").is_null() | no_reference_reason().is_not_null()
        nothing = pl.when(unknown & unexpected).then(
            pl.lit("neither constraints nor an expected answer")
        )
        return (nothing,)

    def grade(self, sample: Sample) -> Graded:
        """Check the answer and, on request, the context."""
        constraints = _constraints(sample)
        texts = {"answer": compose(sample.answer or "")}
        unread = self.context_skip_reason(sample)
        if unread is None:
            texts["context"] = compose(" ".join(text or "" for text in sample.contexts or ()))
        try:
            failed = {name: self._failed(constraints, text) for name, text in texts.items()}
        except PatternTimeout as reason:
            return Graded(unjudged_scores(Undefined(f"pattern {reason}")))
        scores = pass_fail_scores(
            answer=not failed["answer"], context=unread or not failed["context"]
        )
        detail: dict[str, Any] = {name: numbers for name, numbers in failed.items() if numbers}
        return Graded(scores, detail or None, None if constraints else _NOTHING_REQUIRED)

    def on_failure(self, sample: Sample) -> Graded:
        """Fail the answer, without a parse failure."""
        return self.unanswered_scores(sample)

    def _failed(self, constraints: Sequence[Constraint], text: str) -> list[int]:
        search = self._matcher.search
        return [
            number
            for number, operands in enumerate(constraints, start=1)
            if not any(operand.holds(text, search) for operand in operands)
        ]

    @cached_property
    def _matcher(self) -> Matcher:
        return Matcher(self.pattern_seconds)


def _constraints(sample: Sample) -> tuple[Constraint, ...]:
    given = read_constraints(sample.constraints) if sample.constraints is not None else ()
    if given:
        return given
    expected = non_blank(sample.expected_answers)
    return (any_of(expected),) if expected else ()
