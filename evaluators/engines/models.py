"""The models of a run: one engine for each role that the configuration names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluators.engines.encoder import ENCODER
from evaluators.engines.kept import Shelf
from evaluators.engines.kind import Kind, Options
from evaluators.engines.local import LocalModel
from evaluators.engines.memory import Memory
from evaluators.engines.store import Store
from evaluators.flow import EMBEDDING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evaluators.engines.contract import Model

ROLES: Mapping[str, Kind] = MappingProxyType({EMBEDDING: ENCODER})
"""Every role that a model may have, and the kind of model that fills it."""

MEMORY_BYTES = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Which models a run has and how they are run.

    Attributes:
        names: The configured model of each role: a folder, `package:` and a distribution, or a
            hub name; see `weights.locate`.
        home: The folder that relative folders start from.
        options: How they are run.
        store: The folder that receives the store of encodings; None for none.
        store_bytes: The size that the store may have.
    """

    names: Mapping[str, str]
    home: Path
    options: Options = field(default_factory=Options)
    store: Path | None = None
    store_bytes: int = 2_000_000_000


def models(choices: Choices) -> tuple[Mapping[str, Model], Mapping[str, str]]:
    """Make the engines of a run; nothing is imported, loaded or fetched before one is asked.

    Roles that name the same model share it, when they are of the same kind.

    Returns:
        The model of each role that is configured; and for each that is not, why it is absent.
        What only a look at the files can tell is told by `Model.obstacle`.
    """
    store = None if choices.store is None else Store(choices.store, choices.store_bytes)
    shelf = Shelf(Memory(MEMORY_BYTES), store)
    made: dict[tuple[str, str], Model] = {}
    found: dict[str, Model] = {}
    for role, name in choices.names.items():
        if role not in ROLES:
            raise KeyError(role)
        kind = ROLES[role]
        model = made.get((kind.form, name))
        if model is None:
            model = LocalModel(role, name, choices.home, kind, choices.options, shelf)
            made[kind.form, name] = model
        found[role] = model
    return found, {role: _unset(role) for role in ROLES if role not in choices.names}


def _unset(role: str) -> str:
    return f"no {role} model is configured: set models.{role} to a folder or a name on the hub"
