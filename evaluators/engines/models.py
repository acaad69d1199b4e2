"""The models of a run: one engine for each role that the configuration names."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from evaluators.engines.cache import AnswerCache, LruCache
from evaluators.engines.cache_store import CacheStore
from evaluators.engines.echo_calls import PREFIX, Endpoint
from evaluators.engines.local import cross_encoder
from evaluators.engines.local.causal_lm import CAUSAL_LM
from evaluators.engines.local.embedding import EMBEDDING_MODEL
from evaluators.engines.local.engine import LocalModel
from evaluators.engines.local.labels import TEXT_CLASSIFIER
from evaluators.engines.remote_lm import RemoteLanguageModel
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable
from evaluators.flows.requests import (
    EMBEDDING,
    ENTAILMENT,
    FAIRNESS_BIAS,
    HALLUCINATION,
    LANGUAGE_MODEL,
    SIMILARITY,
    TOXICITY,
)
from records.similar_names import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from evaluators.engines.roles import LoadedModel, ModelKind
    from evaluators.flows.protocols import Model

ROLES: Mapping[str, ModelKind] = MappingProxyType(
    {
        EMBEDDING: EMBEDDING_MODEL,
        ENTAILMENT: cross_encoder.cross_encoder_kind(frozenset({"entailment"})),
        FAIRNESS_BIAS: TEXT_CLASSIFIER,
        HALLUCINATION: cross_encoder.cross_encoder_kind(frozenset({"score", "entailment"})),
        LANGUAGE_MODEL: CAUSAL_LM,
        SIMILARITY: cross_encoder.cross_encoder_kind(frozenset({"score"})),
        TOXICITY: TEXT_CLASSIFIER,
    }
)
"""The kind of model that each role takes."""

CACHE_BYTES = 500_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """The models of a run.

    Attributes:
        names: The configured model of each role: a folder, `package:` and a distribution, or a
            hub name; see `weights.locate`.
        home: The folder that relative paths start from.
        options: How the models are run.
        store: The folder of the cache file; None for no file.
        store_bytes: The maximum size of the cache file.
        api_base: The address of a remote language model.
        api_key: The key of a remote language model.
    """

    names: Mapping[str, str]
    home: Path
    options: Options = field(default_factory=Options)
    store: Path | None = None
    store_bytes: int = 2_000_000_000
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)


def build_models(choices: ModelSettings) -> tuple[Mapping[str, Model], Mapping[str, str]]:
    """Make the models of a run; each is imported, downloaded and loaded at its first request.

    Roles with the same model share its weights.

    Returns:
        The model of each configured role, and for all other roles the reason why they are missing.
        Use `Model.unavailable_reason` to check the files.

    Raises:
        Unavailable: There is no such role.
    """
    store = None if choices.store is None else CacheStore(choices.store, choices.store_bytes)
    cache = AnswerCache(LruCache(CACHE_BYTES), store)
    loaded: dict[str, LoadedModel] = {}
    found: dict[str, Model] = {}
    for role, name in choices.names.items():
        kind = ROLES.get(role)
        if kind is None:
            raise Unavailable(f"no model has the role {role!r}{did_you_mean(role, ROLES)}")
        if role == LANGUAGE_MODEL and name.startswith(PREFIX):
            endpoint = Endpoint(
                model=name.removeprefix(PREFIX), api_base=choices.api_base, api_key=choices.api_key
            )
            found[role] = RemoteLanguageModel(role, endpoint, cache, choices.options)
        else:
            found[role] = LocalModel(role, name, kind, choices.home, choices.options, cache, loaded)
    missing = {
        role: f"no {role} model is configured: set models.{role} to a folder or a name on the hub"
        for role in ROLES
        if role not in choices.names
    }
    return found, missing
