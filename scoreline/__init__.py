"""Scoreline's public Python API: what is not in `__all__` may change between releases.

The names live in `scoreline.api` and are imported when one of them is first used, so that
`import scoreline`, and with it every command, starts at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scoreline.api import *  # noqa: F403

    __version__: str


if not TYPE_CHECKING:  # so that a type checker still finds misspelt names

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # takes longer to load than a worker process

            return version("scoreline")
        api = import_module(f"{__name__}.api")
        if name == "__all__":
            return [*api.__all__, "__version__"]
        if name not in api.__all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(api, name)


def __dir__() -> list[str]:
    return [*globals(), *import_module(f"{__name__}.api").__all__]
