"""Summarization by judge: whether an answer is a good summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import ask
from evaluators.kinds.judged import EMPTY_ANSWER, AnswerAndContextEvaluator, Verdict
from evaluators.text.references import NON_BLANK, no_reference_reason, non_blank

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.flows.prompt import Prompt
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

ASSESS = Instruction(
    "Decide whether the block `summary` is a good summary. You are given either the block "
    "`references`, which lists good summaries of the same text, each after its key in brackets, or "
    "the block `source`, which holds the text itself. Judge by what is given, not by what you "
    "know. Of several references, the one nearest to the summary counts.\n"
    "Set `comprehensive` if the summary holds every main point, and contradicts none; `concise` if "
    "it does without repetition and side issues; `coherent` if its sentences follow from each "
    "other; `self_contained` if it can be understood by somebody who has read nothing else. Other "
    "words for the same thing are no fault. That a summary reports something objectionable because "
    "the text says it is no fault either: to quote or to condemn is not to do.\n"
    "Then set `good_summary` by your overall judgement."
)


class SummaryAssessed(Reply):
    """How the summary is in each respect, and on the whole."""

    reasoning: str
    comprehensive: bool
    concise: bool
    coherent: bool
    self_contained: bool
    good_summary: bool

    @property
    def criteria(self) -> Mapping[str, bool]:
        """The verdict in each respect."""
        return {
            "comprehensive": self.comprehensive,
            "concise": self.concise,
            "coherent": self.coherent,
            "self_contained": self.self_contained,
        }


@dataclass(frozen=True, kw_only=True)
class SummarizationJudge(AnswerAndContextEvaluator):
    """Is the answer a good summary?

    The judge compares the answer with the expected answers, which are good summaries. It decides
    for each of four criteria (comprehensive, concise, coherent, self-contained) whether it is met,
    and then gives an overall verdict; only the overall verdict counts.

    Source: the summarization (judge) evaluator of Eval Studio. Its code shows the judge the source
    text instead of the reference: `compare_with: source` does the same, with the question as the
    source text.

    Edges: a blank answer fails without a judge call, with the reason `empty_answer`. Without a
    reference (or source) the metric is not applicable. An overall verdict that contradicts the four
    criteria counts, with the reason `criteria_conflict`. The detail has the criteria. With
    `evaluate_retrieved_context` the passages must be a good summary as well, as in the source: this
    only makes sense for systems that retrieve summaries.

    Attributes:
        compare_with: What to compare the summary with: the expected answers (`reference`) or the
            question, which is the source text (`source`).
        evaluate_retrieved_context: Whether the passages, joined by line breaks, must pass as well;
            this is one more judge call.
    """

    reads = frozenset({"answer"})
    optional = AnswerAndContextEvaluator.optional | {"expected_answers", "question"}
    prompts = (ASSESS,)
    replies = (SummaryAssessed,)

    compare_with: Literal["reference", "source"] = "reference"

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the reason where there is nothing to compare with."""
        if self.compare_with == "source":
            given = pl.col("question").str.contains(NON_BLANK).fill_null(value=False)
            return (pl.when(~given).then(pl.lit("no question")),)
        unknown = pl.col("expected_answers").is_null()
        return (pl.when(unknown).then(pl.lit("no expected_answers")), no_reference_reason())

    def judge(self, sample: Sample, text: str) -> Flow[Verdict]:
        """Judge a text as a summary."""
        found = yield from ask(SummaryAssessed, self._prompt(sample, text))
        conflict = found.good_summary != all(found.criteria.values())
        return Verdict(
            passes=found.good_summary,
            detail={"criteria": found.criteria},
            remark="criteria_conflict" if conflict else None,
        )

    def blank_verdict(self) -> Verdict:
        """A blank answer is no summary."""
        return Verdict(passes=False, remark=EMPTY_ANSWER)

    def _prompt(self, sample: Sample, summary: str) -> Prompt:
        if self.compare_with == "source":
            return ASSESS.prompt(source=sample.question, summary=summary)
        references = non_blank(sample.expected_answers)
        keyed = {f"r{number}": text for number, text in enumerate(references, start=1)}
        return ASSESS.prompt(references=keyed, summary=summary)
