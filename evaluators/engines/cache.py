"""Kept answers: what a model was ever asked is not asked again.

Answers are kept in memory for the run and in the store for later runs, so that equal questions of
several evaluators, systems and passes reach the model once.
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

import numpy as np

from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import Undefined, Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evaluators.engines.cache_store import CacheStore
    from evaluators.engines.roles import LoadedModel, Progress
    from evaluators.flows.requests import Request


LOG = logging.getLogger(__name__)
_FLUSH_EVERY = 2_000
"""Answers after which those given are put into the store: what a killed run may lose."""
_REPORT_S = 0.5

NAN_ANSWER = Undefined("the model gave something that is no number (NaN)")


@dataclass(frozen=True, slots=True)
class AnswerCache:
    """Where answers are kept: in memory, and in a file if there is one."""

    memory: LruCache
    store: CacheStore | None = None

    def find(self, identity: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those answers of a model that are there."""
        found = {key: known for key in keys if (known := self.memory.get(key)) is not None}
        missing = [key for key in keys if key not in found]
        if self.store is not None and missing:
            for key, answer in self.store.get(identity, missing).items():
                self.memory.put(key, answer)
                found[key] = answer
        return found

    def keep(self, identity: str, answers: Mapping[bytes, bytes]) -> None:
        """Keep answers of a model."""
        for key, answer in answers.items():
            self.memory.put(key, answer)
        if self.store is not None and answers:
            self.store.put(identity, answers)


class CachedModel(ABC):
    """A model whose answers are kept.

    Attributes:
        label: The model in messages.
        computed: Questions that reached the model itself.
    """

    def __init__(self, label: str, shelf: AnswerCache, progress: Progress | None) -> None:
        """Note where answers are kept and who is told how it goes."""
        self.label = label
        self.computed = 0
        self._shelf = shelf
        self._progress = progress

    @property
    @abstractmethod
    def cache_namespace(self) -> str:
        """What its answers are kept under: what exactly answers, and in which form."""

    @property
    @abstractmethod
    def form(self) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
        """How an answer becomes bytes, and bytes an answer."""

    @abstractmethod
    def get_network(self) -> LoadedModel:
        """What answers; raises `Unavailable` where it cannot be had."""

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """Answer different requests, in their order; those answered before are looked up.

        Raises:
            Unavailable: The model cannot be had.
        """
        cache_namespace = self.cache_namespace
        keys = [_key(cache_namespace, request) for request in requests]
        known = self._shelf.find(cache_namespace, keys)
        _, unpack = self.form
        answers = [unpack(known[key]) if key in known else None for key in keys]
        asked = [place for place, key in enumerate(keys) if key not in known]
        if asked:
            self._compute(requests, keys, asked, answers)
        return [NAN_ANSWER if _has_nan(answer) else answer for answer in answers]

    def _compute(
        self,
        requests: Sequence[Request],
        keys: Sequence[bytes],
        asked: Sequence[int],
        answers: list[Any],
    ) -> None:
        network, (pack, _) = self.get_network(), self.form
        cut, told, fresh = network.truncated_count, time.monotonic(), dict[bytes, bytes]()
        answered = network.compute([requests[place] for place in asked])
        for done, (at, answer) in enumerate(answered, start=1):
            answers[asked[at]] = answer
            if not isinstance(answer, Unscored) and not _has_nan(answer):
                fresh[keys[asked[at]]] = pack(answer)
            if len(fresh) >= _FLUSH_EVERY:
                self._shelf.keep(self.cache_namespace, fresh)
                fresh = {}
            now = time.monotonic()
            if self._progress and (now - told > _REPORT_S or done == len(asked)):
                self._progress(self.label, done, len(asked))
                told = now
        self._shelf.keep(self.cache_namespace, fresh)
        self.computed += len(asked)
        if network.truncated_count > cut:
            LOG.warning(
                "%s: %d of %d texts were longer than its window; their ends did not count",
                self.label,
                network.truncated_count - cut,
                len(asked),
            )


def _has_nan(answer: Any) -> bool:
    """Whether something in an answer is no number; a reason lacks none.

    Models give NaN where their own type of numbers does not suffice. What is made of it (the
    largest of some, the mean) could be anything, the best value included.
    """
    if isinstance(answer, Unscored):
        return False
    numbers = answer.logprobs if isinstance(answer, TokenLikelihood) else answer
    listed = list(numbers.values()) if isinstance(numbers, Mapping) else numbers
    return bool(np.isnan(np.asarray(listed, dtype=np.float64)).any())


def _key(cache_namespace: str, request: Request) -> bytes:
    """The digest of what is asked of which model, whatever role it has."""
    asked = [getattr(request, each.name) for each in fields(request) if each.name != "engine"]
    content = json.dumps([cache_namespace, *asked])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


_OVERHEAD = 200
"""Bytes that an entry takes beside its value: its key, its places in the table, headers."""


class LruCache:
    """The answers that were asked for last; the least recently used make room."""

    def __init__(self, limit_bytes: int) -> None:
        """Keep values that, with all that they take, stay below `limit_bytes`."""
        self._limit = limit_bytes
        self._taken = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()

    def __len__(self) -> int:
        """How many answers are kept."""
        return len(self._kept)

    def get(self, key: bytes) -> bytes | None:
        """The answer to a question, or None."""
        value = self._kept.get(key)
        if value is not None:
            self._kept.move_to_end(key)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Keep an answer; drop those that were not asked for the longest."""
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._taken -= len(gone) + _OVERHEAD
        self._kept[key] = value
        self._taken += len(value) + _OVERHEAD
        while self._taken > self._limit:
            _, dropped = self._kept.popitem(last=False)
            self._taken -= len(dropped) + _OVERHEAD
