"""BYOP: bring your own prompt, whose answer is true or false."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from evaluators.flows.prompt import Instruction, Prompt, block
from evaluators.flows.reply import PlainReply, Reply
from evaluators.flows.requests import ask
from evaluators.kinds.judged import AnswerAndContextEvaluator, Verdict
from evaluators.outcome import Undefined
from evaluators.text.references import no_reference_reason, non_blank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

_COLUMNS = {
    "INPUT": "question",
    "EXPECTED_OUTPUT": "expected_answers",
    "ACTUAL_OUTPUT": "answer",
    "CONTEXT": "contexts",
}
_JUDGED = "ACTUAL_OUTPUT"
_PLACEHOLDER = re.compile(r"\{(" + "|".join(_COLUMNS) + r")\}")
_QUOTES = "\"'`\u2018\u2019\u201c\u201d"
_VERDICT = re.compile(rf"(?:```[a-z]*\s)?[\s{_QUOTES}]*(true|false)[\s{_QUOTES}.]*")
_EXAMPLE = (
    "Is it true that the answer deals with what the question asks?\n\n"
    "Question:\n{INPUT}\n\nAnswer:\n{ACTUAL_OUTPUT}"
)

FRAME = Instruction(
    "The message of the user puts a question to you that is to be answered by true or false. The "
    "question is what stands outside of the blocks; it may speak of the blocks `input` (what a "
    "system was asked), `expected_output` (what it should have answered), `actual_output` (what it "
    "answered) and `context` (what it had retrieved). Unless the question says otherwise, a text "
    "that quotes or condemns something does not do it. Give your reasons, then your verdict."
)


class OwnVerdict(Reply):
    """The answer to the question."""

    reasoning: str
    verdict: bool


@dataclass(frozen=True, kw_only=True)
class Byop(AnswerAndContextEvaluator):
    """Does the answer pass a check of your own?

    The template goes to the judge with `{INPUT}`, `{EXPECTED_OUTPUT}`, `{ACTUAL_OUTPUT}` and
    `{CONTEXT}` replaced by blocks that hold the question, the expected answers, the answer and the
    passages (several of them joined by line breaks). True passes. Nothing else in the template is
    replaced, so it may contain braces. It need not mention blocks or JSON.

    Source: the BYOP evaluator of Eval Studio.

    Edges: if the sample lacks a field of the template, the metric is not applicable. With
    `{CONTEXT}`, passages without text are undefined (`no_context`), without a call. A blank answer
    goes to the judge like any other. In the mode `raw` nothing tells the judge how to reply: its
    reply must be true or false, ignoring quotes, code fences, case and a final full stop; any other
    reply is repaired by the judge once or becomes a parse failure. With
    `evaluate_retrieved_context` the same question is asked again with the passages in place of the
    answer, and both must pass; the template then needs `{ACTUAL_OUTPUT}`.

    Attributes:
        prompt_template: The question to the judge, with at least one placeholder. Set your own:
            the default only shows the form.
        mode: `structured` has the judge give reasons and a verdict in a fixed form; `raw` adds
            nothing to the template, which must itself ask for `true` or `false`.
        evaluate_retrieved_context: Whether the passages, joined by line breaks, must pass as well;
            this is one more judge call.
    """

    version = 2
    judges_blank_answers = True
    reads = frozenset()
    optional = frozenset(_COLUMNS.values())
    prompts = (FRAME,)
    replies = (OwnVerdict, PlainReply)

    prompt_template: str = _EXAMPLE
    mode: Literal["structured", "raw"] = "structured"

    def __post_init__(self) -> None:
        """Validate the template.

        Raises:
            ValueError: The template has no placeholder, or none for the text that is judged.
        """
        used = set(_PLACEHOLDER.findall(self.prompt_template))
        if not used:
            known = ", ".join(f"{{{name}}}" for name in _COLUMNS)
            raise ValueError(f"prompt_template: at least one of {known} is needed")
        if self.evaluate_retrieved_context and _JUDGED not in used:
            raise ValueError(
                f"prompt_template: {{{_JUDGED}}} is needed with evaluate_retrieved_context, "
                "which puts the passages in its place"
            )

    def not_applicable_reasons(self) -> Sequence[pl.Expr]:
        """Return the fields of the template that the sample lacks."""
        used = set(_PLACEHOLDER.findall(self.prompt_template))
        columns = [column for name, column in _COLUMNS.items() if name in used]
        gone = [
            pl.when(pl.col(column).is_null()).then(pl.lit(f"no {column}")) for column in columns
        ]
        return (*gone, no_reference_reason()) if "expected_answers" in columns else gone

    def expected_calls(self, sample: Sample) -> int:
        """One call for each text that is judged; none about a context without text."""
        return 0 if self._lacks_context(sample) else super().expected_calls(sample)

    def _lacks_context(self, sample: Sample) -> bool:
        is_used = "CONTEXT" in _PLACEHOLDER.findall(self.prompt_template)
        return is_used and not any(text.strip() for text in sample.contexts or () if text)

    def judge(self, sample: Sample, text: str) -> Flow[Verdict]:
        """Fill the template, with a text in place of the answer, and call the judge."""
        if self._lacks_context(sample):
            raise Undefined("no_context: no passage has text")
        texts = {
            "INPUT": sample.question or "",
            "EXPECTED_OUTPUT": "\n".join(non_blank(sample.expected_answers)),
            _JUDGED: text,
            "CONTEXT": "\n".join(text for text in sample.contexts or () if text),
        }
        filled = _PLACEHOLDER.sub(
            lambda found: block(found[1].lower(), texts[found[1]]), self.prompt_template
        )
        if self.mode == "raw":
            reply = yield from ask(PlainReply, Prompt("", filled), check=_faults)
            return Verdict(_parse_verdict(reply.text) == "true")
        found = yield from ask(OwnVerdict, Prompt(FRAME.text, filled))
        return Verdict(found.verdict)


def _parse_verdict(reply: str) -> str | None:
    found = _VERDICT.fullmatch(reply.strip().casefold())
    return found and found[1]


def _faults(reply: PlainReply) -> list[str]:
    return (
        []
        if _parse_verdict(reply.text)
        else ["the reply must be `true` or `false` and nothing else"]
    )
