"""Labellers: worked values, activations, and checkpoints that are read but never run."""

from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.catalog import build
from evaluators.errors import Unavailable
from evaluators.flows.requests import Classify
from tests.support.golden_cases import golden
from tests.support.scripted_models import graded, only
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = takes_minutes

TINY = golden("tiny_models")
TOXIC = TINY["models"]["toxicity"]
BIAS = TINY["models"]["fairness_bias"]["cases"]
TOLERANCE = TINY["tolerance"]
TEXTS = ["the cat sat", "you are a bad person . you are !", "", "paris"]


def test_golden_toxicity(engine: Callable[..., Any]) -> None:
    row = {"answer": " ".join(TOXIC["sentences"])}
    found, _ = graded(build("toxicity"), row, toxicity=engine("toxicity", "toxic"))
    values = {name: outcome.value for name, outcome in found.items()}
    assert values == pytest.approx(TOXIC["expected_max"], abs=TOLERANCE)


@pytest.mark.parametrize("case", BIAS, ids=lambda case: case["text"])
def test_golden_bias(case: dict[str, Any], engine: Callable[..., Any]) -> None:
    model = engine("fairness_bias", "bias")
    found, _ = graded(build("fairness_bias"), {"answer": case["text"]}, fairness_bias=model)
    values = [outcome.value for outcome in found.values()]
    assert values == pytest.approx([case["p_biased"], case["h2o_score"]], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("name", "several"), [("toxic", True), ("undeclared", True), ("xlm", False), ("bias", False)]
)
def test_a_plain_forward_pass_gives_the_same(
    name: str, several: bool, engine: Callable[..., Any], tiny_models: Path
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_models / name)
    model: Any = AutoModelForSequenceClassification.from_pretrained(tiny_models / name).eval()
    answers = engine("toxicity", name, batch_size=3).answer([Classify(t, "x") for t in TEXTS])
    for text, answer in zip(TEXTS, answers, strict=True):
        with torch.no_grad():
            logits = model(**tokenizer(text, return_tensors="pt")).logits[0]
        expected = logits.sigmoid() if several else logits.softmax(-1)
        assert list(answer.values()) == pytest.approx(expected.tolist(), abs=1e-5)


def test_a_text_longer_than_the_window_is_cut_and_that_is_said(
    engine: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    long = "the cat sat on the mat . " * 10
    model = engine("toxicity", "xlm")
    cut, same = model.answer([Classify(long, "x"), Classify(long + "nice", "x")])
    assert cut == pytest.approx(same, abs=1e-6)
    assert "2 of 2 texts exceeded the model" in caplog.text


def _checkpoint(home: Path, folder: Path, content: Callable[[Any], Any]) -> None:
    """A folder as for Detoxify: configuration and tokenizer, and a pickled file of weights."""
    import torch
    from safetensors.torch import load_file

    for file in (home / "toxic").iterdir():
        if file.suffix != ".safetensors":
            shutil.copy(file, folder)
    state = load_file(home / "toxic" / "model.safetensors")
    torch.save(content(state), folder / "toxic_original.ckpt")


def test_detoxifys_checkpoint_gives_what_its_weights_give(
    engine: Callable[..., Any], tiny_models: Path, tmp_path: Path
) -> None:
    classes = ["toxicity", "severe_toxicity", "obscene", "threat", "insult", "identity_attack"]
    config = {"dataset": {"args": {"classes": classes}}}
    _checkpoint(tiny_models, tmp_path, lambda state: {"config": config, "state_dict": state})
    asked = [Classify(text, "x") for text in TEXTS]
    found = engine("toxicity", str(tmp_path)).answer(asked)
    plain = engine("toxicity", "toxic").answer(asked)
    assert list(found[0]) == classes
    assert [list(each.values()) for each in found] == [
        pytest.approx(list(each.values()), abs=1e-6) for each in plain
    ]


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, (str(self.file), "w"))


@pytest.mark.parametrize("name", ["toxic_original.ckpt", "pytorch_model.bin"])
def test_nothing_in_a_pickled_file_is_run(
    name: str, engine: Callable[..., Any], tiny_models: Path, tmp_path: Path
) -> None:
    sprung = tmp_path / "sprung"
    folder = tmp_path / "model"
    folder.mkdir()
    _checkpoint(tiny_models, folder, lambda _: {"state_dict": Trap(sprung)})
    (folder / "toxic_original.ckpt").rename(folder / name)
    model = engine("toxicity", str(folder))
    found = only(build("toxicity"), {"answer": "Nice day."}, toxicity=model)
    assert found.status == "not_applicable"
    assert "cannot be loaded" in (found.reason or "")
    with pytest.raises(Unavailable):
        model.answer([Classify("a", "x")])
    assert not sprung.exists()
    # The trap does work where it is unpickled.
    pickle.loads(pickle.dumps(Trap(sprung))).close()  # noqa: S301
    assert sprung.exists()
