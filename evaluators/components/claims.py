"""Statements: a text taken apart into what it asserts, by the judge.

Evaluators that need statements put the same question for the same text, so that the judge answers
it once: for `faithfulness` and `answer_correctness` of one answer, and for one expected answer
whichever system is held against it.
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
    """What a text asserts.

    Attributes:
        texts: The different statements in their order; the whole text where the judge found none
            in a text that does give an answer ("Yes", "42").
        noncommittal: Whether the text only refuses or evades.
        whole: The text itself.
    """

    texts: tuple[str, ...]
    noncommittal: bool
    whole: str

    @property
    def evades(self) -> bool:
        """Whether nothing is asserted, because the text refuses or evades."""
        return not self.texts

    def or_whole(self) -> Extraction:
        """The same, with the whole text as the only statement where there is none."""
        return self if self.texts else Extraction((self.whole,), self.noncommittal, self.whole)

    def keyed(self, prefix: str) -> dict[str, str]:
        """The statements by key: `s1`, `s2`, ... for the prefix `s`."""
        return {f"{prefix}{number}": text for number, text in enumerate(self.texts, start=1)}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two lists of statements agree.

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
        """F over statements, where what is right is counted in the answer; F1 for a beta of 1."""
        if not self.supported:
            return 0.0
        right = (1 + beta**2) * self.supported
        return right / (right + beta**2 * self.missed + self.unsupported)

    def f1_symmetric(self) -> float:
        """The harmonic mean of the share supported of the one and covered of the other list."""
        if not self.supported or not self.covered:
            return 0.0
        precision = self.supported / (self.supported + self.unsupported)
        recall = self.covered / (self.covered + self.missed)
        return 2 * precision * recall / (precision + recall)


NONE_RIGHT = Agreement(0, 0, 0, 0)
"""Of an answer that states nothing."""


def extract_statements(question: str | None, text: str) -> Flow[Extraction]:
    """Ask the judge what a text asserts.

    Args:
        question: What the text answers, if that is known.
        text: The text; not blank.

    Raises:
        ParseFailure: The judge answered, but nothing usable came of it.
        JudgeError: It could not be asked or did not answer.
    """
    sentences = answer_keys(text)
    asked = question if question and question.strip() else None
    found = yield from ask(
        Statements,
        EXTRACT.prompt(question=asked, text=sentences),
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
