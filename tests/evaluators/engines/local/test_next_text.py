"""Next texts: a plain forward pass as the oracle, batches, spellings, templates and windows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from evaluators.engines.cache import AnswerCache, LruCache
from evaluators.engines.local.engine import LocalModel
from evaluators.engines.local.next_text import NEXT_TEXT, NextText
from evaluators.engines.roles import Options
from evaluators.errors import Unavailable
from evaluators.outcome import Undefined
from tests.evaluators.engines.local import tiny
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = takes_minutes

LETTERS = tuple((letter, f" {letter}") for letter in "ABCDEF")
TEMPLATE = (
    "{% for each in messages %}<{{ each.role }}>{{ each.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
PROMPTS = [
    "Question: What is the capital of France?\n(A) Paris\n(B) London\nAnswer:",
    "Answer:",
    "x" * 300,
    "Question: é 東 \U0001f600?\nAnswer:",
]
FAMILIES = ("gpt2", "llama")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    home = tmp_path_factory.mktemp("lettered")
    with tiny.silently():
        for family in FAMILIES:
            tiny.lettered(home / family, family)
        tiny.lettered(home / "chat", "llama", template=TEMPLATE)
        tiny.causal(home / "words")
    return home


def model(folder: Path, **options: Any) -> LocalModel:
    chosen = Options(device="cpu", offline=True, **options)
    cache = AnswerCache(LruCache(1_000_000))
    return LocalModel("m", str(folder), NEXT_TEXT, folder.parent, chosen, cache, {})


def asking(*prompts: str) -> list[NextText]:
    return [NextText((("user", prompt),), LETTERS) for prompt in prompts]


def direct(folder: Path, text: str) -> dict[str, float]:
    """The log-probability of each token of the vocabulary as the next, by a plain forward pass."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    network: Any = AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        last = network(input_ids=ids).logits[0, -1].double().log_softmax(dim=0)
    return {token: float(last[number]) for token, number in tokenizer.get_vocab().items()}


def both(distribution: dict[str, float], letter: str) -> float:
    return math.log(math.exp(distribution[letter]) + math.exp(distribution[f"\u0120{letter}"]))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_forward_pass_gives_the_sum_of_both_tokens(family: str, folder: Path) -> None:
    for prompt, found in zip(PROMPTS, model(folder / family).answer(asking(*PROMPTS)), strict=True):
        distribution = direct(folder / family, prompt)
        expected = [both(distribution, letter) for letter in "ABCDEF"]
        assert found == pytest.approx(expected, abs=1e-5)
        assert len({round(value, 6) for value in found}) == 6


@pytest.mark.parametrize("family", FAMILIES)
def test_batches_padding_and_order_change_nothing(family: str, folder: Path) -> None:
    singly = [model(folder / family, batch_size=1).answer([each])[0] for each in asking(*PROMPTS)]
    for order in (PROMPTS, PROMPTS[::-1]):
        found = dict(zip(order, model(folder / family).answer(asking(*order)), strict=True))
        for prompt, expected in zip(PROMPTS, singly, strict=True):
            assert found[prompt] == pytest.approx(expected, abs=1e-5)


def test_a_chat_template_frames_the_prompt(folder: Path) -> None:
    (found,) = model(folder / "chat").answer(asking("Answer:"))
    distribution = direct(folder / "chat", "<user>Answer:\n<assistant>")
    assert found == pytest.approx([both(distribution, letter) for letter in "ABCDEF"], abs=1e-5)


def test_spellings_without_a_token_are_sequences(folder: Path) -> None:
    """`xy` is no token: its probability is that of x times that of y behind x."""
    (found,) = model(folder / "gpt2").answer(
        [NextText((("user", "Answer:"),), (("xy", " xy"), ("A", " A")))]
    )
    first, behind_x = (direct(folder / "gpt2", text) for text in ("Answer:", "Answer:x"))
    space, behind = direct(folder / "gpt2", "Answer: "), direct(folder / "gpt2", "Answer: x")
    plain = first["x"] + behind_x["y"]
    spaced = first["\u0120"] + space["x"] + behind["y"]
    expected = math.log(math.exp(plain) + math.exp(spaced))
    assert found == pytest.approx([expected, both(first, "A")], abs=1e-5)


def test_spellings_with_equal_tokens_count_once(folder: Path) -> None:
    """A tokenizer without spaces and cases writes ` The` and `The` alike."""
    (found,) = model(folder / "words").answer(
        [NextText((("user", "you are a"),), (("The", " The"), ("the",)))]
    )
    assert found[0] == found[1] == pytest.approx(direct(folder / "words", "you are a")["the"])


def test_a_letter_that_the_tokenizer_cannot_write(folder: Path) -> None:
    with pytest.raises(Unavailable, match="no tokens for 'Q'"):
        model(folder / "words").answer([NextText((("user", "you are"),), (("Q", " Q"),))])


def test_a_prompt_is_never_cut(folder: Path) -> None:
    long, empty, fine = model(folder / "gpt2").answer(asking("x" * 513, "", "x" * 512))
    assert isinstance(long, Undefined)
    assert "513 tokens, the model reads 512" in long.reason
    assert isinstance(empty, Undefined)
    assert len(fine) == 6
