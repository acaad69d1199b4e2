"""Vectara's HHEM 2: a T5 encoder that says whether a premise bears out a hypothesis.

The model comes with code of its own, which would have to be trusted; what that code does is few
lines, and they stand here. Source: the model's card and `modeling_hhem_v2.py` on the hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.engines.local.device import (
    batch_by_length,
    batch_size,
    select_device,
    silence_transformers,
)
from evaluators.engines.local.download import download
from evaluators.engines.local.weights import locate
from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Pair

TYPE = "HHEMv2"
_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {text1}\n\nHypothesis: {text2}"
)
_FOUNDATION = "google/flan-t5-base"
_TOKENS = 16_384
_PREFIX = "t5."
_TIED = "transformer.encoder.embed_tokens.weight"


class Hhem:
    """A loaded model; T5 knows no window, so nothing is cut."""

    truncated_count = 0

    def __init__(self, model: Any, tokenizer: Any, batch: int, prompt: str) -> None:
        """Take a model that is on its device."""
        self._model = model
        self._tokenizer = tokenizer
        self._batch = batch
        self._prompt = prompt

    def compute(self, requests: Sequence[Pair]) -> Iterator[tuple[int, Mapping[str, float]]]:
        """The probability, read at the first token, that the first text bears out the second."""
        import torch

        texts = [self._prompt.format(text1=each.first, text2=each.second) for each in requests]
        encoded = self._tokenizer(texts, verbose=False)
        lengths = [len(ids) for ids in encoded["input_ids"]]
        for places in batch_by_length(lengths, self._batch, _TOKENS):
            rows = {name: [column[place] for place in places] for name, column in encoded.items()}
            padded = self._tokenizer.pad(rows, return_tensors="pt").to(self._model.device)
            with torch.inference_mode():
                logits = self._model(**padded).logits[:, 0, :].cpu().double()
            for place, score in zip(places, logits.softmax(-1)[:, 1].tolist(), strict=True):
                yield place, {"score": score}


def load(folder: Path, config: Mapping[str, Any], options: Options) -> Hhem:
    """Load the model of a folder, with the configuration and tokenizer of its foundation.

    Raises:
        Unavailable: The foundation cannot be had, or the weights are those of another model.
    """
    prompt = str(config.get("prompt", _PROMPT))
    foundation = _foundation(str(config.get("foundation", _FOUNDATION)), folder, options)
    with silence_transformers():
        import torch
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification

        tokenizer = AutoTokenizer.from_pretrained(str(foundation), local_files_only=True)
        shape = AutoConfig.from_pretrained(
            str(foundation), local_files_only=True, num_labels=2, classifier_dropout=0.0
        )
        model: Any = T5ForTokenClassification(shape)
        state = {
            name.removeprefix(_PREFIX): value
            for name, value in load_file(folder / "model.safetensors").items()
        }
        missing, unexpected = model.load_state_dict(state, strict=False)
        if unexpected or set(missing) - {_TIED}:
            raise Unavailable(f"its weights are not those of HHEM 2: {[*missing, *unexpected][:4]}")
        device = select_device(options)
        model.to(device=device, dtype=getattr(torch, options.dtype)).eval()
    return Hhem(model, tokenizer, batch_size(options, device), prompt)


def _foundation(name: str, home: Path, options: Options) -> Path:
    found = locate(name, home)
    if found.folder is None:
        download(found, options)
        found = locate(name, home)
    if found.folder is None:
        raise Unavailable(f"its foundation {name} cannot be had")
    return found.folder
