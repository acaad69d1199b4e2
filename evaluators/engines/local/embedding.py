"""Embedding models: texts to vectors, by sentence-transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evaluators.engines.local.device import batch_size, select_device, silence_transformers
from evaluators.engines.roles import ModelKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from sentence_transformers import SentenceTransformer

    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Embed

_BATCHES_AT_ONCE = 16
"""Batches between two progress reports."""


class Encoder:
    """A loaded sentence-transformers model."""

    def __init__(self, model: SentenceTransformer, batch: int) -> None:
        """Wrap a model that is on its device."""
        self.truncated_count = 0
        self._model = model
        self._batch = batch

    def compute(self, requests: Sequence[Embed]) -> Iterator[tuple[int, np.ndarray[Any, Any]]]:
        """Compute a float32 vector of length 1 for each text; 0 for a blank one.

        The longest texts go first: texts of a batch then need little padding, and running out of
        memory shows at once.
        """
        import torch

        texts = [request.text for request in requests]
        order = sorted(range(len(texts)), key=lambda position: len(texts[position]), reverse=True)
        non_blank = [position for position in order if texts[position].strip()]
        size = self._batch * _BATCHES_AT_ONCE
        for start in range(0, len(non_blank), size):
            positions = non_blank[start : start + size]
            batch_texts = [texts[position] for position in positions]
            vectors = self._model.encode(
                batch_texts,
                batch_size=self._batch,
                show_progress_bar=False,
                convert_to_tensor=True,
            )
            # In half precision, a vector would have a length of 1 within 0.0005 only.
            unit = torch.nn.functional.normalize(vectors.float(), p=2, dim=1)
            self.truncated_count += self._count_truncated(batch_texts)
            yield from zip(positions, unit.cpu().numpy(), strict=True)
        if len(non_blank) < len(texts):
            zero = np.zeros(self._width(), dtype=np.float32)
            yield from ((position, zero) for position in order if not texts[position].strip())

    def _width(self) -> int:
        width = self._model.get_embedding_dimension()
        return len(self._model.encode("a")) if width is None else int(width)

    def _count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that exceed the model's window."""
        window = self._model.max_seq_length
        # A token is at least one character long.
        long = [text for text in texts if window is not None and len(text) > window - 2]
        if not long or window is None:
            return 0
        tokens = self._model.tokenizer(long, truncation=False, verbose=False)["input_ids"]
        return sum(len(each) > window for each in tokens)


def load(folder: Path, options: Options) -> Encoder:
    """Load the model from a folder; code in the folder is not run."""
    with silence_transformers():
        import torch
        from sentence_transformers import SentenceTransformer

        device = select_device(options)
        model = SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"dtype": getattr(torch, options.dtype)},
        )
        model.eval()
    return Encoder(model, batch_size(options, device))


def _check(_: Mapping[str, Any], __: Path) -> None:
    """Accept every model: for a plain transformer, sentence-transformers pools by the mean."""


def _unpacked(content: bytes) -> np.ndarray[Any, Any]:
    return np.frombuffer(content, dtype=np.float32)


EMBEDDING_MODEL = ModelKind(
    form="vector",
    packages=("sentence_transformers", "torch"),
    check=_check,
    load=load,
    pack=lambda vector: vector.tobytes(),
    unpack=_unpacked,
)
