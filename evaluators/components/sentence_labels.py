"""Sentence labels: relevant, used and supported sentences, and the TRACe metrics over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from evaluators.outcome import Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evaluators.outcome import Value

Empty: TypeAlias = Literal["as_used", "one", "zero", "undefined"]
Unit: TypeAlias = Literal["words", "characters"]

AVERAGED = ("context_relevance_normalized_20", "context_utilization", "completeness", "adherence")
_NORMAL = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceLabels:
    """The labels of a context's and an answer's sentences.

    Attributes:
        sentences: The sentences of the context by key.
        relevant: The keys of those that are relevant to the question.
        used: The keys of those that the answer used.
        supported: Whether each sentence of the answer is fully supported.
        nothing_relevant: The completeness if nothing is relevant; see the evaluator `trace`.
        length: The unit of a sentence's length.
    """

    sentences: Mapping[str, str]
    relevant: frozenset[str]
    used: frozenset[str]
    supported: Sequence[bool]
    nothing_relevant: Empty = "as_used"
    length: Unit = "words"

    def scores(self) -> dict[str, Value]:
        """Return the metrics of the evaluator `trace`: numbers, or reasons why there is none."""
        relevant, used, context_size = len(self.relevant), len(self.used), len(self.sentences)
        supported = sum(self.supported)
        total = len(self.supported)
        no_sentences = Undefined("the answer has no sentences")
        scores: dict[str, Value] = {
            "context_relevance": relevant / context_size if context_size else 0.0,
            "context_utilization": min(1.0, used / relevant) if relevant else 0.0,
            "completeness": self._completeness(),
            "adherence": float(supported == total) if total else no_sentences,
            "context_relevance_normalized_20": min(1.0, relevant / _NORMAL),
            "context_utilization_of_context": (
                used / context_size if context_size else Undefined("the context has no sentences")
            ),
            "completeness_by_length": self._completeness_by_length(),
            "adherence_fraction": supported / total if total else no_sentences,
        }
        return {**scores, "trace_average": _mean({name: scores[name] for name in AVERAGED})}

    def _completeness(self) -> Value:
        if not self.sentences:
            return Undefined("the context has no sentences")
        if self.relevant:
            return len(self.relevant & self.used) / len(self.relevant)
        match self.nothing_relevant:
            case "as_used":
                return float(not self.used)
            case "one":
                return 1.0
            case "zero":
                return 0.0
            case "undefined":
                return Undefined("no sentence of the context is relevant")

    def _completeness_by_length(self) -> Value:
        if not self.relevant:
            return Undefined("no sentence of the context is relevant")
        return self._length(self.relevant & self.used) / self._length(self.relevant)

    def _length(self, keys: Iterable[str]) -> int:
        """Return the total length of some sentences."""
        texts = (self.sentences[key] for key in keys)
        return sum(len(text.split()) if self.length == "words" else len(text) for text in texts)


def _mean(scores: Mapping[str, Value]) -> Value:
    """Return the mean of metrics, if all of them have a value."""
    numbers = [float(value) for value in scores.values() if not isinstance(value, Unscored)]
    if len(numbers) < len(scores):
        missing = [name for name, value in scores.items() if isinstance(value, Unscored)]
        return Undefined(f"no value of {', '.join(missing)}")
    return sum(numbers) / len(numbers)
