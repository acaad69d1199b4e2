"""The cache of model answers.

Answers are cached in memory for the run and in a file for later runs, so that equal requests of
several evaluators and systems reach the model once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import DataclassInstance

    from evaluators.engines.cache_store import CacheStore
    from evaluators.engines.roles import LoadedModel, ModelKind, Progress


LOG = logging.getLogger(__name__)
_FLUSH_EVERY = 2_000
"""Answers after which the cache file is written: the most that a killed run loses."""
_REPORT_S = 0.5

NAN_ANSWER = Undefined("the model returned NaN, which is not a number", of_run=True)


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """Cached answers in memory and, if there is one, in a file."""

    memory: LruCache
    store: CacheStore | None = None

    def get(self, identity: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the cached answers of a model."""
        found = {key: known for key in keys if (known := self.memory.get(key)) is not None}
        missing = [key for key in keys if key not in found]
        if self.store is not None and missing:
            for key, answer in self.store.get(identity, missing).items():
                self.memory.put(key, answer)
                found[key] = answer
        return found

    def put(self, identity: str, answers: Mapping[bytes, bytes]) -> None:
        """Store answers of a model."""
        for key, answer in answers.items():
            self.memory.put(key, answer)
        if self.store is not None and answers:
            self.store.put(identity, answers)


class CachedModel(ABC):
    """A model with cached answers.

    Attributes:
        label: The model's name in messages.
        computed: The number of requests that were not cached.
    """

    def __init__(
        self, label: str, kind: ModelKind, cache: AnswerCache, progress: Progress | None
    ) -> None:
        """Set the label, the kind of model, the cache and the progress callback."""
        self.label = label
        self._kind = kind
        self.computed = 0
        self._cache = cache
        self._progress = progress

    @property
    @abstractmethod
    def cache_namespace(self) -> str:
        """The part of the cache key that identifies the model and the format of its answers."""

    @abstractmethod
    def get_network(self) -> LoadedModel:
        """Return the loaded model; raise `Unavailable` if it cannot be loaded."""

    def answer(self, requests: Sequence[DataclassInstance]) -> Sequence[Any | Unscored]:
        """Answer distinct requests, in their order, from the cache where possible.

        Raises:
            Unavailable: The model cannot be loaded.
        """
        cache_namespace = self.cache_namespace
        keys = [_key(cache_namespace, request) for request in requests]
        known = self._cache.get(cache_namespace, keys)
        answers = [self._kind.unpack(known[key]) if key in known else None for key in keys]
        uncached = [position for position, key in enumerate(keys) if key not in known]
        if uncached:
            self._compute(requests, keys, uncached, answers)
        return [NAN_ANSWER if _has_nan(answer) else answer for answer in answers]

    def _compute(
        self,
        requests: Sequence[DataclassInstance],
        keys: Sequence[bytes],
        uncached: Sequence[int],
        answers: list[Any],
    ) -> None:
        network = self.get_network()
        truncated_before, reported_at = network.truncated_count, time.monotonic()
        fresh: dict[bytes, bytes] = {}
        answered = network.compute([requests[position] for position in uncached])
        for done, (at, answer) in enumerate(answered, start=1):
            answers[uncached[at]] = answer
            if not isinstance(answer, Unscored) and not _has_nan(answer):
                fresh[keys[uncached[at]]] = self._kind.pack(answer)
            if len(fresh) >= _FLUSH_EVERY:
                self._cache.put(self.cache_namespace, fresh)
                fresh = {}
            now = time.monotonic()
            if self._progress and (now - reported_at > _REPORT_S or done == len(uncached)):
                self._progress(self.label, done, len(uncached))
                reported_at = now
        self._cache.put(self.cache_namespace, fresh)
        self.computed += len(uncached)
        if network.truncated_count > truncated_before:
            LOG.warning(
                "%s: %d of %d texts exceeded the model's window and were cut",
                self.label,
                network.truncated_count - truncated_before,
                len(uncached),
            )


def _has_nan(answer: Any) -> bool:
    """Return whether an answer contains NaN.

    Models give NaN when their floating-point type overflows. A maximum or mean of it could be
    anything, even the best value.
    """
    if isinstance(answer, Unscored):
        return False
    numbers = answer.logprobs if isinstance(answer, TokenLikelihood) else answer
    listed = list(numbers.values()) if isinstance(numbers, Mapping) else numbers
    import numpy as np

    return bool(np.isnan(np.asarray(listed, dtype=np.float64)).any())


def _key(cache_namespace: str, request: DataclassInstance) -> bytes:
    """Return the cache key of a request; it does not depend on the role of the model."""
    parameters = [getattr(request, each.name) for each in fields(request) if each.name != "engine"]
    content = json.dumps([cache_namespace, *parameters])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


_OVERHEAD = 200
"""The bytes of an entry besides its value: key, hash table slots, object headers."""


class LruCache:
    """A bounded in-memory cache that evicts the least recently used answers."""

    def __init__(self, limit_bytes: int) -> None:
        """Limit the cache to `limit_bytes`, overhead included."""
        self._limit = limit_bytes
        self._size = 0
        self._entries: OrderedDict[bytes, bytes] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of cached answers."""
        return len(self._entries)

    def get(self, key: bytes) -> bytes | None:
        """Return a cached answer, or None."""
        value = self._entries.get(key)
        if value is not None:
            self._entries.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Store an answer; evict the least recently used ones if the cache is full."""
        previous = self._entries.pop(key, None)
        if previous is not None:
            self._size -= len(previous) + _OVERHEAD
        self._entries[key] = value
        self._size += len(value) + _OVERHEAD
        while self._size > self._limit:
            _, evicted = self._entries.popitem(last=False)
            self._size -= len(evicted) + _OVERHEAD
