"""Download: missing weights from the Hugging Face hub, when a model is first needed."""

from __future__ import annotations

import logging
import os
from fnmatch import fnmatch
from importlib.util import find_spec
from typing import TYPE_CHECKING

from evaluators.engines.local.weights import locate
from evaluators.errors import Unavailable
from records.packages import install_command

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evaluators.engines.local.weights import Weights
    from evaluators.engines.roles import Options

LOG = logging.getLogger(__name__)
_SAFE = ("*.safetensors", "*.safetensors.index.json")
_PICKLED = ("pytorch_model*.bin", "pytorch_model.bin.index.json")
_CONFIGURATION = ("*.json", "*.txt", "*.model", "*.jinja")
_OTHER_FRAMEWORKS = ("onnx/*", "openvino/*", "flax*", "tf_*", "rust_*", "coreml/*", "original/*")


def download(weights: Weights, options: Options) -> None:
    """Download the files of a model into the hub's cache, and log the name and the size.

    Args:
        weights: A model of the hub.
        options: Whether the network may be used.

    Raises:
        Unavailable: The network may not be used, or the hub does not give the model.
    """
    name = require_allowed(weights, options)
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        info = HfApi().model_info(
            str(weights.repository), revision=weights.revision, files_metadata=True, timeout=30
        )
        sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
        wanted = select_files(list(sizes))
        total = sum(sizes[file] for file in wanted)
        LOG.warning("downloading %s: %.0f MB", name, total / 1e6)
        if options.progress is not None:
            options.progress(f"downloading {name} ({total / 1e6:.0f} MB)", 0, total)
        snapshot_download(str(weights.repository), revision=weights.revision, allow_patterns=wanted)
        if options.progress is not None:
            options.progress(f"downloading {name} ({total / 1e6:.0f} MB)", total, total)
    except (HfHubHTTPError, OfflineModeIsEnabled, OSError) as error:
        raise Unavailable(
            f"{name} could not be downloaded: {type(error).__name__}: {str(error).splitlines()[0]}"
        ) from error


def locate_or_download(name: str, home: Path, options: Options) -> tuple[Path, str]:
    """Return the folder and the identity of a model; missing files are downloaded.

    Raises:
        Unavailable: The files cannot be downloaded.
    """
    found = locate(name, home)
    if found.folder is None:
        download(found, options)
        found = locate(name, home)
    if found.folder is None:
        raise Unavailable(
            f"the files of {name} were downloaded, but there are no weights among them"
        )
    return found.folder, found.identity


def require_allowed(weights: Weights, options: Options) -> str:
    """Check that a model may be downloaded; return its name and revision.

    Raises:
        Unavailable: The network may not be used, or the hub's client is not installed.
    """
    name = f"{weights.repository}@{weights.revision}"
    if options.offline or os.environ.get("HF_HUB_OFFLINE", "0") not in {"", "0"}:
        raise Unavailable(
            f"{name} is not in the cache and models.offline is set: download it once where the "
            "network may be used, or name a folder"
        )
    if find_spec("huggingface_hub") is None or weights.repository is None:
        raise Unavailable(f"{name} cannot be downloaded: {install_command('models')}")
    return name


def select_files(files: Sequence[str]) -> list[str]:
    """Select the files of a repository that are needed, with the weights in one format only."""
    own = [
        file for file in files if not any(fnmatch(file, pattern) for pattern in _OTHER_FRAMEWORKS)
    ]
    safe = [file for file in own if any(fnmatch(file, pattern) for pattern in _SAFE)]
    weights = safe or [file for file in own if any(fnmatch(file, each) for each in _PICKLED)]
    configuration = [file for file in own if any(fnmatch(file, each) for each in _CONFIGURATION)]
    return sorted({*weights, *configuration})
