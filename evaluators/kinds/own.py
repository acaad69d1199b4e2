"""Evaluators from elsewhere: from files and modules of a project, and from installed packages."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import textwrap
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from evaluators import ENTRY_POINTS
from evaluators.errors import BadPlugin
from evaluators.evaluator import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType


def installed() -> Mapping[str, type[Evaluator]]:
    """Return the evaluators of installed packages, by name.

    Raises:
        BadPlugin: An entry point is not an evaluator.
    """
    found: dict[str, type[Evaluator]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            loaded = entry.load()
        except Exception as error:
            raise BadPlugin(f"the entry point {entry.value!r} cannot be loaded: {error}") from error
        if not _is_evaluator(loaded):
            raise BadPlugin(f"the entry point {entry.value!r} is not an evaluator")
        found[loaded.name] = _marked(loaded)
    return found


def load(plugin: str, home: Path) -> Mapping[str, type[Evaluator]]:
    """Return the evaluators that a file or module defines, by name.

    Args:
        plugin: The path of a file, relative to `home`, or the name of a module.
        home: The folder of the configuration.

    Raises:
        BadPlugin: It does not exist, cannot be imported or defines no evaluator; the message names
            file and line.
    """
    module = _from_file(home / plugin) if plugin.endswith(".py") else _from_name(plugin)
    found = {cls.name: _marked(cls) for cls in _evaluators(module)}
    if not found:
        raise BadPlugin(
            f"{plugin!r} defines no evaluator: expected a function with `@scoreline.metric`, or a "
            "subclass of `scoreline.Evaluator`"
        )
    return found


def code_digest(defined: object) -> str:
    """Return a digest of the code of a function, class or module, without comments and layout."""
    try:
        text = textwrap.dedent(inspect.getsource(defined))  # type: ignore[arg-type]
    except (OSError, TypeError):  # typed into a console
        code = getattr(defined, "__code__", None)
        shown = repr(defined) if code is None else repr((code.co_code, code.co_consts))
    else:
        shown = ast.dump(ast.parse(text))
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


def _from_file(file: Path) -> ModuleType:
    if not file.is_file():
        raise BadPlugin(f"there is no file {str(file)!r}")
    name = f"scoreline_plugin_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise BadPlugin(f"{str(file)!r} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Before it runs: dataclasses look for their module.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BadPlugin(_describe(error, str(file))) from error
    return module


def _from_name(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise BadPlugin(f"the module {name!r} cannot be imported: {error}") from error


def _describe(error: Exception, file: str) -> str:
    """Return what is wrong in a file, with the line."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}:{line or 1}: {type(error).__name__}: {error}"


def _evaluators(module: ModuleType) -> Iterator[type[Evaluator]]:
    for member in vars(module).values():
        if _is_evaluator(member) and member.__module__ == module.__name__:
            yield member


def _is_evaluator(member: Any) -> bool:
    return (
        inspect.isclass(member)
        and issubclass(member, Evaluator)
        and not inspect.isabstract(member)
        and hasattr(member, "metrics")
    )


def _marked(cls: type[Evaluator]) -> type[Evaluator]:
    """Return the class with the digest of its module's code, on which it may rest."""
    cls.code = code_digest(sys.modules[cls.__module__])
    return cls
