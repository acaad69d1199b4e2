"""Leakage: the base class of evaluators that search texts for data they should not contain."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from evaluators.detectors.plain import plain, plain_expr
from evaluators.flows.protocols import NO_ENGINES, Engines
from evaluators.kinds.pass_fail import NO_CONTEXTS, NOT_JUDGED, PassFailEvaluator, pass_fail_scores
from evaluators.kinds.row import RowEvaluator, outcome_frame, outcome_row
from evaluators.outcome import Graded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evaluators.detectors.finding import Finding
    from evaluators.sample import Sample

_MAX_LISTED = 20
_EMPTY = "empty_answer"


@dataclass(frozen=True, kw_only=True)
class LeakageEvaluator(PassFailEvaluator, RowEvaluator):
    """Fails an answer, or its context, if a detector finds something in it.

    A Polars expression over the whole column rules out most texts; the detectors search only the
    others.

    Attributes:
        shown: The number of characters of a finding in the evidence.
        check_context: Whether the retrieved passages are checked too.
    """

    reads = frozenset({"answer"})
    optional = frozenset({"contexts"})
    shared = ("contexts",)
    failure_is_worst = False
    shown: ClassVar[int]

    check_context: bool = True

    @abstractmethod
    def detect(self, text: str) -> Iterable[Finding]:
        """Find everything in a plain text, including examples."""

    @abstractmethod
    def may_contain(self, text: pl.Expr) -> pl.Expr:
        """Return whether a plain text may contain a finding; true for every text that does."""

    @property
    def judges_context(self) -> bool:
        """Whether the retrieved passages are checked too."""
        return self.check_context

    def counts(self, finding: Finding) -> bool:
        """Return whether a finding fails the text."""
        return not finding.example

    def grade(self, sample: Sample) -> Graded:
        """Search the answer and each passage of its context."""
        answer = sample.answer or ""
        answer_findings = self._found(answer)
        given = () if self.context_skip_reason(sample) else sample.contexts or ()
        passages = [self._found(text or "") for text in given]
        scores = pass_fail_scores(
            answer=not any(map(self.counts, answer_findings)),
            context=self.context_skip_reason(sample)
            or not any(self.counts(finding) for found in passages for finding in found),
        )
        listed = {
            "answer": [finding.masked(self.shown) for finding in answer_findings],
            "contexts": [
                {"passage": number, **finding.masked(self.shown)}
                for number, found in enumerate(passages)
                for finding in found
            ],
        }
        detail: dict[str, Any] = {
            name: entries[:_MAX_LISTED] for name, entries in listed.items() if entries
        }
        more = {
            name: len(entries) for name, entries in listed.items() if len(entries) > _MAX_LISTED
        }
        remark = None if answer.strip() else _EMPTY
        return Graded(scores, (detail | {"found": more} if more else detail) or None, remark)

    def compute(self, samples: pl.DataFrame, engines: Engines = NO_ENGINES) -> pl.DataFrame:
        """Score samples that may contain a finding one by one, all others at once."""
        numbered = samples.with_row_index("row").with_columns(
            self._may_contain_finding().alias("suspect")
        )
        suspect = numbered.filter("suspect")
        clean = numbered.filter(~pl.col("suspect"))
        read = super().compute(suspect.drop("row", "suspect"), engines)
        graded = pl.concat(
            [
                clean.select("row", *self._clean()),
                pl.concat([suspect.select("row"), read], how="horizontal"),
            ]
        )
        return graded.sort("row").drop("row")

    def _may_contain_finding(self) -> pl.Expr:
        answer = pl.col("answer")
        blank = answer.str.strip_chars().str.len_bytes() == 0
        conditions = [pl.col("error").is_not_null(), blank, self.may_contain(plain_expr(answer))]
        if self.check_context:
            passages = pl.col("contexts").list.join("\n", ignore_nulls=True).fill_null("")
            conditions.append(self.may_contain(plain_expr(passages)))
        return pl.any_horizontal(conditions)

    def _clean(self) -> list[pl.Expr]:
        """Return the columns of samples without findings."""
        names = [metric.name for metric in self.sample_metrics]
        skipped = NO_CONTEXTS if self.check_context else NOT_JUDGED
        both = outcome_frame(
            names,
            [
                outcome_row(
                    self.name, names, Graded(pass_fail_scores(answer=True, context=context))
                )
                for context in (True, skipped)
            ],
        )
        was_read = pl.col("contexts").is_not_null() & self.check_context
        return [
            pl.when(was_read)
            .then(pl.lit(read, kind))
            .otherwise(pl.lit(not_read, kind))
            .alias(column)
            for (column, kind), read, not_read in zip(
                both.schema.items(), *both.rows(), strict=True
            )
        ]

    @cached_property
    def _found(self) -> Callable[[str], tuple[Finding, ...]]:
        return lru_cache(maxsize=64)(self.find)

    def find(self, text: str) -> tuple[Finding, ...]:
        """Find everything in an original text, ordered by position."""
        prepared = plain(text)
        placed = []
        for finding in self.detect(prepared.text):
            start, end = prepared.origin(finding.start, finding.end)
            placed.append(replace(finding, start=start, end=end))
        return tuple(sorted(placed, key=lambda finding: (finding.start, finding.kind)))
