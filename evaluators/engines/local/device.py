"""Devices and batches: where models run, and how many texts at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.engines.roles import Options

_TOKENS = 16_384
"""The most tokens in a batch; this bounds the memory for long texts."""


def select_device(options: Options) -> str:
    """Return the configured device; for `auto`, a GPU if there is one.

    Raises:
        Unavailable: PyTorch does not find the configured GPU.
    """
    import torch

    if options.device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    family, _, number = options.device.partition(":")
    count = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if int(number or 0) >= count.get(family, 1):
        raise Unavailable(
            f"models.device is {options.device}, but PyTorch {torch.__version__} finds "
            f"{count[family]} {family} devices"
        )
    return options.device


def batch_size(options: Options, device: str) -> int:
    """Return the number of texts per batch."""
    if options.batch_size is not None:
        return options.batch_size
    return 32 if device == "cpu" else 256


def batch_by_length(lengths: Sequence[int], most: int, tokens: int) -> Iterator[list[int]]:
    """Split texts into batches of similar length, the longest first.

    Args:
        lengths: The length of each text in tokens.
        most: The most texts per batch.
        tokens: The most tokens per batch, padding included; a longer text gets its own batch.

    Yields:
        The positions of the texts of a batch.
    """
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True):
        width = max(1, lengths[batch[0]]) if batch else 0
        if batch and (len(batch) >= most or (len(batch) + 1) * width > tokens):
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def batch_logits(
    model: Any, tokenizer: Any, encoded: Any, most: int
) -> Iterator[tuple[list[int], Any]]:
    """Run a model on tokenized texts, batch by batch.

    Args:
        model: A model that is on its device.
        tokenizer: Its tokenizer, which pads the batches.
        encoded: The tokenized texts.
        most: The most texts per batch.

    Yields:
        The positions of the texts of a batch, and their logits.
    """
    import torch

    lengths = [len(ids) for ids in encoded["input_ids"]]
    for positions in batch_by_length(lengths, most, _TOKENS):
        rows = {
            name: [column[position] for position in positions] for name, column in encoded.items()
        }
        padded = tokenizer.pad(rows, return_tensors="pt").to(model.device)
        with torch.inference_mode():
            logits = model(**padded).logits
        yield positions, logits


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Suppress the progress bars and reports of transformers while it loads a model."""
    import transformers.utils

    logging: Any = transformers.utils.logging
    bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
