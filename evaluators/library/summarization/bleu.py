"""BLEU: the n-grams that an answer shares with its expected answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Scores
from evaluators.text import bleu
from evaluators.text.references import non_blank
from evaluators.text.sentences import SPLITTER, check_language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.sample import Sample

_NAMES = tuple(f"bleu_{order}" for order in bleu.ORDERS)


@dataclass(frozen=True, kw_only=True)
class Bleu(RowEvaluator):
    """Does the answer share its n-grams with the expected answer?

    BLEU-n is the share of the answer's n-grams (n consecutive words) that are in the reference
    (none counted more often than there), times a penalty for brevity: 1 for an answer longer than
    its reference, else exp(1 - reference length / answer length). Each order is separate and not
    smoothed. `cumulative_bleu_4` is usually called sentence BLEU: the geometric mean of the orders
    1 to 4, smoothed. `corpus_bleu` adds up the counts of all samples before dividing; it is not the
    mean of sentence scores, and runs from 0 to 100 as in the literature.

    Sources: Papineni et al., "BLEU: a method for automatic evaluation of machine translation",
    2002; NLTK's sentence_bleu (smoothing method 3 of Chen and Cherry, 2014); Post, "A call for
    clarity in reporting BLEU scores", 2018: sacrebleu with its tokens 13a and exponential
    smoothing, `case:mixed|eff:no|tok:13a|smooth:exp`.

    Edges: no expected answer, or only blank ones: not applicable. Several expected answers: the
    highest count of each n-gram in any of them, and the length closest to the answer's. An empty
    answer scores 0, in the corpus too: its references still add to the length. A failed answer has
    no worst contribution to the corpus, because an answer can be wrong at any length: a system with
    one has no corpus BLEU. An answer of fewer than n words has BLEU-n 0. Case and accents matter.
    Words come from NLTK's word tokenizer within sentences; in scripts that are written without
    spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer) each character is a word, as with
    sacrebleu's tokens `zh`.

    Attributes:
        language: The language code of the sentence splitter, such as `en`.
    """

    metrics = (
        *(
            Metric(
                name=name,
                summary=f"Share of the answer's {what} found in the reference, times brevity.",
                primary=name == "bleu_1",
            )
            for name, what in zip(
                _NAMES, ("words", "word pairs", "word triples", "series of 4 words"), strict=True
            )
        ),
        Metric(
            name="cumulative_bleu_4",
            summary="Geometric mean of the shares of 1 to 4 words, smoothed, times brevity.",
        ),
        Metric(
            name="corpus_bleu",
            summary="BLEU of all samples' counts taken together, as sacrebleu gives it.",
            bounds=(0.0, 100.0),
            threshold=None,
            level="system",
        ),
    )
    reads = frozenset({"expected_answers", "answer"})
    non_empty = frozenset({"expected_answers"})
    shared = ("expected_answers",)
    version = 3
    libraries = (*bleu.LIBRARIES, SPLITTER)
    evidence: ClassVar[Mapping[str, type[pl.DataType] | pl.DataType]] = {
        "right": pl.List(pl.Int64),
        "words": pl.Int64,
        "reference_words": pl.Int64,
    }

    language: str = "en"

    def __post_init__(self) -> None:
        """Validate the language code.

        Raises:
            ValueError: The language is not a code such as `en`.
        """
        check_language(self.language)

    def grade(self, sample: Sample) -> Graded:
        """Count the n-grams that the answer shares with its references."""
        answer = sample.answer or ""
        nltk, corpus = _references(tuple(non_blank(sample.expected_answers)), self.language)
        words = bleu.words_of_sentences(answer, self.language)
        found = bleu.tally(nltk, words)
        scores = dict(zip(_NAMES, bleu.single_orders(found), strict=True))
        scores["cumulative_bleu_4"] = bleu.cumulative(found)
        return Graded(scores, _evidence(bleu.tally(corpus, bleu.words_of_13a(answer))))

    def aggregate(self, rows: pl.DataFrame) -> Scores:
        """Compute corpus BLEU from the sums of the counts."""
        from sacrebleu.metrics.bleu import BLEU

        found = pl.col("words")
        sums = rows.select(
            *(
                pl.col("right").list.get(order - 1).sum().alias(f"right_{order}")
                for order in bleu.ORDERS
            ),
            *((found - order + 1).clip(0).sum().alias(f"total_{order}") for order in bleu.ORDERS),
            found.sum(),
            pl.col("reference_words").sum(),
        ).row(0, named=True)
        score = BLEU.compute_bleu(
            correct=[sums[f"right_{order}"] for order in bleu.ORDERS],
            total=[sums[f"total_{order}"] for order in bleu.ORDERS],
            sys_len=sums["words"],
            ref_len=sums["reference_words"],
            smooth_method="exp",
        )
        return {"corpus_bleu": score.score}


@lru_cache(maxsize=16)
def _references(texts: tuple[str, ...], language: str) -> tuple[bleu.Reference, bleu.Reference]:
    """Return the references of a sample, tokenized by NLTK and by sacrebleu."""
    return (
        bleu.reference_of([bleu.words_of_sentences(text, language) for text in texts]),
        bleu.reference_of([bleu.words_of_13a(text) for text in texts]),
    )


def _evidence(found: bleu.Tally) -> dict[str, object]:
    return {
        "right": found.right,
        "words": found.length,
        "reference_words": found.reference_length,
    }
