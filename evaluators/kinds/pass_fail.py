"""Pass/fail evaluators: whether an answer passes a check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import polars as pl

from evaluators.evaluator import Evaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, NotApplicable, Scores, Unscored
from evaluators.statistics.clusters import subtract_parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.sample import Sample
    from evaluators.statistics.arrays import Floats, Integers

_THRESHOLD = 0.5
NOT_JUDGED = NotApplicable("the context was not judged")
NO_CONTEXTS = NotApplicable("no contexts")
_NO_ANSWER = NotApplicable("the system gave no answer, so nothing was judged")


def _failures(name: str, summary: str) -> Metric:
    return Metric(name=name, summary=summary, best="low", threshold=_THRESHOLD)


def _passes(
    name: str, summary: str, level: Literal["sample", "system"], *, primary: bool = False
) -> Metric:
    return Metric(
        name=name,
        summary=summary,
        threshold=_THRESHOLD,
        level=level,
        pass_fail=level == "sample",
        primary=primary,
    )


@dataclass(frozen=True, kw_only=True)
class PassFailEvaluator(Evaluator):
    """Decides whether an answer passes and, if not, whether the answer or its context fails.

    Combine it with a kind: `class Sexism(PassFailEvaluator, FlowEvaluator)`. The mean of `passes`
    leaves out samples that could not be judged; `passes_of_all` counts them as failures.
    """

    metrics: ClassVar[tuple[Metric, ...]] = (
        _passes("passes", "Whether the answer passes the check.", "sample", primary=True),
        _failures("failures", "Whether the answer or its context fails the check."),
        _failures("retrieval_failures", "Whether the retrieved context fails the check."),
        _failures("generation_failures", "Whether the answer itself fails the check."),
        _failures("parse_failures", "Whether the judge's verdict could not be understood."),
        _passes(
            "passes_of_all",
            "Share of passes among all verdicts, those that could not be understood included.",
            "system",
        ),
    )

    @property
    def judges_context(self) -> bool:
        """Whether the retrieved context must pass too."""
        return False

    def context_skip_reason(self, sample: Sample) -> NotApplicable | None:
        """Return why the context is not judged, or None if it is."""
        if not self.judges_context:
            return NOT_JUDGED
        return NO_CONTEXTS if sample.contexts is None else None

    def unanswered_scores(self, sample: Sample) -> Graded:
        """Return the scores of a failed answer, which is not judged, so no verdict is unclear."""
        skipped = self.context_skip_reason(sample)
        judged = {"retrieval_failures": skipped} if skipped else {}
        return Graded({"parse_failures": _NO_ANSWER, **judged})

    def counted(self) -> pl.Expr:
        """Return the samples with a verdict, or with one that could not be understood.

        Where a failed answer is the worst, it has failed the check.
        """
        return pl.col("passes").is_not_null() | (pl.col("parse_failures") == 1)

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Return the share of passes among passes, failures and parse failures."""
        return {"passes_of_all": int((rows["passes"] == 1).sum()) / rows.height}

    def aggregate_without(
        self, rows: pl.DataFrame, parts: Integers, count: int
    ) -> Mapping[str, Floats]:
        """Subtract the counts of each part from those of all samples."""
        passed = (rows["passes"] == 1).fill_null(value=False).to_numpy()
        passes = subtract_parts(passed, parts, count)
        return {"passes_of_all": passes / subtract_parts(np.ones(len(parts)), parts, count)}


def pass_fail_scores(*, answer: bool, context: bool | Unscored = NOT_JUDGED) -> Scores:
    """Return the scores of a judged sample.

    Args:
        answer: Whether the answer passes.
        context: Whether the context passes, or why it was not judged.
    """
    passes = answer if isinstance(context, Unscored) else answer and context
    return {
        "passes": float(passes),
        "failures": float(not passes),
        "retrieval_failures": context if isinstance(context, Unscored) else float(not context),
        "generation_failures": float(not answer),
        "parse_failures": 0.0,
    }


def unjudged_scores(reason: Unscored) -> Scores:
    """Return the scores of a sample that could not be judged for a reason."""
    names = [metric.name for metric in PassFailEvaluator.metrics if metric.level == "sample"]
    return {**dict.fromkeys(names, reason), "parse_failures": 0.0}
