"""Tiny models on disk for the tests of engines, made once for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evaluators.engines.models import ModelSettings, build_models
from evaluators.engines.roles import Options
from tests.evaluators.engines.local import tiny
from tests.support.services import skip_models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evaluators.flows.protocols import Model

TOXIC = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model of each kind; skipped where torch is not installed."""
    skip_models()
    pytest.importorskip("torch")
    home = tmp_path_factory.mktemp("models")
    with tiny.silently():
        tiny.causal(home / "gpt2")
        tiny.classifier(home / "toxic", TOXIC, problem_type="multi_label_classification")
        tiny.classifier(home / "xlm", ("left", "right"), "xlm-roberta")
        tiny.classifier(home / "undeclared", TOXIC)
        tiny.classifier(home / "bias", ("Non-biased", "Biased"), "distilbert")
        tiny.classifier(home / "nli", ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), "albert")
        tiny.classifier(home / "cross", ("LABEL_0",))
        tiny.classifier(home / "unnamed", ("LABEL_0", "LABEL_1", "LABEL_2"))
        tiny.hhem(home / "hhem")
    return home


@pytest.fixture
def engine(tiny_models: Path) -> Callable[..., Model]:
    """Makes the engine of a role from the name of a tiny model."""

    def made(role: str, name: str, store: Path | None = None, **options: object) -> Model:
        given = Options(**options)  # type: ignore[arg-type]
        choices = ModelSettings(names={role: name}, home=tiny_models, options=given, store=store)
        return build_models(choices)[0][role]

    return made
