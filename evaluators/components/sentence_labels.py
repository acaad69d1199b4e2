"""Marks: the sentences that a judge marked in a context and an answer, and their TRACe scores."""

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
    """What was marked.

    Attributes:
        sentences: The sentences of the context by key.
        relevant: The keys of those that are relevant to the question.
        used: The keys of those that the answer used.
        supported: Whether each sentence of the answer is fully supported.
        nothing_relevant: Completeness where nothing is relevant; see the evaluator `trace`.
        length: The unit in which a sentence is long.
    """

    sentences: Mapping[str, str]
    relevant: frozenset[str]
    used: frozenset[str]
    supported: Sequence[bool]
    nothing_relevant: Empty = "as_used"
    length: Unit = "words"

    def scores(self) -> dict[str, Value]:
        """The metrics of the evaluator `trace`, each a number or the reason why it has none."""
        relevant, used, whole = len(self.relevant), len(self.used), len(self.sentences)
        held = sum(self.supported)
        said = len(self.supported)
        silent = Undefined("the answer has no sentences")
        scores: dict[str, Value] = {
            "context_relevance": relevant / whole if whole else 0.0,
            "context_utilization": min(1.0, used / relevant) if relevant else 0.0,
            "completeness": self._completeness(),
            "adherence": float(held == said) if said else silent,
            "context_relevance_normalized_20": min(1.0, relevant / _NORMAL),
            "context_utilization_of_context": (
                used / whole if whole else Undefined("the context has no sentences")
            ),
            "completeness_by_length": self._completeness_by_length(),
            "adherence_fraction": held / said if said else silent,
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
        return self._long(self.relevant & self.used) / self._long(self.relevant)

    def _long(self, keys: Iterable[str]) -> int:
        """How long some sentences are together."""
        texts = (self.sentences[key] for key in keys)
        return sum(len(text.split()) if self.length == "words" else len(text) for text in texts)


def _mean(scores: Mapping[str, Value]) -> Value:
    """The mean of some metrics, if all of them have a value."""
    numbers = [float(value) for value in scores.values() if not isinstance(value, Unscored)]
    if len(numbers) < len(scores):
        gone = [name for name, value in scores.items() if isinstance(value, Unscored)]
        return Undefined(f"no value of {', '.join(gone)}")
    return sum(numbers) / len(numbers)
