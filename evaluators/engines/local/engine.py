"""Local models: loaded when something is asked that was never asked before, and once."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any

from evaluators.engines.cache import AnswerCache, CachedModel
from evaluators.engines.local.download import download, require_allowed
from evaluators.engines.local.weights import locate, read_config
from evaluators.engines.roles import Readiness
from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluators.engines.roles import LoadedModel, ModelKind, Options

INSTALL = "pip install 'scoreline[models]'"


class LocalModel(CachedModel):
    """A model of this machine; see `contract.Model`.

    Attributes:
        loads: How often it was loaded: not at all or once.
    """

    def __init__(
        self,
        role: str,
        name: str,
        kind: ModelKind,
        home: Path,
        options: Options,
        shelf: AnswerCache,
        networks: dict[str, LoadedModel],
    ) -> None:
        """Note what is configured; nothing is looked at before something is asked.

        Args:
            role: What it is to the evaluators.
            name: The configured name; see `weights.locate`.
            kind: What kind of model the role takes.
            home: The folder that relative folders start from.
            options: How it is run.
            shelf: Where its answers are kept.
            networks: The networks in memory, by what their answers are kept under; roles that
                name the same model find each other's there.
        """
        super().__init__(f"models.{role}: {name}", shelf, options.progress)
        self.loads = 0
        self._name = name
        self._home = home
        self._kind = kind
        self._options = options
        self._networks = networks
        self._obstacle: str | None = None

    @property
    def identity(self) -> str:
        """Name, revision (with it the tokenizer) and type of numbers; nothing is fetched for it."""
        try:
            which = locate(self._name, self._home).identity
        except Unavailable:
            which = self._name
        return f"{which},{self._options.dtype}"

    @cached_property
    def files(self) -> tuple[Path, str]:
        """The folder of the model, and which it is; files that are not there are fetched.

        Raises:
            Unavailable: They cannot be had.
        """
        found = locate(self._name, self._home)
        if found.folder is None:
            download(found, self._options)
            found = locate(self._name, self._home)
        if found.folder is None:
            raise Unavailable("the files were fetched, but there are no weights among them")
        return found.folder, found.identity

    @property
    def cache_namespace(self) -> str:
        """The very files that answer, not only what they are called."""
        return f"{self._kind.form},{self.files[1]},{self._options.dtype}"

    @property
    def form(self) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any]]:
        """How an answer becomes bytes, and bytes an answer."""
        return self._kind.pack, self._kind.unpack

    def unavailable_reason(self) -> str | None:
        """Why it cannot answer, as far as can be known without loading it."""
        if self._obstacle is None:
            try:
                self._folder()
            except Unavailable as reason:
                self._obstacle = f"{self.label}: {reason}"
        return self._obstacle

    def readiness(self) -> Readiness:
        """What can be said of it before anything is loaded or fetched."""
        try:
            self._installed()
            found = locate(self._name, self._home)
            if found.folder is not None:
                self._kind.check(read_config(found.folder), found.folder)
                return Readiness(usable=True, message=f"{self.identity} in {found.folder}")
            require_allowed(found, self._options)
        except Unavailable as reason:
            return Readiness(usable=False, message=f"{self.label}: {reason}")
        return Readiness(
            usable=True, message=f"{self._name} is fetched from the hub when it is needed"
        )

    def get_network(self) -> LoadedModel:
        """The network in memory.

        Raises:
            Unavailable: It cannot be loaded; also every time after the first.
        """
        if self.unavailable_reason() is None:
            network = self._networks.get(self.cache_namespace)
            if network is not None:
                return network
            try:
                network = self._kind.load(self._folder(), self._options)
            except _load_errors() as error:
                what = " ".join(str(error).split())[:300]
                self._obstacle = f"{self.label}: cannot be loaded: {type(error).__name__}: {what}"
            else:
                self.loads += 1
                self._networks[self.cache_namespace] = network
                return network
        raise Unavailable(self._obstacle)

    def _installed(self) -> None:
        absent = [name for name in self._kind.packages if find_spec(name) is None]
        if absent:
            raise Unavailable(f"{', '.join(absent)} missing: {INSTALL}")

    def _folder(self) -> Path:
        self._installed()
        folder, _ = self.files
        self._kind.check(read_config(folder), folder)
        return folder


def _load_errors() -> tuple[type[Exception], ...]:
    """What the libraries raise for models that are broken, alien, too large or unsafe."""
    from safetensors import SafetensorError

    known = (Unavailable, OSError, RuntimeError, ValueError, KeyError, TypeError, ImportError)
    return (*known, UnpicklingError, SafetensorError)
