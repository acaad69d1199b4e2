"""Vectara's HHEM 2: a T5 encoder that scores whether a premise supports a hypothesis.

The model on the hub needs its own code, which you would have to trust; this module reimplements
it. Source: the model card and `modeling_hhem_v2.py` on the hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.engines.local.device import (
    batch_logits,
    batch_size,
    select_device,
    silence_transformers,
)
from evaluators.engines.local.download import locate_or_download
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
_BASE_MODEL = "google/flan-t5-base"
_PREFIX = "t5."
_TIED = "transformer.encoder.embed_tokens.weight"


class Hhem:
    """A loaded model; T5 has no window, so no text is cut."""

    truncated_count = 0

    def __init__(self, model: Any, tokenizer: Any, batch: int, prompt: str) -> None:
        """Wrap a model that is on its device."""
        self._model = model
        self._tokenizer = tokenizer
        self._batch = batch
        self._prompt = prompt

    def compute(self, requests: Sequence[Pair]) -> Iterator[tuple[int, Mapping[str, float]]]:
        """Compute the probability (at the first token) that the first text supports the second."""
        texts = [self._prompt.format(text1=each.first, text2=each.second) for each in requests]
        encoded = self._tokenizer(texts, verbose=False)
        for positions, logits in batch_logits(self._model, self._tokenizer, encoded, self._batch):
            scores = logits[:, 0, :].cpu().double().softmax(-1)[:, 1].tolist()
            for position, score in zip(positions, scores, strict=True):
                yield position, {"score": score}


def load(folder: Path, config: Mapping[str, Any], options: Options) -> Hhem:
    """Load the model from a folder, with the configuration and tokenizer of its base model.

    Raises:
        Unavailable: The base model is missing, or the weights are those of another model.
    """
    prompt = str(config.get("prompt", _PROMPT))
    foundation = str(config.get("foundation", _BASE_MODEL))
    base_model, _ = locate_or_download(foundation, folder, options)
    with silence_transformers():
        import torch
        from safetensors.torch import load_file
        from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification

        tokenizer = AutoTokenizer.from_pretrained(str(base_model), local_files_only=True)
        shape = AutoConfig.from_pretrained(
            str(base_model), local_files_only=True, num_labels=2, classifier_dropout=0.0
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
