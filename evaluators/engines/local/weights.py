"""Weights: where the files of a configured model are, and which model they are.

Nothing here imports torch, so that signatures are known before anything is loaded.
"""

from __future__ import annotations

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
"""What a model that an installed distribution brings along is named after."""

_HUB = re.compile(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)(?:@(?P<revision>[\w./-]+))?")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_DESCRIPTIONS = ("modules.json", "config.json")


@dataclass(frozen=True, slots=True)
class Weights:
    """A model that a configuration names.

    Attributes:
        name: As it is configured.
        folder: Where its files are; None while they are still on the hub.
        identity: Which model it is: a hub name with its revision, a distribution with its version,
            or a folder's name with the digest of its files (weights, configuration, tokenizer).
        repository: Its name on the hub, if that is where it comes from.
        revision: The commit, branch or tag that is asked for there.
    """

    name: str
    folder: Path | None
    identity: str
    repository: str | None = None
    revision: str | None = None


def locate(name: str, home: Path) -> Weights:
    """Find out what a configured name stands for, without asking the network.

    Args:
        name: A folder (relative to `home`), `package:` and a distribution that carries a model,
            or a name on the hub, `owner/model` or `owner/model@revision`. What exists as a folder
            is one; to be sure, begin with `./`.
        home: The folder of the configuration file.

    Raises:
        Unavailable: The name stands for nothing that could be a model.
    """
    if name.startswith(PACKAGE):
        return _packaged(name)
    folder = home / Path(name).expanduser()
    if folder.is_dir():
        read_config(folder)
        return Weights(name, folder, f"{folder.name}#{_digest(folder)}")
    hub = _HUB.fullmatch(name)
    if hub is None or name.startswith(("./", "../", "/", "~")):
        raise Unavailable(f"the model folder {str(folder)!r} does not exist")
    repository, revision = hub["name"], hub["revision"] or "main"
    snapshot = _cached(repository, revision)
    commit = snapshot.name if snapshot is not None else revision
    return Weights(name, snapshot, f"{repository}@{commit}", repository, revision)


def read_config(folder: Path) -> dict[str, Any]:
    """The `config.json` of a model (its first module's, in sentence-transformers folders).

    Raises:
        Unavailable: There is none, or it cannot be read.
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


def _packaged(name: str) -> Weights:
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


def _cached(repository: str, revision: str) -> Path | None:
    """The folder of the hub's cache that holds a model whole; None when it is not there."""
    place = cache_folder() / ("models--" + repository.replace("/", "--"))
    commit = revision
    if not _COMMIT.fullmatch(revision):
        note = place / "refs" / revision
        if not note.is_file():
            return None
        commit = note.read_text(encoding="utf-8").strip()
    snapshot = place / "snapshots" / commit
    whole = any((snapshot / wanted).is_file() for wanted in _DESCRIPTIONS) and any(
        next(snapshot.rglob(pattern), None) is not None
        for pattern in ("*.safetensors", "pytorch_model*.bin")
    )
    return snapshot if whole else None


def cache_folder() -> Path:
    """The folder in which the hub's clients keep models; as their documentation has it."""
    home = os.environ.get("HF_HOME") or Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "huggingface"
    )
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home, "hub"))


def _digest(folder: Path) -> str:
    """A digest of all files of a model: equal files give equal numbers wherever they stand."""
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.suffix.lower() not in {".md", ".lock"}
    )
    parts = [f"{path.relative_to(folder).as_posix()} {_file_digest(path)}" for path in files]
    return _xxh3("\n".join(parts).encode())[:12]


def _file_digest(path: Path) -> str:
    stat = path.stat()
    return _content_digest(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1_000)
def _content_digest(path: Path, _size: int, _changed: int) -> str:
    import xxhash

    digest = xxhash.xxh3_128()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _xxh3(content: bytes) -> str:
    import xxhash

    return xxhash.xxh3_128(content).hexdigest()
