"""Local models: loaded when something is asked that was never asked before, and once.

What a model answered is kept in memory for the run and in the store for later runs, so that equal
questions of several evaluators, systems and passes reach the model once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from evaluators.engines.fetching import fetch
from evaluators.engines.weights import described, locate
from evaluators.errors import Unavailable
from evaluators.outcome import Unscored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.memory import Memory
    from evaluators.engines.store import Store
    from evaluators.flow import Request

    Progress = Callable[[str, int, int], None]

LOG = logging.getLogger(__name__)
INSTALL = "pip install 'scoreline[models]'"
_AT_ONCE = 2_000
"""Answers after which those given are put into the store: what a killed run may lose."""
_REPORT_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How models are run.

    Attributes:
        device: `auto` (a graphics processor where there is one), `cpu`, `cuda`, `cuda:1`, `mps`.
        dtype: Type of the model's numbers: `float32`, `float16` or `bfloat16`.
        batch_size: Texts that go through the model together; None: 32 on the processor, 256 on a
            graphics processor.
        offline: Never ask the network.
        progress: Is told what goes on: of which model, how much is done, of how much.
    """

    device: str = "auto"
    dtype: str = "float32"
    batch_size: int | None = None
    offline: bool = False
    progress: Progress | None = None


class Network(Protocol):
    """A loaded model."""

    cut: int
    """Texts that were longer than the model's window, so that their ends did not count."""

    def compute(self, requests: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Answer different requests in any order: the place of each, and its answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What sets encoders, pair scorers, labellers and language models apart.

    Attributes:
        form: Names the form of the answers; changed when `compute` or `pack` give others.
        packages: What must be installed.
        check: Looks at the model's configuration and folder; raises `Unavailable` where it is no
            model of this kind.
        load: Loads the model of a folder.
        pack: An answer as bytes, for the store.
        unpack: The answer that bytes stand for.
    """

    form: str
    packages: tuple[str, ...]
    check: Callable[[Mapping[str, Any], Path], None]
    load: Callable[[Path, Options], Network]
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]


class LocalModel:
    """A model of this machine; see `contract.Model`."""

    def __init__(
        self,
        role: str,
        name: str,
        home: Path,
        kind: Kind,
        options: Options,
        memory: Memory,
        store: Store | None,
    ) -> None:
        """Note what is configured; nothing is looked at before something is asked."""
        self.role = role
        self.name = name
        self.loads = 0
        self.computed = 0
        self._home = home
        self._kind = kind
        self._options = options
        self._memory = memory
        self._store = store
        self._network: Network | None = None
        self._obstacle: str | None = None

    @cached_property
    def files(self) -> tuple[Path, str]:
        """The folder of the model, and which it is; files that are not there are fetched.

        Raises:
            Unavailable: It is nowhere.
        """
        found = locate(self.name, self._home)
        if found.folder is None:
            fetch(found, self._options)
            found = locate(self.name, self._home)
        if found.folder is None:
            raise Unavailable(f"{self.name} was fetched, but its weights are not there")
        return found.folder, found.identity

    @property
    def identity(self) -> str:
        """Name, revision (with it the tokenizer) and type of numbers; nothing is fetched for it."""
        try:
            which = locate(self.name, self._home).identity
        except Unavailable:
            which = self.name
        return f"{which},{self._options.dtype}"

    @cached_property
    def kept_as(self) -> str:
        """What its answers are kept under: the identity of the very files that answer."""
        return f"{self._kind.form},{self.files[1]},{self._options.dtype}"

    def obstacle(self) -> str | None:
        """Why it cannot answer, as far as can be known without loading it."""
        if self._obstacle is None and self._network is None:
            try:
                self._look()
            except Unavailable as reason:
                self._obstacle = str(reason)
        return self._obstacle

    def answer(self, requests: Sequence[Request]) -> Sequence[Any | Unscored]:
        """Answer different requests, in their order; those answered before from memory or store.

        Raises:
            Unavailable: The model cannot be loaded.
        """
        answers: list[Any] = [None] * len(requests)
        keys = [self._key(request) for request in requests]
        asked = self._remembered(keys, answers)
        if asked:
            self._compute(
                [requests[place] for place in asked], [keys[p] for p in asked], asked, answers
            )
        return answers

    def _remembered(self, keys: Sequence[bytes], answers: list[Any]) -> list[int]:
        """Fill in what was answered before; the places of what was not."""
        missing = []
        for place, key in enumerate(keys):
            known = self._memory.get(key)
            if known is None:
                missing.append(place)
            else:
                answers[place] = self._kind.unpack(known)
        if self._store is None or not missing:
            return missing
        stored = self._store.get(self.kept_as, [keys[place] for place in missing])
        for place in missing:
            known = stored.get(keys[place])
            if known is not None:
                self._memory.put(keys[place], known)
                answers[place] = self._kind.unpack(known)
        return [place for place in missing if keys[place] not in stored]

    def _compute(
        self, requests: list[Request], keys: list[bytes], places: list[int], answers: list[Any]
    ) -> None:
        network = self._loaded()
        cut, told, fresh = network.cut, time.monotonic(), dict[bytes, bytes]()
        for done, (at, answer) in enumerate(network.compute(requests), start=1):
            answers[places[at]] = answer
            if not isinstance(answer, Unscored):
                fresh[keys[at]] = self._kind.pack(answer)
                self._memory.put(keys[at], fresh[keys[at]])
            if len(fresh) >= _AT_ONCE:
                self._keep(fresh)
                fresh = {}
            now = time.monotonic()
            if self._options.progress and (now - told > _REPORT_S or done == len(requests)):
                self._options.progress(f"{self.role} {self.name}", done, len(requests))
                told = now
        self._keep(fresh)
        self.computed += len(requests)
        if network.cut > cut:
            LOG.warning(
                "%s: %d of %d texts were longer than the window of %s; their ends did not count",
                self.role,
                network.cut - cut,
                len(requests),
                self.name,
            )

    def _keep(self, answers: Mapping[bytes, bytes]) -> None:
        if self._store is not None and answers:
            self._store.put(self.kept_as, answers)

    def _key(self, request: Request) -> bytes:
        """The digest of what is asked of which model, whatever role it has."""
        content = json.dumps([self.kept_as, *_question(request)])
        return hashlib.blake2b(content.encode(), digest_size=16).digest()

    def _look(self) -> Path:
        absent = [name for name in self._kind.packages if find_spec(name) is None]
        if absent:
            raise Unavailable(f"{self.role} {self.name}: {', '.join(absent)} missing: {INSTALL}")
        try:
            folder, _ = self.files
            self._kind.check(described(folder, self.name), folder)
        except Unavailable as reason:
            raise Unavailable(f"models.{self.role}: {reason}") from reason
        return folder

    def _loaded(self) -> Network:
        if self._network is None:
            if self._obstacle is not None:
                raise Unavailable(self._obstacle)
            try:
                self._network = self._kind.load(self._look(), self._options)
            except Unavailable as reason:
                self._obstacle = str(reason)
                raise
            except (OSError, RuntimeError, ValueError, KeyError, ImportError) as error:
                # What transformers and torch raise for broken, alien or too large models.
                self._obstacle = (
                    f"models.{self.role}: {self.name} cannot be loaded: "
                    f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
                )
                raise Unavailable(self._obstacle) from error
            self.loads += 1
        return self._network


def _question(request: Request) -> list[Any]:
    """What is asked, whatever the role of the model that is asked it."""
    return [getattr(request, each.name) for each in fields(request) if each.name != "engine"]
