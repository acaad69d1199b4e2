"""Looping detection: does the answer say the same thing over and over?"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evaluators.kinds.row import RowEvaluator
from evaluators.metric import Metric
from evaluators.outcome import Graded, Undefined, Value
from evaluators.text.repeated_text import longest_repeat
from evaluators.text.sentences import SPLITTER, check_language, sentences
from evaluators.text.words import compose, ngrams

if TYPE_CHECKING:
    from evaluators.sample import Sample

_SHORTEST_SENTENCE = 10
_SEARCHED = 20_000
_SHOWN = 80
_ORDER = 4


@dataclass(frozen=True, kw_only=True)
class LoopingDetection(RowEvaluator):
    """Did the model get into a loop?

    Unique sentences: the different sentences among all of at least ten characters, compared
    exactly. Longest repeated substring: the length of the longest piece that occurs twice without
    overlapping itself, times how often it occurs, over the length of the text, in characters.
    Compression ratio: the bytes of the text compressed by zlib at level 9 over those of the text
    in UTF-8, at most 1.

    Source: the looping detection evaluator of Eval Studio. Unlike that evaluator, an answer of a
    single sentence is not a loop.

    Edges: letters are composed first (NFC), so that all forms of a text have the same values; the
    positions of the detail are those of the composed text. An empty, blank or failed answer has no
    value. No sentence of ten characters: no unique
    sentences. No repeat: 0. Only the first 20,000 characters are searched for a repeat; the detail
    says how many. Short texts repeat naturally ("banana" 0.667): `min_repeat` sets the shortest
    piece that counts. A text looped an even number of times has half of itself as its longest
    repeat; the share of repeated series of four words in the detail grows evenly instead. The
    compression ratio falls with the length of any text (ordinary prose of 336 characters has 0.62):
    compare answers of similar length, or set the threshold to 0.4167 (1 / 2.4, the limit of
    Whisper). Versions of zlib differ by some bytes.

    Attributes:
        language: The language code of the sentence splitter, such as `en`.
        min_repeat: The shortest repeat that counts, in characters.
    """

    metrics = (
        Metric(
            name="unique_sentences",
            summary="Share of different sentences among those of at least ten characters.",
            primary=True,
        ),
        Metric(
            name="longest_repeated_substring",
            summary="Share of the text that the longest repeated piece makes up in all its places.",
            best="low",
        ),
        Metric(
            name="compression_ratio",
            summary="Size of the compressed text over its size; small where it repeats itself.",
        ),
    )
    reads = frozenset({"answer"})
    version = 2
    libraries = (SPLITTER,)
    failure_is_worst = False

    language: str = "en"
    min_repeat: int = 1

    def __post_init__(self) -> None:
        """Validate the language and the length.

        Raises:
            ValueError: The language is not a code such as `en`, or the length is below 1.
        """
        check_language(self.language)
        if self.min_repeat < 1:
            raise ValueError(f"min_repeat must be at least 1, got {self.min_repeat}")

    def grade(self, sample: Sample) -> Graded:
        """Look for repetition in the answer."""
        text = compose(sample.answer or "")
        if not text.strip():
            raise Undefined("empty answer")
        return looping(text, self.language, self.min_repeat)


def looping(text: str, language: str = "en", min_repeat: int = 1) -> Graded:
    """Return the metrics of a text that is not empty, with the repeat as evidence."""
    counted = [
        sentence for sentence in sentences(text, language) if len(sentence) >= _SHORTEST_SENTENCE
    ]
    unique: Value = Undefined("no sentence of ten characters")
    if counted:
        unique = len(set(counted)) / len(counted)
    searched = text[:_SEARCHED]
    repeat = longest_repeat(searched, min_repeat)
    repeated = len(repeat.text) * repeat.count / len(searched) if repeat else 0.0
    original = text.encode()
    compressed = zlib.compress(original, 9)
    series = list(ngrams(text.split(), _ORDER))
    detail = {
        "sentences": len(counted),
        "unique_sentences": len(set(counted)),
        "repeat": repeat
        and {
            "start": repeat.start,
            "length": len(repeat.text),
            "count": repeat.count,
            "text": repeat.text[:_SHOWN],
        },
        "searched_characters": len(searched),
        "bytes": len(original),
        "compressed_bytes": len(compressed),
        "repeated_4gram_share": 1 - len(set(series)) / len(series) if series else None,
    }
    scores = {
        "unique_sentences": unique,
        "longest_repeated_substring": repeated,
        "compression_ratio": min(1.0, len(compressed) / len(original)),
    }
    return Graded(scores, detail)
