"""Local models: loaded once, at the first request that is not cached."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pickle import UnpicklingError
from typing import TYPE_CHECKING

from evaluators.engines.cache import AnswerCache, CachedModel
from evaluators.engines.local.download import locate_or_download, require_allowed
from evaluators.engines.local.weights import locate, read_config
from evaluators.engines.roles import Readiness
from evaluators.errors import Unavailable
from records.packages import install_command

if TYPE_CHECKING:
    from collections.abc import MutableMapping
    from pathlib import Path

    from evaluators.engines.roles import LoadedModel, ModelKind, Options


class LocalModel(CachedModel):
    """A model on this machine; see `protocols.Model`.

    Attributes:
        loads: How many times it was loaded: 0 or 1.
    """

    def __init__(
        self,
        role: str,
        name: str,
        kind: ModelKind,
        home: Path,
        options: Options,
        cache: AnswerCache,
        networks: MutableMapping[str, LoadedModel],
    ) -> None:
        """Set the configuration; no file is read before the first request.

        Args:
            role: The role of the model.
            name: The configured name; see `weights.locate`.
            kind: The kind of model that the role takes.
            home: The folder that relative paths start from.
            options: How the model is run.
            cache: The cache of its answers.
            networks: The loaded models by cache namespace, shared by roles with the same model.
        """
        super().__init__(f"models.{role}: {name}", kind, cache, options.progress)
        self.loads = 0
        self._name = name
        self._home = home
        self._options = options
        self._networks = networks
        self._unavailable: str | None = None

    @property
    def identity(self) -> str:
        """Name, revision (it includes the tokenizer) and dtype; nothing is downloaded."""
        try:
            which = locate(self._name, self._home).identity
        except Unavailable:
            which = self._name
        return f"{which},{self._options.dtype}"

    @cached_property
    def files(self) -> tuple[Path, str]:
        """The folder and the identity of the model; missing files are downloaded.

        Raises:
            Unavailable: The files cannot be downloaded.
        """
        return locate_or_download(self._name, self._home, self._options)

    @property
    def cache_namespace(self) -> str:
        """The identity of the files, not only the model's name."""
        return f"{self._kind.form},{self.files[1]},{self._options.dtype}"

    def unavailable_reason(self) -> str | None:
        """Return why the model cannot answer, as far as is known without loading it."""
        if self._unavailable is None:
            try:
                self._checked_folder()
            except Unavailable as reason:
                self._unavailable = f"{self.label}: {reason}"
        return self._unavailable

    def readiness(self) -> Readiness:
        """Return what is known without loading or downloading anything."""
        try:
            self._require_packages()
            found = locate(self._name, self._home)
            if found.folder is not None:
                self._kind.check(read_config(found.folder), found.folder)
                return Readiness(usable=True, message=f"{self.identity} in {found.folder}")
            require_allowed(found, self._options)
        except Unavailable as reason:
            return Readiness(usable=False, message=f"{self.label}: {reason}")
        return Readiness(
            usable=True, message=f"{self._name} is downloaded from the hub when it is needed"
        )

    def get_network(self) -> LoadedModel:
        """Return the loaded model.

        Raises:
            Unavailable: The model cannot be loaded; it is not tried again.
        """
        if self.unavailable_reason() is None:
            network = self._networks.get(self.cache_namespace)
            if network is not None:
                return network
            try:
                network = self._kind.load(self._checked_folder(), self._options)
            except _load_errors() as error:
                what = " ".join(str(error).split())[:300]
                self._unavailable = (
                    f"{self.label}: cannot be loaded: {type(error).__name__}: {what}"
                )
            else:
                self.loads += 1
                self._networks[self.cache_namespace] = network
                return network
        raise Unavailable(self._unavailable)

    def _require_packages(self) -> None:
        missing = [name for name in self._kind.packages if find_spec(name) is None]
        if missing:
            raise Unavailable(f"{', '.join(missing)} missing: {install_command('models')}")

    def _checked_folder(self) -> Path:
        self._require_packages()
        folder, _ = self.files
        self._kind.check(read_config(folder), folder)
        return folder


def _load_errors() -> tuple[type[Exception], ...]:
    """Return what the libraries raise for models that are broken, unknown, too large or unsafe."""
    from safetensors import SafetensorError

    known = (Unavailable, OSError, RuntimeError, ValueError, KeyError, TypeError, ImportError)
    return (*known, UnpicklingError, SafetensorError)
