"""The models of a run: one engine for each role that the configuration names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluators.engines.cache import Memory, Shelf
from evaluators.engines.cache_store import Store
from evaluators.engines.local import cross_encoder
from evaluators.engines.local.causal_lm import LANGUAGE
from evaluators.engines.local.embedding import ENCODER
from evaluators.engines.local.engine import LocalModel
from evaluators.engines.local.labels import LABELLER
from evaluators.engines.remote_lm import NAMED, Endpoint, RemoteLanguageModel
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable, nearest
from evaluators.flows.requests import (
    EMBEDDING,
    ENTAILMENT,
    FAIRNESS_BIAS,
    HALLUCINATION,
    LANGUAGE_MODEL,
    SIMILARITY,
    TOXICITY,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evaluators.engines.roles import Kind, Network
    from evaluators.flows.protocols import Model

ROLES: Mapping[str, Kind] = MappingProxyType(
    {
        EMBEDDING: ENCODER,
        ENTAILMENT: cross_encoder.kind(frozenset({"entailment"})),
        FAIRNESS_BIAS: LABELLER,
        HALLUCINATION: cross_encoder.kind(frozenset({"score", "entailment"})),
        LANGUAGE_MODEL: LANGUAGE,
        SIMILARITY: cross_encoder.kind(frozenset({"score"})),
        TOXICITY: LABELLER,
    }
)
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
        api_base: The address of a remote language model.
        api_key: Its key.
    """

    names: Mapping[str, str]
    home: Path
    options: Options = field(default_factory=Options)
    store: Path | None = None
    store_bytes: int = 2_000_000_000
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)


def models(choices: Choices) -> tuple[Mapping[str, Model], Mapping[str, str]]:
    """Make the engines of a run; nothing is imported, loaded or fetched before one is asked.

    Roles that name the same model share its weights.

    Returns:
        The model of each role that is configured; and for each that is not, why it is absent.
        What only a look at the files can tell is told by `Model.obstacle`.

    Raises:
        Unavailable: There is no such role.
    """
    store = None if choices.store is None else Store(choices.store, choices.store_bytes)
    shelf = Shelf(Memory(MEMORY_BYTES), store)
    loaded: dict[str, Network] = {}
    found: dict[str, Model] = {}
    for role, name in choices.names.items():
        kind = ROLES.get(role)
        if kind is None:
            raise Unavailable(f"no model has the role {role!r}{nearest(role, ROLES)}")
        if role == LANGUAGE_MODEL and name.startswith(NAMED):
            endpoint = Endpoint(
                model=name.removeprefix(NAMED), api_base=choices.api_base, api_key=choices.api_key
            )
            found[role] = RemoteLanguageModel(role, endpoint, shelf, choices.options)
        else:
            found[role] = LocalModel(role, name, kind, choices.home, choices.options, shelf, loaded)
    return found, {role: _unset(role) for role in ROLES if role not in choices.names}


def _unset(role: str) -> str:
    return f"no {role} model is configured: set models.{role} to a folder or a name on the hub"
