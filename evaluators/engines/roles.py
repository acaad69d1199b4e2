"""Kinds of models: what sets encoders, pair scorers, labellers and language models apart."""

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


class LoadedModel(Protocol):
    """A loaded model."""

    @property
    def truncated_count(self) -> int:
        """Texts that were longer than its window, so that their ends did not count."""

    def compute(self, requests: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Answer different requests in any order: the place of each, and its answer."""


class Readiness(NamedTuple):
    """What can be said of a model without loading, fetching or asking anything.

    Attributes:
        usable: Whether it can be used, as far as that is known.
        message: Which model it is and where; or what to install or to configure.
    """

    usable: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKind:
    """One kind of model.

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
    load: Callable[[Path, Options], LoadedModel]
    pack: Callable[[Any], bytes]
    unpack: Callable[[bytes], Any]
