"""ROUGE: the words of an answer, and their order, compared with the expected answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined, Unscored, Value
from evaluators.text.references import non_blank
from evaluators.text.words import (
    STEMMER,
    Counts,
    ascii_words,
    is_mostly_ascii,
    matches,
    ngram_counts,
    unicode_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluators.sample import Sample

Words = Literal["stemmed", "plain", "unicode"]
_NAMES = ("rouge_1", "rouge_2", "rouge_l")
_MOST_PAIRS = 10**9
"""The most pairs of words for a longest common subsequence, whose time grows with their number."""


class Text(NamedTuple):
    """A text in the form in which it is compared."""

    words: list[str]
    unigrams: Counts
    bigrams: Counts


@dataclass(frozen=True, kw_only=True)
class Rouge(RowEvaluator):
    """Does the answer use the words of the expected answer, and in their order?

    ROUGE-1 compares words, ROUGE-2 pairs of consecutive words: precision is the share of the
    answer's that the reference has too (none counted more often than there), recall the share of
    the reference's that the answer has, and the metric is their harmonic mean F1. ROUGE-L does the
    same with the length of the longest common subsequence of words over the whole text.

    Sources: Lin, "ROUGE: a package for automatic evaluation of summaries", 2004; equal to the
    Python package rouge-score with its stemmer.

    Edges: no expected answer, or only blank ones: not applicable. Several expected answers: the
    best F1 of each metric. No words on a side: 0; an answer of one word has no pairs, so its
    ROUGE-2 is 0. If the numbers of words of two different texts have a product above a billion (two
    texts of 32,000 words), ROUGE-L is undefined, because its time grows with the product. The words
    of rouge-score are runs of ASCII letters and digits, so that it gives
    identical Chinese answers 0 and different Cyrillic ones 1; a pair in which less than half of the
    letters of either text are ASCII is therefore compared by `unicode` words: NFKC, case-folded,
    each ideograph alone, no stemmer. The detail has the kinds of words used.

    Attributes:
        words: The words of every pair: `stemmed` (rouge-score with its stemmer), `plain`
            (without), or `unicode`; `auto` takes `stemmed` or `unicode` for each pair.
    """

    metrics = (
        Metric(name="rouge_1", summary="F1 of the words that answer and reference share."),
        Metric(name="rouge_2", summary="F1 of the pairs of neighbouring words that they share."),
        Metric(
            name="rouge_l",
            summary="F1 of the longest series of words that both have in the same order.",
            primary=True,
        ),
    )
    reads = frozenset({"expected_answers", "answer"})
    non_empty = frozenset({"expected_answers"})
    shared = ("expected_answers",)
    libraries = (STEMMER,)

    words: Literal["auto", "stemmed", "plain", "unicode"] = "auto"

    def grade(self, sample: Sample) -> Graded:
        """Compare the answer with each expected answer; keep the best value of each metric."""
        answer = sample.answer or ""
        references = non_blank(sample.expected_answers)
        kinds = [self.words_of(reference, answer) for reference in references]
        scores = [
            f1_scores(_shared_text(reference, kind), prepared(answer, kind))
            for reference, kind in zip(references, kinds, strict=True)
        ]
        best = map(_best, zip(*scores, strict=True))
        return Graded(dict(zip(_NAMES, best, strict=True)), {"words": sorted(set(kinds))})

    def words_of(self, reference: str, answer: str) -> Words:
        """Return the kind of words for a pair of texts."""
        if self.words != "auto":
            return self.words
        return "stemmed" if is_mostly_ascii(reference) and is_mostly_ascii(answer) else "unicode"


def prepared(text: str, words: Words) -> Text:
    """Split a text into words, and count words and pairs."""
    if words == "unicode":
        found = unicode_words(text)
    else:
        found = ascii_words(text, stem=words == "stemmed")
    return Text(found, ngram_counts(found, 1), ngram_counts(found, 2))


_shared_text = lru_cache(maxsize=64)(prepared)


def f1_scores(reference: Text, answer: Text) -> tuple[Value, Value, Value]:
    """Return ROUGE-1, ROUGE-2 and ROUGE-L of an answer with one reference, each as F1."""
    one, other = len(answer.words), len(reference.words)
    if not one or not other:
        return 0.0, 0.0, 0.0
    return (
        _f1(matches(answer.words, 1, reference.unigrams), one, other),
        _f1(matches(answer.words, 2, reference.bigrams), one - 1, other - 1),
        _rouge_l(answer.words, reference.words),
    )


def _rouge_l(answer: list[str], reference: list[str]) -> Value:
    """Return ROUGE-L, or why it has no value: the texts are too long."""
    from rapidfuzz.distance.LCSseq import similarity

    one, other = len(answer), len(reference)
    if one * other > _MOST_PAIRS and answer != reference:
        return Undefined(
            f"the answer has {one:,} words and the reference {other:,}: more than "
            f"{_MOST_PAIRS:,} pairs"
        )
    return _f1(similarity(answer, reference), one, other)


def _best(scores: Iterable[Value]) -> Value:
    """Return the highest of the values with several references; all must have one."""
    best = 0.0
    for score in scores:
        if isinstance(score, Unscored):
            return score
        best = max(best, float(score))
    return best


def _f1(shared: int, one: int, other: int) -> float:
    """Return the harmonic mean of shared / one and shared / other."""
    return 2 * shared / (one + other) if shared else 0.0
