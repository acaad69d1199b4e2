"""Devices: where models run, how much goes through them at once, and what they may print."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evaluators.engines.roles import Options


def select_device(options: Options) -> str:
    """The device that is configured; for `auto`, a graphics processor where there is one."""
    import torch

    if options.device != "auto":
        return options.device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def batch_size(options: Options, device: str) -> int:
    """How many texts go through the model together."""
    if options.batch_size is not None:
        return options.batch_size
    return 32 if device == "cpu" else 256


def batch_by_length(lengths: Sequence[int], most: int, tokens: int) -> Iterator[list[int]]:
    """Cut texts into batches of similar length, the longest first.

    Args:
        lengths: The length of each text in tokens.
        most: Texts that a batch may hold.
        tokens: Tokens that a batch may hold, padding included; a text that has more is alone.

    Yields:
        The places of the texts of a batch.
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda at: lengths[at], reverse=True):
        width = max(1, lengths[batch[0]]) if batch else 0
        if batch and (len(batch) >= most or (len(batch) + 1) * width > tokens):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


@contextmanager
def silence_transformers() -> Iterator[None]:
    """Keep the bars and reports that transformers prints when it loads off the terminal."""
    import transformers.utils

    logging: Any = transformers.utils.logging
    bars, loud = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(loud)
        if bars:
            logging.enable_progress_bar()
