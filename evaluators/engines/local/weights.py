"""Weights: where the files of a configured model are, and which model they are.

Nothing here imports torch, so that signatures are known before anything is loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from evaluators.errors import Unavailable

PACKAGE = "package:"
"""The prefix of names of models in installed distributions."""

_HUB = re.compile(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DESCRIPTIONS = ("modules.json", "config.json")


@dataclass(frozen=True, slots=True)
class Weights:
    """A configured model.

    Attributes:
        name: The configured name.
        folder: The folder with its files; None until they are downloaded.
        identity: A hub name with its revision, a distribution with its version, or a folder's name
            with the digest of its files (weights, configuration, tokenizer).
        repository: The name on the hub, for models from there.
        revision: The commit, branch or tag on the hub.
    """

    name: str
    folder: Path | None
    identity: str
    repository: str | None = None
    revision: str | None = None


def locate(name: str, home: Path) -> Weights:
    """Find the model of a configured name, without using the network.

    Args:
        name: A folder (relative to `home`), `package:` and a distribution that contains a model,
            or a name on the hub, `owner/model` or `owner/model@revision`. An existing folder
            takes precedence; `./` at the beginning always means a folder.
        home: The folder of the configuration file.

    Raises:
        Unavailable: There is no such model.
    """
    if name.startswith(PACKAGE):
        return _locate_package(name)
    folder = home / Path(name).expanduser()
    if folder.is_dir():
        read_config(folder)
        return Weights(name, folder, f"{folder.name}#{_digest(folder)}")
    hub = _HUB.fullmatch(name)
    if hub is None or name.startswith(("./", "../", "/", "~")):
        raise Unavailable(f"the model folder {str(folder)!r} does not exist")
    repository, revision = hub["name"], hub["revision"] or "main"
    snapshot = _find_in_hub_cache(repository, revision)
    commit = snapshot.name if snapshot is not None else revision
    return Weights(name, snapshot, f"{repository}@{commit}", repository, revision)


def name_identity(name: str, home: Path) -> str:
    """Return the identity of a model's files if they are a folder or a distribution, or its name.

    The commit of a name on the hub is unknown until it is downloaded.

    Args:
        name: The configured name; see `locate`.
        home: The folder of the configuration file.
    """
    try:
        found = locate(name, home)
    except Unavailable:
        return name
    return name if found.repository is not None else found.identity


def read_config(folder: Path) -> dict[str, Any]:
    """Read the `config.json` of a model (of the first module, in sentence-transformers folders).

    Raises:
        Unavailable: There is no such file, or it cannot be read.
    """
    for path in (folder / "config.json", folder / "0_Transformer" / "config.json"):
        if path.is_file():
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise Unavailable(f"{str(path)!r} cannot be read: {error}") from error
            if isinstance(content, dict):
                return content
    if (folder / "modules.json").is_file():
        return {}
    raise Unavailable(f"the folder {str(folder)!r} holds no config.json, so no model")


def _locate_package(name: str) -> Weights:
    distribution = name.removeprefix(PACKAGE)
    try:
        found = metadata.distribution(distribution)
    except metadata.PackageNotFoundError as error:
        raise Unavailable(
            f"the distribution {distribution!r} is not installed: pip install {distribution}"
        ) from error
    for wanted in _DESCRIPTIONS:
        files = [file for file in found.files or () if file.name == wanted]
        if files:
            nearest = min(files, key=lambda file: len(file.parts))
            folder = Path(str(nearest.locate())).parent
            return Weights(name, folder, f"{distribution}=={found.version}")
    raise Unavailable(f"the distribution {distribution!r} carries no model (no config.json)")


def _find_in_hub_cache(repository: str, revision: str) -> Path | None:
    """Return the folder in the hub's cache with a complete model, or None."""
    model_folder = cache_folder() / ("models--" + repository.replace("/", "--"))
    commit = revision
    if not _COMMIT.fullmatch(revision):
        reference = model_folder / "refs" / revision
        if not reference.is_file():
            return None
        commit = reference.read_text(encoding="utf-8").strip()
    snapshot = model_folder / "snapshots" / commit
    is_complete = any((snapshot / wanted).is_file() for wanted in _DESCRIPTIONS) and any(
        next(snapshot.rglob(pattern), None) is not None
        for pattern in ("*.safetensors", "pytorch_model*.bin")
    )
    return snapshot if is_complete else None


def cache_folder() -> Path:
    """Return the cache folder of the hub's clients, as their documentation defines it."""
    home = os.environ.get("HF_HOME") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
    )
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub"))


def _digest(folder: Path) -> str:
    """Return a digest of a model's files, independent of their location."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() not in {".md", ".lock"}
    )
    parts = [f"{path.relative_to(folder).as_posix()} {_file_digest(path)}" for path in files]
    import xxhash

    return xxhash.xxh3_128_hexdigest("\n".join(parts).encode())[:12]


def _file_digest(path: Path) -> str:
    stat = path.stat()
    return _content_digest(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1_000)
def _content_digest(path: Path, _size: int, _changed: int) -> str:
    import xxhash

    with path.open("rb") as file:
        return hashlib.file_digest(file, xxhash.xxh3_128).hexdigest()
