"""Sentence labels: relevant, used and supported sentences, and the TRACe metrics over them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from evaluators.outcome import Undefined, Unscored
from records.document import sentences_by_key
from records.error_messages import RecordError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from evaluators.outcome import Value

Empty: TypeAlias = Literal["as_used", "one", "zero", "undefined"]
Unit: TypeAlias = Literal["words", "characters"]

AVERAGED = ("context_relevance_normalized_20", "context_utilization", "completeness", "adherence")
_NORMAL = 20
NO_SENTENCES = Undefined("the answer has no sentences")
_UNKNOWN = Undefined("the sentences of the context are not known")
_NOT_RELEVANT = Undefined("no labels of relevant sentences")
_NOT_USED = Undefined("no labels of used sentences")


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceLabels:
    """The labels of a context's and an answer's sentences.

    Attributes:
        sentences: The sentences of the context by key; None if they are unknown.
        relevant: The keys of those that are relevant to the question. A key that is given twice
            counts twice in `context_utilization` and `context_relevance_normalized_20`, as in the
            source; a set gives it once.
            Null: there are no such labels.
        used: The keys of those that the answer used, likewise.
        supported: Whether each sentence of the answer is fully supported.
        unlabelled: The adherence of an answer without labelled sentences.
        nothing_relevant: The completeness if nothing is relevant; see the evaluator `trace`.
        length: The unit of a sentence's length.
    """

    sentences: Mapping[str, str] | None
    relevant: Collection[str] | None
    used: Collection[str] | None
    supported: Sequence[bool]
    unlabelled: Value = NO_SENTENCES
    nothing_relevant: Empty = "as_used"
    length: Unit = "words"

    def scores(self) -> dict[str, Value]:
        """Return the metrics of the evaluator `trace`: numbers, or reasons why there is none."""
        supported, total = sum(self.supported), len(self.supported)
        scores: dict[str, Value] = {
            "context_relevance": self._of_relevant(lambda keys: self._share(keys, nothing=0.0)),
            "context_utilization": self._of_both(_utilization),
            "completeness": self._of_both(self._completeness),
            "adherence": float(supported == total) if total else self.unlabelled,
            "context_relevance_normalized_20": self._of_relevant(
                lambda keys: min(1.0, len(keys) / _NORMAL)
            ),
            "context_utilization_of_context": self._utilization_of_context(),
            "completeness_by_length": self._of_both(self._completeness_by_length),
            "adherence_fraction": supported / total if total else self._no_fraction(),
        }
        return {**scores, "trace_average": _mean({name: scores[name] for name in AVERAGED})}

    def _of_relevant(self, metric: Callable[[Collection[str]], Value]) -> Value:
        return _NOT_RELEVANT if self.relevant is None else metric(self.relevant)

    def _of_both(self, metric: Callable[[Collection[str], Collection[str]], Value]) -> Value:
        if self.relevant is None:
            return _NOT_RELEVANT
        return _NOT_USED if self.used is None else metric(self.relevant, self.used)

    def _utilization_of_context(self) -> Value:
        if self.used is None:
            return _NOT_USED
        return self._share(self.used, nothing=Undefined("the context has no sentences"))

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

    def _completeness(self, relevant: Collection[str], used: Collection[str]) -> Value:
        if self.sentences is not None and not self.sentences:
            return Undefined("the context has no sentences")
        if relevant:
            return len(set(relevant) & set(used)) / len(set(relevant))
        match self.nothing_relevant:
            case "as_used":
                return float(not used)
            case "one":
                return 1.0
            case "zero":
                return 0.0
            case "undefined":
                return Undefined("no sentence of the context is relevant")

    def _completeness_by_length(self, keys: Collection[str], used: Collection[str]) -> Value:
        relevant = set(keys)
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
        return self._length(relevant & set(used)) / total

    def _length(self, keys: Iterable[str]) -> int:
        """Return the total length of some sentences."""
        texts = ((self.sentences or {})[key] for key in keys)
        return sum(len(text.split()) if self.length == "words" else len(text) for text in texts)


def _utilization(relevant: Collection[str], used: Collection[str]) -> float:
    return min(1.0, len(used) / len(relevant)) if relevant else 0.0


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
        relevant: The keys of relevant sentences, in the order of the file; null: no labels.
        used: The keys of used sentences, likewise.
        supported: Whether each entry says that its sentence of the answer is fully supported.
        unsupported: The keys of sentences of the answer that are not.
        overall_supported: The judge's verdict on the whole answer, if there is one.
        sentences: The sentences of this answer's context by key, if they are stored with it.
    """

    relevant: Sequence[str] | None
    used: Sequence[str] | None
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
    relevant, used = (_keys(fields, name) for name in (RELEVANT, USED))
    if relevant is None and used is None:
        return None
    entries = [] if fields.get(SUPPORT) is None else fields[SUPPORT]
    if not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise Undefined(f"{SUPPORT}: expected a list of objects")
    verdicts = [each.get("fully_supported") for each in entries]
    if not all(verdict is None or isinstance(verdict, bool) for verdict in verdicts):
        raise Undefined(f"{SUPPORT}: expected true, false or null as `fully_supported`")
    supported = [verdict is True for verdict in verdicts]
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


def _keys(fields: Mapping[str, Any], name: str) -> list[str] | None:
    keys = fields.get(name)
    if keys is None:
        return None
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        raise Undefined(f"{name}: expected a list of keys")
    return keys


def _sentences(documents: Any) -> dict[str, str] | None:
    if documents is None:
        return None
    try:
        pairs = [pair for each in sentences_by_key(documents, SENTENCES) for pair in each]
    except RecordError as error:
        raise Undefined(str(error)) from None
    sentences = dict(pairs)
    if len(sentences) < len(pairs):
        raise Undefined(f"{SENTENCES}: a key occurs twice")
    return sentences
