"""The error of the public API."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scoreline.inputs import InputFolder


class ScorelineError(Exception):
    """An input, a name or a setting is not valid, or a result does not exist."""


@contextmanager
def converted_errors(inputs: InputFolder | None = None, prefix: str = "") -> Iterator[None]:
    """Raise the errors of all packages as `ScorelineError`.

    Their own tracebacks say nothing to a user; that of a user's metric, their cause, does.

    Args:
        inputs: Names the rows that were written to files.
        prefix: The place of arguments in a configuration, which messages about them leave out.
    """
    from calls.errors import CallsError
    from evaluators.errors import EvaluatorError
    from orchestration.errors import OrchestrationError, SettingsError
    from records.packages import MissingPackage
    from warehouse.errors import InputError, WarehouseError

    try:
        yield
    except SettingsError as error:
        lines = (fault.message.removeprefix(prefix) for fault in error.faults)
        raise ScorelineError("\n".join(lines)) from None
    except InputError as error:
        named = error if inputs is None else inputs.name_origins(error)
        raise ScorelineError(str(named)) from None
    except (
        CallsError,
        EvaluatorError,
        MissingPackage,
        OrchestrationError,
        WarehouseError,
    ) as error:
        raise ScorelineError(str(error)) from error.__cause__
