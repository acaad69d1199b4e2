"""What a question means that a system did not answer: a failure, or a question not asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from warehouse.errors import UnknownSystem, suggest_name

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Meaning: TypeAlias = Literal["failed", "not_asked"]


@dataclass(frozen=True, slots=True)
class MissingAnswers:
    """What missing answers mean.

    Attributes:
        default: What they mean.
        systems: What they mean for some systems.
    """

    default: Meaning = "failed"
    systems: Mapping[str, Meaning] = field(default_factory=dict)

    @property
    def may_skip(self) -> bool:
        """Whether a system may not be asked a question."""
        return "not_asked" in {self.default, *self.systems.values()}

    def not_asked(self, systems: Collection[str]) -> list[str]:
        """Return the systems whose missing answers are questions that they were not asked.

        Raises:
            UnknownSystem: A system of `systems` does not exist.
        """
        for name in self.systems:
            if name not in systems:
                raise UnknownSystem(
                    f"`missing` names the system {name!r}, which has no answers"
                    f"{suggest_name(name, systems)}"
                )
        return [name for name in systems if self.systems.get(name, self.default) == "not_asked"]

    def without(self, systems: Collection[str]) -> MissingAnswers:
        """Return the same without some of the systems, which have no answers at all."""
        kept = {name: meaning for name, meaning in self.systems.items() if name not in systems}
        return replace(self, systems=kept)

    def settings(self) -> tuple[str, ...]:
        """Return what predictions depend on, for their digest; empty for the default."""
        if not self.may_skip:
            return ()
        return (json.dumps(["missing", self.default, dict(self.systems)], sort_keys=True),)
