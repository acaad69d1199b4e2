"""Environment variables in the settings of systems: `${NAME}`, and how values stay secret."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from calls.redaction import replace_secrets
from systems.client import SystemRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}", re.ASCII)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Variables:
    """The environment variables of one system; `repr` shows no value."""

    def __init__(self, system: str, texts: Iterable[str]) -> None:
        """Collect the names in texts; no value is read."""
        self._system = system
        self.names = sorted({name for text in texts for name in _VARIABLE.findall(text)})

    def missing(self) -> str | None:
        """Return which variable is not set, and what to do; None if all are."""
        missing = next((name for name in self.names if not os.environ.get(name)), None)
        if missing is None:
            return None
        return f"the environment variable {missing} is not set: export {missing}=..."

    def read(self) -> Values:
        """Read the values.

        Raises:
            SystemRefused: A variable is not set, or contains a control character.
        """
        missing = self.missing()
        if missing is not None:
            raise SystemRefused(f"systems.{self._system}: {missing}")
        values = {name: os.environ[name] for name in self.names}
        for name, value in values.items():
            if _CONTROL.search(value):
                raise SystemRefused(
                    f"systems.{self._system}: the environment variable {name} contains a line "
                    "break or another control character"
                )
        return Values(values)


class Values:
    """The values of environment variables; `repr` shows none."""

    def __init__(self, values: dict[str, str]) -> None:
        self._values = values
        self._secrets = tuple(values.values())

    def fill(self, text: str) -> str:
        """Replace each `${NAME}` in a text by its value."""
        return _VARIABLE.sub(lambda found: self._values[found[1]], text)

    def redact(self, text: str) -> str:
        """Replace the values in a text by `***`, in every form; see `replace_secrets`."""
        return replace_secrets(text, self._secrets)

    def clean(self, value: Any) -> Any:
        """Return a JSON value whose texts can be stored and contain no secret."""
        if isinstance(value, str):
            return self.redact(value.encode("utf-8", "replace").decode().replace("\0", "\ufffd"))
        if isinstance(value, list):
            return [self.clean(each) for each in value]
        if isinstance(value, dict):
            return {self.clean(name): self.clean(each) for name, each in value.items()}
        return value
