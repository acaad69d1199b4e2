"""Makes the client of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from records.packages import MissingPackage, require_extra
from systems.client import SystemRefused
from systems.settings import (
    CommandSystem,
    HttpSystem,
    LocalModelSystem,
    ModelSystem,
    PythonSystem,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from systems.client import SystemClient
    from systems.settings import SystemSettings


def make_client(
    settings: SystemSettings,
    questions: Sequence[Mapping[str, Any]],
) -> SystemClient:
    """Return the client that asks a system the questions of one benchmark.

    Nothing is started or contacted.

    Args:
        settings: The system.
        questions: All questions of the benchmark, by the names of canonical fields.

    Raises:
        SystemRefused: The system cannot be asked, whatever the question.
    """
    match settings:
        case PythonSystem():
            from systems.python_client import PythonClient

            return PythonClient(settings)
        case CommandSystem():
            from systems.command_client import CommandClient

            return CommandClient(settings)
        case HttpSystem():
            _require("http", settings, "an HTTP service")
            from systems.http.client import HttpClient

            return HttpClient(settings, questions)
        case ModelSystem():
            _require("judge", settings, "a model")
            from systems.model_client import ModelClient

            return ModelClient(settings, questions)
        case LocalModelSystem():
            from systems.local_model_client import LocalModelClient

            return LocalModelClient(settings, questions)
        case _:
            raise TypeError(f"no client for {settings!r}")


def _require(extra: str, settings: SystemSettings, what: str) -> None:
    try:
        require_extra(extra, f"systems.{settings.name} ({what})")
    except MissingPackage as missing:
        raise SystemRefused(str(missing)) from None
