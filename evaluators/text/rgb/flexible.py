"""The flexible rules: phrases anywhere in the reply, and four ways of being right.

Source: the RGB evaluation of the RGBMetrics application. All rules compare substrings, so a rule
may match inside another word ("error" in "terror"); the other rules are stricter. Composed and
decomposed letters (NFC, NFD) are equal.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from evaluators.text.words import compose

if TYPE_CHECKING:
    from collections.abc import Sequence

Rule: TypeAlias = Literal["contains", "contained", "overlap", "equal"]

ENOUGH_OVERLAP = 0.8
"""The share of the expected answer's distinct words that makes a reply right."""

_FINAL_MARKS = ".!?,;:"
_REJECTIONS = (
    "i can not answer the question because of the insufficient information in documents",
    "insufficient information in documents",
    "can not answer",
    "cannot answer",
    "i don't know",
    "i cannot",
    "i can't",
    "unable to",
    "not able to",
    "insufficient information",
    "no information",
    "cannot determine",
    "not enough information",
    "don't have enough",
    "unable to determine",
    "cannot find",
    "no relevant",
    "not mentioned",
    "not provided",
    "not specified",
    "unclear",
    "unknown",
    "i'm not sure",
    "i am not sure",
    "cannot be determined",
    "information is not available",
    "does not provide",
)
_DETECTIONS = (
    "incorrect",
    "wrong",
    "false",
    "error",
    "mistake",
    "inaccurate",
    "not true",
    "not correct",
    "factually incorrect",
    "contradicts",
    "actually",
    "in fact",
    "however",
    "but actually",
    "the correct answer",
    "should be",
)


@lru_cache(maxsize=1 << 16)
def normalize(text: str) -> str:
    """Compose letters, lower the case, drop final marks . ! ? , ; :, and collapse white space."""
    return " ".join(compose(text.lower()).strip().rstrip(_FINAL_MARKS).split())


@lru_cache(maxsize=1 << 16)
def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


class NormalizedAnswer:
    """A system's answer, normalised once for all comparisons."""

    def __init__(self, answer: str) -> None:
        self.text = normalize.__wrapped__(answer)

    @cached_property
    def words(self) -> frozenset[str]:
        """The distinct words, split at spaces."""
        return frozenset(self.text.split())

    def rule(self, expected: str) -> Rule | None:
        """Return the first rule by which the answer is right, or None.

        In this order: it contains the expected answer; it is shorter and contained in it; it has at
        least 80 % of the expected answer's different words. An empty answer is never right, and an
        empty expected answer never matches.
        """
        truth = normalize(expected)
        if not self.text or not truth:
            return None
        if truth in self.text:
            return "contains"
        if len(self.text) < len(truth) and self.text in truth:
            return "contained"
        words = _words(truth)
        # Fast path: a word that is not a substring of the text is not one of its words.
        substrings = [word for word in words if word in self.text]
        if len(substrings) / len(words) < ENOUGH_OVERLAP:
            return None
        return "overlap" if len(words & self.words) / len(words) >= ENOUGH_OVERLAP else None

    def strict_rule(self, expected: str) -> Rule | None:
        """Return `equal` if the answer equals the expected one, both normalised and not empty."""
        return "equal" if self.text and self.text == normalize(expected) else None

    def rule_of_any(self, spellings: Sequence[str], *, strict: bool = False) -> Rule | None:
        """Return the rule by which the first matching spelling matches, or None."""
        rule = self.strict_rule if strict else self.rule
        return next(filter(None, map(rule, spellings)), None)

    def corrects(
        self, spellings: Sequence[str], counterfactual: str | None, *, strict: bool = False
    ) -> bool:
        """Return whether a spelling matches, and the answer does not just repeat the wrong answer.

        It repeats it if it contains the wrong answer and not the right one.
        """
        wrong = normalize(counterfactual or "")
        repeats = bool(wrong) and wrong in self.text
        return any(
            self.rule_of_any([spelling], strict=strict) is not None
            and not (repeats and normalize(spelling) not in self.text)
            for spelling in spellings
        )


def find_rejection(answer: str) -> str | None:
    """Return the first phrase that declines to answer, or None."""
    text = answer.lower()
    return next((phrase for phrase in _REJECTIONS if phrase in text), None)


def find_detection(answer: str, counterfactual: str | None) -> str | None:
    """Return the first phrase that calls the documents wrong, or None.

    Besides fixed phrases these are "not X" and "X is wrong", X being the counterfactual answer.
    """
    text = compose(answer.lower())
    phrases: tuple[str, ...] = _DETECTIONS
    if counterfactual and not counterfactual.isspace():
        wrong = compose(counterfactual.lower())
        phrases = (*_DETECTIONS, f"not {wrong}", f"{wrong} is wrong")
    return next((phrase for phrase in phrases if phrase in text), None)
