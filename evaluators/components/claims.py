"""Statements: what a text asserts, extracted by the judge.

Evaluators make the same judge call for the same text, so the judge answers it once: for
`faithfulness` and `answer_correctness` of an answer, and for an expected answer in all systems.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.flows.prompt import Instruction
from evaluators.flows.reply import Key, Reply, too_many_unknown
from evaluators.flows.requests import ask
from evaluators.text.sentences import answer_keys

if TYPE_CHECKING:
    from evaluators.flows.requests import Flow

EXTRACT = Instruction(
    "The block `text` lists the sentences of a text, each after its key in brackets; the block "
    "`question`, where there is one, is what the text answers. Take the text apart into "
    "statements. A statement asserts one thing that is either true or false, and is a full "
    "sentence that is understood alone: put names in place of pronouns, and let the question "
    "complete what is shorter than a sentence (a name, a number, yes or no). Keep numbers, units, "
    "dates, names, negations and reservations as they are. Add nothing that the text does not "
    "assert, leave nothing out that it asserts, give no statement twice, and do not ask yourself "
    "whether it is true. Greetings, headings, offers of help and remarks about the text itself "
    "assert nothing. Give with each statement the key of the sentence that it comes from. "
    "`noncommittal` says whether the text does no more than refuse, evade, or say that the answer "
    "is not known or not to be found; the list is then empty, unless it asserts something beside "
    "that."
)


class Statement(Reply):
    """One thing that the text asserts, and the key of the sentence where it does."""

    sentence: Key
    text: str


class Statements(Reply):
    """What the text asserts."""

    noncommittal: bool
    statements: list[Statement]


@dataclass(frozen=True, slots=True)
class Extraction:
    """The statements of a text.

    Attributes:
        texts: The distinct statements in their order; the whole text if the judge finds none in a
            text that does answer ("Yes", "42").
        noncommittal: Whether the text only refuses or evades.
        whole: The text itself.
    """

    texts: tuple[str, ...]
    noncommittal: bool
    whole: str

    @property
    def evades(self) -> bool:
        """Whether there is no statement, because the text refuses or evades."""
        return not self.texts

    def or_whole(self) -> Extraction:
        """Return the extraction; without statements, the whole text is the only one."""
        return self if self.texts else Extraction((self.whole,), self.noncommittal, self.whole)

    def keyed(self, prefix: str) -> dict[str, str]:
        """Return the statements by key: `s1`, `s2`, ... for the prefix `s`."""
        return {f"{prefix}{number}": text for number, text in enumerate(self.texts, start=1)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two lists of statements.

    Attributes:
        supported: Statements of the answer that the expected answer supports (true positives).
        unsupported: Those that it does not support (false positives).
        covered: Statements of the expected answer that the answer expresses.
        missed: Those that it does not express (false negatives).
    """

    supported: int
    unsupported: int
    covered: int
    missed: int

    def f1(self, beta: float = 1.0) -> float:
        """Return the F score of the answer's statements; F1 for a beta of 1."""
        if not self.supported:
            return 0.0
        right = (1 + beta**2) * self.supported
        return right / (right + beta**2 * self.missed + self.unsupported)

    def f1_symmetric(self) -> float:
        """Return the harmonic mean of the supported share and the covered share."""
        if not self.supported or not self.covered:
            return 0.0
        precision = self.supported / (self.supported + self.unsupported)
        recall = self.covered / (self.covered + self.missed)
        return 2 * precision * recall / (precision + recall)


NONE_RIGHT = Agreement(0, 0, 0, 0)
"""The agreement of an answer without statements."""


def extract_statements(question: str | None, text: str) -> Flow[Extraction]:
    """Extract the statements of a text with the judge.

    Args:
        question: The question that the text answers, if known.
        text: The text; not blank.

    Raises:
        ParseFailure: The judge answered, but the reply is not usable.
        JudgeError: The judge could not be called, or did not answer.
    """
    sentences = answer_keys(text)
    context = question if question and question.strip() else None
    found = yield from ask(
        Statements,
        EXTRACT.prompt(question=context, text=sentences),
        check=lambda reply: _faults(reply, sentences),
    )
    texts = tuple(dict.fromkeys(" ".join(each.text.split()) for each in found.statements))
    whole = " ".join(text.split())
    if not texts and not found.noncommittal:
        texts = (whole,)
    return Extraction(texts, found.noncommittal, whole)


def _faults(reply: Statements, sentences: dict[str, str]) -> list[str]:
    faults = too_many_unknown([each.sentence for each in reply.statements], sentences)
    if any(not each.text.strip() for each in reply.statements):
        faults.append("a statement is empty")
    return faults
