"""BLEU from counts: the matching n-grams of an answer, and what follows from them."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from evaluators.text.sentences import sentences
from evaluators.text.words import (
    SEGMENTER,
    Counts,
    compose,
    matches,
    ngram_counts,
    space_characters,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIBRARIES = ("nltk", SEGMENTER, "sacrebleu")
"""The distributions that tokenize texts and compute corpus BLEU, for `Evaluator.libraries`."""

ORDERS = (1, 2, 3, 4)


class Reference(NamedTuple):
    """One or more reference texts: the most of each n-gram in any of them, and their lengths."""

    counts: tuple[Counts, ...]
    lengths: tuple[int, ...]


class Tally(NamedTuple):
    """What BLEU is computed from; sums of these over many texts give the BLEU of a corpus."""

    right: tuple[int, ...]
    length: int
    reference_length: int

    @property
    def totals(self) -> tuple[int, ...]:
        """How many n-grams the answer has, of each order."""
        return tuple(max(0, self.length - order + 1) for order in ORDERS)


def words_of_sentences(text: str, language: str = "en") -> list[str]:
    """Cut a text into sentences and each into words as NLTK's word tokenizer does.

    Characters of scripts that are written without spaces are words; see `space_characters`.
    """
    tokenize = _nltk_tokenizer()
    return [
        word
        for sentence in sentences(compose(text), language)
        for word in tokenize(space_characters(sentence))
    ]


def words_of_13a(text: str) -> list[str]:
    """Cut a text into the tokens of mteval-v13a, which sacrebleu uses for corpora.

    Characters of scripts that are written without spaces are tokens: Chinese texts have those of
    sacrebleu's `zh`.
    """
    return _sacrebleu_tokenizer()(space_characters(compose(text)).rstrip()).split()


def reference_of(texts: Sequence[Sequence[str]]) -> Reference:
    """Count the n-grams of reference texts, given as tokens; at least one."""
    counts = []
    for order in ORDERS:
        most, *others = (ngram_counts(words, order) for words in texts)
        for other in others:
            most |= other
        counts.append(most)
    return Reference(tuple(counts), tuple(len(words) for words in texts))


def tally(reference: Reference, words: Sequence[str]) -> Tally:
    """Count how many n-grams of an answer, given as tokens, are in the reference.

    The reference's length is that of the text closest to the answer's, the shorter one on a tie.
    """
    right: list[int] = []
    for order, counts in zip(ORDERS, reference.counts, strict=True):
        # A longer n-gram cannot match where no shorter one does.
        found = matches(words, order, counts) if not right or right[-1] else 0
        right.append(found)
    length = len(words)
    closest = min(reference.lengths, key=lambda other: (abs(other - length), other))
    return Tally(tuple(right), length, closest)


def brevity_penalty(length: int, reference_length: int) -> float:
    """The factor for an answer that is shorter than its reference; 0 for an empty one."""
    if length > reference_length:
        return 1.0
    return math.exp(1 - reference_length / length) if length else 0.0


def single_orders(found: Tally) -> list[float]:
    """The share of matching n-grams of each order alone, times the brevity penalty."""
    penalty = brevity_penalty(found.length, found.reference_length)
    pairs = zip(found.right, found.totals, strict=True)
    return [penalty * right / total if right else 0.0 for right, total in pairs]


def cumulative(found: Tally) -> float:
    """The smoothed geometric mean of the four shares times the brevity penalty.

    An order of which the answer has no n-gram counts as one with a single one.
    """
    totals = [max(1, total) for total in found.totals]
    penalty = brevity_penalty(found.length, found.reference_length)
    return penalty * _smoothed_mean(found.right, totals)


def corpus(
    right: Sequence[int], totals: Sequence[int], length: int, reference_length: int
) -> float:
    """BLEU of sums over many texts, from 0 to 1, as sacrebleu computes it with `exp` smoothing.

    It is 0 if no text has an n-gram of some order. Shares are at most 1 and their logarithms at
    most 0, so that rounding cannot lead beyond the bounds: a perfect corpus is exactly 1.
    """
    if not all(totals):
        return 0.0
    return brevity_penalty(length, reference_length) * _smoothed_mean(right, totals)


def _smoothed_mean(right: Sequence[int], totals: Sequence[int]) -> float:
    """Return the geometric mean of the shares right / total, with NIST's smoothing.

    Smoothing method 3 of Chen and Cherry: the k-th share that is 0 counts as 1 / 2^k of one
    n-gram. Without a single matching word the mean is 0.
    """
    if not right[0]:
        return 0.0
    logs, zeros = 0.0, 0
    for matching, total in zip(right, totals, strict=True):
        zeros += not matching
        logs += math.log((matching or 0.5**zeros) / total)
    return math.exp(logs / len(ORDERS))


@cache
def _nltk_tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenize: Callable[[str], list[str]] = NLTKWordTokenizer().tokenize
    return tokenize


@cache
def _sacrebleu_tokenizer() -> Callable[[str], str]:
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    tokenizer: Callable[[str], str] = Tokenizer13a()  # type: ignore[no-untyped-call]
    return tokenizer
