"""Kinds of models: how embedding models, cross-encoders, classifiers and language models differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How models are run.

    Attributes:
        device: `auto` (a GPU if there is one), `cpu`, `cuda`, `cuda:1`, `mps`.
        dtype: The floating-point type: `float32`, `float16` or `bfloat16`.
        batch_size: Texts per batch; None: 32 on a CPU, 256 on a GPU.
        offline: Never use the network.
        progress: Called with the model's label, the number of finished items, and the total.
    """

    device: str = "auto"
    dtype: str = "float32"
    batch_size: int | None = None
    offline: bool = False
    progress: Progress | None = None


class LoadedModel(Protocol):
    """A loaded model."""

    @property
    def truncated_count(self) -> int:
        """The number of texts that were cut because they exceeded the model's window."""

    def compute(self, requests: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Answer distinct requests in any order; yield the position and the answer of each."""


class Readiness(NamedTuple):
    """What is known of a model without loading, downloading or calling it.

    Attributes:
        usable: Whether it can be used, as far as is known.
        message: Which model it is and where, or what to install or to configure.
    """

    usable: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """One kind of model.

    Attributes:
        form: The format of the answers, part of cache keys. Change it when `compute` or `pack`
            change their results.
        packages: The packages that must be installed.
        check: Checks the model's configuration and folder; raises `Unavailable` for a model of
            another kind.
        load: Loads the model from a folder.
        pack: Converts an answer to bytes, for the cache.
        unpack: Converts the bytes back to an answer.
    """

    form: str
    packages: tuple[str, ...]
    check: Callable[[Mapping[str, Any], Path], None]
    load: Callable[[Path, Options], LoadedModel]
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]
