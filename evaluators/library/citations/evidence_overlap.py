"""Evidence overlap: the words of the cited sentences against those of the gold evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded
from evaluators.text.words import SEGMENTER, compose, space_characters, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from evaluators.sample import Sample


@dataclass(frozen=True, kw_only=True)
class EvidenceOverlap(RowEvaluator):
    """Do the cited sentences say the same as the gold evidence, even if they are other sentences?

    The words of a set of sentences are those of all its sentences, in lower case, each once.
    Evidence recall is the share of the gold evidence's words that the cited sentences contain,
    evidence precision the share of the cited sentences' words that the gold evidence contains.
    Words are separated by spaces; `evidence_recall_words` uses words and symbols without
    punctuation instead, by the same rule for all scripts as ROUGE.

    Source: the evidence score of document-grounded question answering. The split at spaces
    reproduces its published values.

    Edges: if there is known to be no gold evidence: 1 if nothing is cited, otherwise 0. If the
    document's sentences are unknown, or no gold sentence has a word: the overlap of the
    identifiers. Unknown identifiers add no words. Recall alone rewards citing everything: read it
    together with the precision. In scripts written without spaces each character is a word.
    """

    metrics = (
        Metric(
            name="evidence_recall",
            summary="Share of the words of the gold evidence that the cited sentences contain.",
            primary=True,
        ),
        Metric(
            name="evidence_precision",
            summary="Share of the words of the cited sentences that the gold evidence contains.",
        ),
        Metric(
            name="evidence_f1",
            summary="Harmonic mean of evidence precision and evidence recall.",
        ),
        Metric(
            name="evidence_recall_words",
            summary="Evidence recall over words and symbols, without punctuation.",
        ),
    )
    reads = frozenset({"gold_sentence_ids", "cited_sentence_ids"})
    optional = frozenset({"document_sentences"})
    version = 3
    libraries = (SEGMENTER,)

    def grade(self, sample: Sample) -> Graded:
        """Compare the words of the two sets of sentences."""
        gold = {name for name in sample.gold_sentence_ids or () if name}
        cited = {name for name in sample.cited_sentence_ids or () if name}
        names = [metric.name for metric in self.metrics]
        if not gold:
            score = 0.0 if cited else 1.0
            return Graded(dict.fromkeys(names, score), {"path": "no_gold"})
        texts = {
            sentence["sentence_id"]: compose((sentence["text"] or "").lower())
            for sentence in sample.document_sentences or ()
        }
        by_blank, path = _overlap(gold, cited, texts, _split_at_spaces)
        by_word, _ = _overlap(gold, cited, texts, words)
        recall, precision = by_blank
        f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
        return Graded(
            dict(zip(names, (recall, precision, f1, by_word[0]), strict=True)), {"path": path}
        )


def _overlap(
    gold: Iterable[str],
    cited: Iterable[str],
    texts: Mapping[str, str],
    split: Callable[[str], list[str]],
) -> tuple[tuple[float, float], str]:
    """Return recall and precision, and what was compared: words or identifiers."""
    gold_words, cited_words = (
        set(split(" ".join(texts.get(name, "") for name in names))) for names in (gold, cited)
    )
    path = "words"
    if not gold_words:
        gold_words, cited_words = set(gold), set(cited)
        path = "identifiers"
    common = len(gold_words & cited_words)
    precision = common / len(cited_words) if cited_words else 0.0
    return (common / len(gold_words), precision), path


def _split_at_spaces(text: str) -> list[str]:
    return space_characters(text).split()
