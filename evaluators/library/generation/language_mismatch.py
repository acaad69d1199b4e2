"""Language mismatch: answers in another language than the question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import ask
from evaluators.kinds.judged import AnswerAndContextEvaluator, Verdict
from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow
    from evaluators.sample import Sample

UNDETERMINED = "und"
_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*")

NAME = Instruction(
    "Name the language of the block `question` and that of the block `text`, each as a BCP 47 tag "
    "such as `en`, `pt-BR` or `zh-Hant`, and say whether they are the same language. Look at the "
    "words only: whether the text is right, polite or to the point is of no account. Dialects, "
    "scripts and registers of one language are the same language and begin with the same subtag. "
    "Code, numbers, formulas and proper names have no language, and neither a quotation nor a "
    "condemned phrase in another language changes that of the text around it. Where several "
    "languages are mixed, name that of most sentences. Use `und` for a text whose language cannot "
    "be told, and set `same_language` to true then.\n"
    "If the question asks for an answer or a translation in a certain language, set "
    "`requested_language` to its tag; otherwise to null."
)


class LanguagesNamed(Reply):
    """Which languages, and whether they are the same."""

    reasoning: str
    question_language: str
    text_language: str
    requested_language: str | None
    same_language: bool


@dataclass(frozen=True, kw_only=True)
class LanguageMismatch(AnswerAndContextEvaluator):
    """Is the answer in the language of the question?

    The judge names both languages and says whether they are the same. Dialects and registers of one
    language are the same; code, numbers and proper names have no language. With
    `evaluate_retrieved_context` the context must be in the language of the question too.

    Source: the language mismatch evaluator of Eval Studio.

    Edges: a blank answer is in no language: undefined. Without words in the question the metric is
    not applicable. An undetermined language (`und`) passes, with the reason
    `language_undetermined`. A verdict that contradicts the tags (their first subtags), or an
    invalid tag, is repaired by the judge once or becomes a parse failure. An answer in the language
    that the question asks for (a translation, say) fails as in the source, unless `respect_request`
    is set; the detail has the requested language.

    Attributes:
        respect_request: Whether an answer must be in the language that the question asks for,
            where it asks for one.
    """

    reads = frozenset({"question", "answer"})
    non_empty = frozenset({"question"})
    prompts = (NAME,)
    replies = (LanguagesNamed,)

    respect_request: bool = False

    def judge(self, sample: Sample, text: str) -> Flow[Verdict]:
        """Ask for the languages of the question and of a text."""
        found = yield from ask(
            LanguagesNamed, NAME.prompt(question=sample.question, text=text), check=_faults
        )
        wanted = found.question_language
        if self.respect_request and found.requested_language is not None:
            wanted = found.requested_language
        unknown = UNDETERMINED in {_primary(wanted), _primary(found.text_language)}
        return Verdict(
            passes=unknown or _primary(wanted) == _primary(found.text_language),
            detail={
                "question_language": found.question_language,
                "text_language": found.text_language,
                "requested_language": found.requested_language,
            },
            remark="language_undetermined" if unknown else None,
        )

    def blank_verdict(self) -> Verdict:
        """A blank answer is in no language."""
        raise Undefined("a blank answer is in no language")


def _primary(tag: str) -> str:
    return tag.casefold().partition("-")[0]


def _faults(reply: LanguagesNamed) -> list[str]:
    tags = [reply.question_language, reply.text_language]
    requested = [] if reply.requested_language is None else [reply.requested_language]
    faults = [
        f"{tag!r} is no BCP 47 language tag"
        for tag in (*tags, *requested)
        if not _TAG.fullmatch(tag.casefold())
    ]
    first, second = map(_primary, tags)
    if UNDETERMINED not in {first, second} and reply.same_language != (first == second):
        said = "true" if reply.same_language else "false"
        faults.append(f"`same_language` is {said}, but the tags are {tags[0]!r} and {tags[1]!r}")
    return faults
