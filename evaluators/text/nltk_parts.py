"""Parts of NLTK without the whole."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from threading import Lock
from types import ModuleType

_LOCK = Lock()


def import_part(name: str) -> ModuleType:
    """Import a module of NLTK without its packages' own code.

    That imports all of NLTK, and scikit-learn, SciPy's statistics and pandas where they are
    installed: more than a second for a stemmer that needs none of them. While the module is
    imported, empty packages stand for them. A later import of NLTK gets all of it.

    Args:
        name: The module, such as `nltk.stem.porter`.
    """
    with _LOCK:
        if "nltk" in sys.modules:
            return importlib.import_module(name)
        try:
            for package in _packages(name):
                sys.modules[package] = _empty(package)
            return importlib.import_module(name)
        finally:
            for module in [each for each in sys.modules if each.partition(".")[0] == "nltk"]:
                del sys.modules[module]


def _packages(name: str) -> list[str]:
    parts = name.split(".")[:-1]
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _empty(package: str) -> ModuleType:
    """Return a package with the folders of a package, and nothing else.

    Raises:
        ModuleNotFoundError: It is not installed.
    """
    # The packages above it are empty ones already, so that finding it runs no code.
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError(f"No module named {package!r}", name=package)
    empty = ModuleType(package)
    empty.__path__ = list(spec.submodule_search_locations)
    empty.__spec__ = spec
    return empty
