"""Loads a Python function from a file or module, and says what is wrong with it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any

from systems.processes.python_errors import describe, where

if TYPE_CHECKING:
    from types import ModuleType

    from systems.processes.python_calls import Function


class Refused(Exception):  # noqa: N818 - a message to the parent
    """The function cannot be called; `names` are those that may have been meant."""

    def __init__(self, reason: str, name: str = "", names: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.name, self.names = name, names


def load(module: str, function: str, home: str) -> tuple[Function, tuple[str, ...]]:
    """Import a file or module and return its function, and the folders of its code.

    Args:
        module: The path of a file, relative to `home`, or the name of a module.
        function: The name of the function.
        home: The folder of the configuration.

    Raises:
        Refused: The module cannot be imported, or the function cannot be called with a question.
    """
    is_file = module.endswith(".py")
    file = os.path.join(home, module)  # noqa: PTH118 - pathlib takes long to load
    folder = os.path.dirname(os.path.abspath(file))  # noqa: PTH100, PTH120
    roots = (home, folder) if is_file else (home,)
    try:
        loaded = _load_file(file, folder) if is_file else importlib.import_module(module)
    except BaseException as error:  # noqa: BLE001 - also `SystemExit` of a script
        raise Refused(_explain(error, module, home, roots)) from None
    if not hasattr(loaded, function):
        names = [name for name, each in vars(loaded).items() if callable(each)]
        raise Refused(f"{module!r} has no function {function!r}", function, tuple(names))
    found: Any = getattr(loaded, function)
    if not callable(found):
        raise Refused(f"{function!r} in {module!r} is not a function but {type(found).__name__}")
    _check_parameters(found, function)
    own = getattr(loaded, "__file__", None)
    if not is_file and own:
        roots = (home, os.path.dirname(os.path.abspath(own)))  # noqa: PTH100, PTH120
    return found, roots


def is_async(function: Function) -> bool:
    """Return whether a function, or object with `__call__`, is asynchronous."""
    called = getattr(type(function), "__call__", None)  # noqa: B004 - its kind matters
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, called)
    )


def _load_file(file: str, folder: str) -> ModuleType:
    """Import a file as scripts are run: its folder is the first to import from."""
    sys.path.insert(0, folder)
    sys.argv = [file]
    name = os.path.basename(file).removesuffix(".py")  # noqa: PTH119
    if name in sys.modules or name in sys.stdlib_module_names:
        name = f"system_{name}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def _explain(error: BaseException, module: str, home: str, roots: tuple[str, ...]) -> str:
    """Return why a module cannot be imported, with the last line of the user's code."""
    said = f"{module!r} cannot be imported: {describe(error)}"
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is None or not f"{module}.".startswith(f"{missing}."):
        return f"{said} ({where(error, roots)})"
    file = module.replace(".", os.sep) + ".py"
    if os.path.isfile(os.path.join(home, file)):  # noqa: PTH113, PTH118
        said += f"; name the file instead: {file}"
    return said


def _check_parameters(function: Function, name: str) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # a built-in function
    try:
        signature.bind({})
    except TypeError as error:
        raise Refused(
            f"{name}{signature} cannot be called with one dict, the question: {error}"
        ) from None
