"""Causal language models: log-probabilities of the tokens of a text, by transformers."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from evaluators.engines.local.classifier import context_length
from evaluators.engines.local.device import (
    batch_by_length,
    batch_size,
    select_device,
    silence_transformers,
)
from evaluators.engines.local.token_windows import WindowSplitter, pad_right
from evaluators.engines.roles import ModelKind
from evaluators.errors import Unavailable
from evaluators.flows.protocols import TokenLikelihood
from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.local.token_windows import Span, Window
    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Likelihood
    from evaluators.outcome import Unscored

_MAX_LOGITS = 50_000_000
"""The most logits in a batch, 200 MB in float32."""
_MAX_WINDOW = 8_192
"""The longest window in tokens, even if the model supports more."""


class CausalLm:
    """A loaded causal model."""

    def __init__(self, model: Any, splitter: WindowSplitter, batch: int) -> None:
        """Wrap a model that is on its device."""
        self.truncated_count = 0
        self._model = model
        self._splitter = splitter
        self._batch = batch

    def compute(
        self, requests: Sequence[Likelihood]
    ) -> Iterator[tuple[int, TokenLikelihood | Unscored]]:
        """Compute the natural log-probability of each token of each continuation."""
        spans: dict[int, Span] = {}
        for position, request in enumerate(requests):
            try:
                spans[position] = self._splitter.split(request)
            except Undefined as reason:
                yield position, reason
        queue = [
            (position, at) for position, span in spans.items() for at in range(len(span.windows))
        ]
        found: dict[int, dict[int, list[float]]] = {position: {} for position in spans}
        windows = [spans[position].windows[at] for position, at in queue]
        most = _MAX_LOGITS // self._model.config.vocab_size
        for chosen in batch_by_length([len(window.ids) for window in windows], self._batch, most):
            scored = self._scored([windows[one] for one in chosen])
            for (position, at), logprobs in zip(
                (queue[one] for one in chosen), scored, strict=True
            ):
                found[position][at] = logprobs
                if len(found[position]) == len(spans[position].windows):
                    parts = found.pop(position)
                    joined = [value for part in sorted(parts) for value in parts[part]]
                    self.truncated_count += spans[position].truncated
                    yield position, TokenLikelihood(joined, spans[position].truncated)

    def _scored(self, windows: Sequence[Window]) -> list[list[float]]:
        """Compute the log-probabilities of the scored tokens of each window."""
        import torch

        ids, mask = pad_right([window.ids for window in windows])
        device = self._model.device
        with torch.inference_mode():
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
            losses = torch.nn.functional.cross_entropy(
                logits[:, :-1].float().flatten(0, 1),
                ids[:, 1:].to(device).flatten(),
                reduction="none",
            )
        rows = (-losses).view(len(windows), -1).cpu().tolist()
        return [
            row[window.scored - 1 : len(window.ids) - 1]
            for row, window in zip(rows, windows, strict=True)
        ]


def load_with_tokenizer(folder: Path, options: Options) -> tuple[Any, Any, int]:
    """Return a model on its device, its tokenizer, and its window in tokens.

    Code in the folder is not run.

    Raises:
        Unavailable: The tokenizer gives no offsets.
    """
    with silence_transformers():
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        model: Any = AutoModelForCausalLM.from_pretrained(
            str(folder), local_files_only=True, dtype=getattr(torch, options.dtype)
        )
    if not tokenizer.is_fast:
        raise Unavailable("its tokenizer gives no offsets of tokens (it is not a fast tokenizer)")
    model.to(select_device(options)).eval()
    window = min(context_length(model.config.to_dict(), tokenizer.model_max_length), _MAX_WINDOW)
    return model, tokenizer, window


def load(folder: Path, options: Options) -> CausalLm:
    """Load the model from a folder; code in the folder is not run."""
    model, tokenizer, window = load_with_tokenizer(folder, options)
    batch = batch_size(options, select_device(options))
    return CausalLm(model, WindowSplitter(tokenizer, window), batch)


def require_causal(config: Mapping[str, Any], _: Path) -> None:
    """Raise `Unavailable` for a model with an encoder."""
    if config.get("is_encoder_decoder"):
        raise Unavailable("it reads and writes separately; expected a causal language model")


def pack(answer: TokenLikelihood) -> bytes:
    """Convert an answer to a flag and float32 log-probabilities."""
    values = np.asarray(answer.logprobs, dtype=np.float32)
    return struct.pack("?", answer.truncated) + values.tobytes()


def unpack(content: bytes) -> TokenLikelihood:
    """Reverse `pack`."""
    (truncated,) = struct.unpack("?", content[:1])
    return TokenLikelihood(np.frombuffer(content[1:], dtype=np.float32).tolist(), truncated)


CAUSAL_LM = ModelKind(
    form="likelihood",
    packages=("transformers", "torch"),
    check=require_causal,
    load=load,
    pack=pack,
    unpack=unpack,
)
