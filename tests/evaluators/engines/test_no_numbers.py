"""A model that gives NaN: its answer is a reason, and is not cached."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.engines.cache_store import FILE
from evaluators.engines.echo_logprobs import Echo
from evaluators.engines.models import ModelSettings, build_models
from evaluators.flows.requests import Classify, Likelihood, Pair
from evaluators.outcome import JudgeError, Undefined
from tests.support.scripted_models import only

if TYPE_CHECKING:
    from pathlib import Path

    from evaluators.flows.requests import Request

TEXT = "the cat sat on the mat ."


def spoilt(tiny_models: Path, name: str, home: Path) -> None:
    """Copy a tiny model whose last layer is NaN, as one whose numbers grew beyond their type."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny_models / name, home / name)
    file = home / name / "model.safetensors"
    weights = load_file(file)
    for each, tensor in weights.items():
        if each.startswith(("classifier", "transformer.ln_f")):
            weights[each] = tensor.fill_(float("nan"))
    save_file(weights, file, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("role", "name", "asked"),
    [
        ("language_model", "gpt2", Likelihood("", TEXT)),
        ("toxicity", "toxic", Classify(TEXT, "toxicity")),
        ("similarity", "cross", Pair(TEXT, TEXT, "similarity")),
    ],
)
def test_it_gives_a_reason(
    tiny_models: Path, tmp_path: Path, role: str, name: str, asked: Request
) -> None:
    spoilt(tiny_models, name, tmp_path)
    choices = ModelSettings(names={role: name}, home=tmp_path, store=tmp_path / "store")
    model: Any = build_models(choices)[0][role]
    (found,) = model.answer([asked])
    assert isinstance(found, Undefined)
    assert "not a number" in found.reason
    with closing(sqlite3.connect(tmp_path / "store" / FILE)) as kept:
        assert kept.execute("SELECT count(*) FROM answers").fetchone() == (0,)


def test_it_is_not_the_best_perplexity(tiny_models: Path, tmp_path: Path) -> None:
    spoilt(tiny_models, "gpt2", tmp_path)
    choices = ModelSettings(names={"language_model": "gpt2"}, home=tmp_path)
    model = build_models(choices)[0]["language_model"]
    found = only(build("perplexity"), {"answer": TEXT}, language_model=model)
    assert (found.value, found.status) == (None, "undefined")


@pytest.mark.parametrize("value", [float("nan"), 0.5])
def test_a_server_that_gives_no_log_probability_is_not_believed(value: float) -> None:
    echo = Echo(["The", " cat", " sat"], [None, value, -1.0], [0, 3, 7])
    assert echo.scored("The cat", " sat") == [-1.0]
    with pytest.raises(JudgeError, match="above 0, or none"):
        echo.scored("The", " cat sat")
