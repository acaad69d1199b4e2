"""Sentence labels: relevant, used and supported sentences, and the TRACe metrics over them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evaluators.outcome import Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from evaluators.outcome import Value

Empty: TypeAlias = Literal["as_used", "one", "zero", "undefined"]
Unit: TypeAlias = Literal["words", "characters"]

AVERAGED = ("context_relevance_normalized_20", "context_utilization", "completeness", "adherence")
_NORMAL = 20
NO_SENTENCES = Undefined("the answer has no sentences")
_UNKNOWN = Undefined("the sentences of the context are not known")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceLabels:
    """The labels of a context's and an answer's sentences.

    Attributes:
        sentences: The sentences of the context by key; None if they are unknown.
        relevant: The keys of those that are relevant to the question. A key that is given twice
            counts twice in `context_utilization` and `context_relevance_normalized_20`, as in the
            source; a set gives it once.
        used: The keys of those that the answer used, likewise.
        supported: Whether each sentence of the answer is fully supported.
        unlabelled: The adherence of an answer without labelled sentences.
        nothing_relevant: The completeness if nothing is relevant; see the evaluator `trace`.
        length: The unit of a sentence's length.
    """

    sentences: Mapping[str, str] | None
    relevant: Collection[str]
    used: Collection[str]
    supported: Sequence[bool]
    unlabelled: Value = NO_SENTENCES
    nothing_relevant: Empty = "as_used"
    length: Unit = "words"

    def scores(self) -> dict[str, Value]:
        """Return the metrics of the evaluator `trace`: numbers, or reasons why there is none."""
        relevant, used = len(self.relevant), len(self.used)
        supported, total = sum(self.supported), len(self.supported)
        scores: dict[str, Value] = {
            "context_relevance": self._share(self.relevant, nothing=0.0),
            "context_utilization": min(1.0, used / relevant) if relevant else 0.0,
            "completeness": self._completeness(),
            "adherence": float(supported == total) if total else self.unlabelled,
            "context_relevance_normalized_20": min(1.0, relevant / _NORMAL),
            "context_utilization_of_context": self._share(
                self.used, nothing=Undefined("the context has no sentences")
            ),
            "completeness_by_length": self._completeness_by_length(),
            "adherence_fraction": supported / total if total else self._no_fraction(),
        }
        return {**scores, "trace_average": _mean({name: scores[name] for name in AVERAGED})}

    def _no_fraction(self) -> Undefined:
        is_known = isinstance(self.unlabelled, Unscored)
        return NO_SENTENCES if is_known else Undefined("no sentence of the answer has a verdict")

    def _share(self, keys: Iterable[str], *, nothing: Value) -> Value:
        """Return the share of the context's sentences that have these keys."""
        if self.sentences is None:
            return _UNKNOWN
        if not self.sentences:
            return nothing
        return min(1.0, len(set(keys)) / len(self.sentences))

    def _completeness(self) -> Value:
        if self.sentences is not None and not self.sentences:
            return Undefined("the context has no sentences")
        if self.relevant:
            return len(set(self.relevant) & set(self.used)) / len(set(self.relevant))
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
        relevant = set(self.relevant)
        if not relevant:
            return Undefined("no sentence of the context is relevant")
        if self.sentences is None:
            return _UNKNOWN
        unknown = sorted(relevant - self.sentences.keys())
        if unknown:
            return Undefined(f"the context has no sentence {unknown[0]!r}")
        total = self._length(relevant)
        if not total:
            return Undefined("the relevant sentences are blank")
        return self._length(relevant & set(self.used)) / total

    def _length(self, keys: Iterable[str]) -> int:
        """Return the total length of some sentences."""
        texts = ((self.sentences or {})[key] for key in keys)
        return sum(len(text.split()) if self.length == "words" else len(text) for text in texts)


def _mean(scores: Mapping[str, Value]) -> Value:
    """Return the mean of metrics, if all of them have a value."""
    numbers = [float(value) for value in scores.values() if not isinstance(value, Unscored)]
    if len(numbers) < len(scores):
        missing = [name for name, value in scores.items() if isinstance(value, Unscored)]
        return Undefined(f"no value of {', '.join(missing)}")
    return sum(numbers) / len(numbers)


RELEVANT = "all_relevant_sentence_keys"
USED = "all_utilized_sentence_keys"
SUPPORT = "sentence_support_information"
SENTENCES = "documents_sentences"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLabels:
    """The labels that a judge gave before, as the file has them.

    Attributes:
        relevant: The keys of relevant sentences, in the order of the file.
        used: The keys of used sentences.
        supported: Whether each entry says that its sentence of the answer is fully supported.
        unsupported: The keys of sentences of the answer that are not.
        overall_supported: The judge's verdict on the whole answer, if there is one.
        sentences: The sentences of this answer's context by key, if they are stored with it.
    """

    relevant: Sequence[str]
    used: Sequence[str]
    supported: Sequence[bool]
    unsupported: Sequence[str]
    overall_supported: bool | None
    sentences: Mapping[str, str] | None


def read_stored_labels(extra: str | None) -> StoredLabels | None:
    """Return the labels among the further fields of an answer, or None if there are none.

    Raises:
        Undefined: The labels are not of the expected types.
    """
    fields: Any = json.loads(extra or "{}")
    if fields.get(RELEVANT) is None and fields.get(USED) is None:
        return None
    relevant, used = (_keys(fields, name) for name in (RELEVANT, USED))
    entries = fields.get(SUPPORT) or []
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise Undefined(f"{SUPPORT}: expected a list of objects")
    supported = [each.get("fully_supported") is True for each in entries]
    names = [str(each.get("response_sentence_key")) for each in entries]
    overall = fields.get("overall_supported")
    return StoredLabels(
        relevant=relevant,
        used=used,
        supported=supported,
        unsupported=[name for name, held in zip(names, supported, strict=True) if not held],
        overall_supported=overall if isinstance(overall, bool) else None,
        sentences=_sentences(fields.get(SENTENCES)),
    )


def _keys(fields: Mapping[str, Any], name: str) -> list[str]:
    keys = fields.get(name) or []
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Undefined(f"{name}: expected a list of keys")
    return keys


def _sentences(documents: Any) -> dict[str, str] | None:
    if documents is None:
        return None
    try:
        return {key: text for document in documents for key, text in document}
    except (TypeError, ValueError):
        raise Undefined(f"{SENTENCES}: expected lists of [key, text]") from None
