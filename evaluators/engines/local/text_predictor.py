"""A causal language model on this machine that systems under test ask how a reply begins."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from calls.errors import ModelRefused
from evaluators.engines.cache import AnswerCache, LruCache
from evaluators.engines.local.engine import LocalModel
from evaluators.engines.local.next_text import NEXT_TEXT, NextText
from evaluators.errors import Unavailable
from evaluators.outcome import Unscored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evaluators.engines.roles import LoadedModel, Options, Readiness

_CACHE_BYTES: Final = 10_000_000
"""The cache joins equal prompts of a run; later runs find the answers in the ledger."""

_LOADED: Final[WeakValueDictionary[str, LoadedModel]] = WeakValueDictionary()
"""The loaded models: predictors of the same model share its weights."""
_DEVICE: Final = threading.Lock()
"""Models load and compute one at a time: loading is not thread-safe, and memory is limited."""


class TextPredictor:
    """Computes the log-probabilities of texts as the beginning of a reply; thread-safe."""

    def __init__(self, label: str, name: str, home: Path, options: Options) -> None:
        """Set the model; no file is read before the first use.

        Args:
            label: What messages call the model.
            name: The configured name; see `weights.locate`.
            home: The folder that relative paths start from.
            options: How the model is run.
        """
        cache = AnswerCache(LruCache(_CACHE_BYTES))
        self._model = LocalModel(label, name, NEXT_TEXT, home, options, cache, _LOADED)
        self._model.label = f"{label}: {name}"
        self._network: LoadedModel | None = None

    @property
    def identity(self) -> str:
        """Name, revision and dtype."""
        return self._model.identity

    @property
    def loads(self) -> int:
        """How often the model was loaded here."""
        return self._model.loads

    def readiness(self) -> Readiness:
        """Return what is known without loading or downloading anything."""
        return self._model.readiness()

    def load(self) -> None:
        """Load the model, which may download it.

        Raises:
            ModelRefused: It cannot be loaded.
        """
        with _DEVICE:
            try:
                self._network = self._model.get_network()  # kept, so that it stays loaded
            except Unavailable as reason:
                raise ModelRefused(str(reason)) from None

    def predict(self, prompts: Sequence[NextText]) -> list[list[float] | str]:
        """Return the natural log-probabilities of the texts of each prompt, or why there are none.

        Raises:
            ModelRefused: The model cannot be loaded, or cannot write one of the texts.
        """
        with _DEVICE:
            try:
                answers = self._model.answer(prompts)
            except Unavailable as reason:
                raise ModelRefused(str(reason)) from None
        return [each.reason if isinstance(each, Unscored) else each for each in answers]
