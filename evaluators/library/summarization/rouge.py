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
    SEGMENTER,
    STEMMER,
    Counts,
    ascii_words,
    matches,
    ngram_counts,
    unicode_words,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evaluators.sample import Sample

Words = Literal["auto", "unicode", "stemmed", "plain"]
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

    Sources: Lin, "ROUGE: a package for automatic evaluation of summaries", 2004; the Python package
    rouge-score with its stemmer, to which all values are equal where the texts consist of ASCII
    words and ordinary punctuation.

    Words are runs of letters and digits of any script with their marks, by Unicode's rule (UAX 29),
    except that punctuation always ends a word, as in rouge-score. In scripts that are written
    without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) each grapheme is a word. Symbols
    that distinguish texts are words too: currency, operators and signs (C++ is not C#, -5 not 5, 5
    % not 5), emoji. Texts are normalised (NFKC) and case-folded. rouge-score itself drops all that
    is not ASCII: identical Chinese answers score 0, different Cyrillic ones 1. `stemmed` and
    `plain` are its literal rule.

    Edges: no expected answer, or only blank ones: not applicable. Several expected answers: the
    best F1 of each metric. An empty answer: 0. An answer of one word has no pairs, so its ROUGE-2
    is 0. In a text without words and symbols each punctuation mark is a word. If the numbers of
    words of two different texts have a product above a billion (two texts of 32,000 words), ROUGE-L
    is undefined, because its time grows with the product.

    Attributes:
        words: The words of every text: `auto` (any script; ASCII words as Porter stems), `unicode`
            (the same without stems), `stemmed` (rouge-score with its stemmer) or `plain`
            (rouge-score without).
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
    version = 2
    libraries = (SEGMENTER, STEMMER)

    words: Words = "auto"

    @property
    def needed_libraries(self) -> tuple[str, ...]:
        """The stemmer is needed for stems only."""
        return (SEGMENTER,) if self.words in {"unicode", "plain"} else self.libraries

    def grade(self, sample: Sample) -> Graded:
        """Compare the answer with each expected answer; keep the best value of each metric."""
        given = prepared(sample.answer or "", self.words)
        references = non_blank(sample.expected_answers)
        scores = [f1_scores(_shared_text(text, self.words), given) for text in references]
        best = map(_best, zip(*scores, strict=True))
        return Graded(dict(zip(_NAMES, best, strict=True)))


def prepared(text: str, words: Words = "auto") -> Text:
    """Split a text into words, and count words and pairs."""
    if words in {"auto", "unicode"}:
        found = unicode_words(text, stem=words == "auto")
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
