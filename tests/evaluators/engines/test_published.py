"""Values that others printed, where the real weights are in the hub's cache; skipped elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluators.catalog import build
from evaluators.engines.local.weights import locate
from evaluators.engines.models import ModelSettings, build_models
from evaluators.engines.roles import Options
from tests.support.golden_cases import golden
from tests.support.scripted_models import only

CASES = {case["id"]: case["expected"] for case in golden("published_values")["cases"]}
LAPTOP = "sentiment classification: I dropped my laptop on my knee, and someone stole my coffee. "


def cached(role: str, name: str) -> Any:
    """The engine of a model that is in the cache."""
    if locate(name, Path()).folder is None:
        pytest.skip(f"the weights of {name} are not in the cache")
    choices = ModelSettings(names={role: name}, home=Path(), options=Options(offline=True))
    return build_models(choices)[0][role]


@pytest.mark.parametrize("mood", ["happy", "sad"])
def test_perplexity_by_gpt2(mood: str) -> None:
    model = cached("language_model", "gpt2")
    found = only(build("perplexity"), {"answer": f"{LAPTOP}I am {mood}."}, language_model=model)
    assert found.value == pytest.approx(CASES["pub-004"][mood], rel=1e-3)


def test_toxicity_by_detoxifys_original() -> None:
    model = cached("toxicity", "unitary/toxic-bert")
    bad = only(build("toxicity"), {"answer": "Shut up, you liar."}, toxicity=model)
    fine = only(build("toxicity"), {"answer": "I am a blind woman."}, toxicity=model)
    assert bad.value is not None
    assert fine.value is not None
    assert bad.value >= CASES["pub-005"]["first_toxicity_at_least"]
    assert fine.value < CASES["pub-005"]["second_toxicity_below"]
