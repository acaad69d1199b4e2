"""Rewritten questions: a judge model writes each in other words or another language, and checks it.

The check sees both questions in blocks without saying which one is the original.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Reply
from evaluators.flows.requests import Ask, ask
from evaluators.outcome import JudgeError, ParseFailure
from evaluators.text.words import unicode_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.components.test_sets.kinds import RewriteKind
    from evaluators.flows.requests import Flow

_KEEP = (
    "It must ask for exactly the same, so that every correct answer to one is a correct answer to "
    "the other. Do not answer it, explain it, or make it more or less precise. In `reasoning`, "
    "first say what must stay as it is."
)

PARAPHRASE = Instruction(
    "The block `question` is a question. Write it in other words and, where possible, with another "
    "structure, in the same language, as another person would ask it. Names, numbers, units, dates "
    f"and quotations stay as they are. {_KEEP}"
)

TRANSLATE = Instruction(
    "The block `question` is a question; the block `language` names a language. Translate the "
    "question into this language, as a native speaker would ask it. Write names as this language "
    f"does; numbers, units, dates and codes keep their value. {_KEEP}"
)

SAME_QUESTION = Instruction(
    "The blocks `first` and `second` are two questions. `same` says whether they ask for exactly "
    "the same: whether every correct and complete answer to one is so for the other; wording, "
    "spelling and language do not matter. `in_language` says whether the question of the block "
    "`second` is in the language that the block `language` names or, without this block, in the "
    "language of the first. In `reasoning`, first say what differs."
)

REWRITES: Final[Mapping[RewriteKind, Instruction]] = {
    "paraphrase": PARAPHRASE,
    "language": TRANSLATE,
}
"""The instruction of each kind."""


class Rewritten(Reply):
    """A question in other words."""

    reasoning: str
    question: str


class SameQuestion(Reply):
    """Whether two questions ask for the same."""

    reasoning: str
    same: bool
    in_language: bool


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A rewritten question.

    Attributes:
        text: Its text; None if no reply is usable.
        rejection: Why it is rejected; None if the check agrees with it.
        is_unanswered: Whether the reason is that the judge gave no reply.
    """

    text: str | None
    rejection: str | None = None
    is_unanswered: bool = False


def rewrite_question(
    kind: RewriteKind, text: str, language: str | None, seed: int = 0
) -> Flow[Rewrite]:
    """Rewrite a question, and check that the result asks for the same.

    Args:
        kind: The kind of change.
        text: The question.
        language: The language to translate into; None for a paraphrase.
        seed: The number of the repeat of the call that rewrites; another one is another call.
    """
    written: str | None = None
    try:
        draft = yield Ask(
            Rewritten,
            REWRITES[kind].prompt(question=text, language=language),
            lambda reply: _faults(kind, text, reply.question),
            replicate=seed,
        )
        written = " ".join(draft.question.split())
        checked = yield from ask(
            SameQuestion, SAME_QUESTION.prompt(first=text, second=written, language=language)
        )
    except (ParseFailure, JudgeError) as reason:
        what = "the rewritten question" if written is None else "the check"
        message = f"{what}: {reason.status.value}: {reason.reason}"
        return Rewrite(written, message, isinstance(reason, JudgeError))
    if not checked.same:
        return Rewrite(written, "the check says that it asks for something else")
    if not checked.in_language:
        return Rewrite(written, f"the check says that it is not in {language or 'its language'}")
    return Rewrite(written)


def _faults(kind: RewriteKind, text: str, written: str) -> list[str]:
    if not written.strip():
        return ["the question is empty"]
    if unicode_words(written) == unicode_words(text):
        return ["the question has the same words as before"]
    if kind == "paraphrase":
        missing = set(re.findall(r"\d+", text)) - set(re.findall(r"\d+", written))
        if missing:
            return [f"the question lacks the number {', '.join(sorted(missing))}"]
    return []
