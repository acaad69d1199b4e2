"""Sequence classifiers: texts or pairs of texts to logits, by transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.engines.local.device import (
    batch_logits,
    batch_size,
    select_device,
    silence_transformers,
)
from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.roles import Options

_NO_LIMIT = 1_000_000
"""A tokenizer without a limit reports a number far above this."""


class Classifier:
    """A loaded model with a classification head."""

    def __init__(self, model: Any, tokenizer: Any, batch: int, window: int) -> None:
        """Wrap a model that is on its device and reads `window` tokens."""
        self.truncated_count = 0
        self.window = window
        self._model = model
        self._tokenizer = tokenizer
        self._batch = batch

    def logits(
        self, firsts: Sequence[str], seconds: Sequence[str] | None = None
    ) -> Iterator[tuple[int, list[float]]]:
        """Compute the float32 logits of each text or pair of texts, batch by batch.

        Texts are cut to the window; of a pair, only the first text is cut.
        """
        if seconds is None:
            encoded = self._tokenizer(list(firsts), truncation=True, max_length=self.window)
        else:
            encoded = self._tokenizer(
                list(firsts), list(seconds), truncation="only_first", max_length=self.window
            )
        self.truncated_count += sum(len(ids) >= self.window for ids in encoded["input_ids"])
        for positions, logits in batch_logits(self._model, self._tokenizer, encoded, self._batch):
            yield from zip(positions, logits.float().cpu().tolist(), strict=True)

    def too_long(self, texts: Sequence[str], extra: int) -> list[bool]:
        """Return whether each text, with `extra` further tokens, exceeds the window."""
        # A token is at least one character long.
        long = [position for position, text in enumerate(texts) if len(text) + extra > self.window]
        found = [False] * len(texts)
        if long:
            encoded = self._tokenizer(
                [texts[position] for position in long], add_special_tokens=False, verbose=False
            )
            for position, ids in zip(long, encoded["input_ids"], strict=True):
                found[position] = len(ids) + extra > self.window
        return found


def load(folder: Path, options: Options) -> Classifier:
    """Load a model with a classification head; code in the folder is not run."""
    with silence_transformers():
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        model = AutoModelForSequenceClassification.from_pretrained(
            str(folder), local_files_only=True, dtype=getattr(torch, options.dtype)
        )
    return on_device(model, tokenizer, options)


def on_device(model: Any, tokenizer: Any, options: Options) -> Classifier:
    """Move a loaded model to its device."""
    device = select_device(options)
    model.to(device).eval()
    window = context_length(model.config.to_dict(), tokenizer.model_max_length)
    return Classifier(model, tokenizer, batch_size(options, device), window)


def context_length(config: Mapping[str, Any], tokenizer_limit: float) -> int:
    """Return the most tokens that a model reads.

    Raises:
        Unavailable: Neither the configuration nor the tokenizer says.
    """
    limits = [int(tokenizer_limit)] if tokenizer_limit < _NO_LIMIT else []
    positions = config.get("n_positions") or config.get("max_position_embeddings")
    if positions and config.get("model_type") != "t5":
        # RoBERTa models count positions from the padding token's position plus one.
        is_roberta = "roberta" in str(config.get("model_type", ""))
        shift = (config.get("pad_token_id") or 0) + 1 if is_roberta else 0
        limits.append(int(positions) - shift)
    if not limits:
        raise Unavailable("neither config.json nor the tokenizer says how many tokens it reads")
    return min(limits)


def label_names(config: Mapping[str, Any]) -> list[str]:
    """Return the labels in the order of the logits, in lower case; `score` for a single one.

    Raises:
        Unavailable: The configuration does not name the labels.
    """
    named = config.get("id2label")
    if not isinstance(named, dict):
        raise Unavailable("config.json names no labels (id2label)")
    labels = [str(named[key]).strip().lower() for key in sorted(named, key=int)]
    if len(labels) == 1:
        return ["score"]
    if any(label.startswith("label_") for label in labels):
        raise Unavailable(f"config.json does not say what its labels mean (id2label: {labels})")
    return labels
