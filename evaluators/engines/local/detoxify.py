"""Detoxify's checkpoints, read without running pickled code.

The Detoxify library unpickles everything. Here a folder holds the checkpoint together with
`config.json` and the tokenizer of the base model, and only tensors and plain values are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evaluators.engines.local.classifier import Classifier, on_device
from evaluators.engines.local.device import silence_transformers
from evaluators.errors import Unavailable

if TYPE_CHECKING:
    from pathlib import Path

    from evaluators.engines.roles import Options


def checkpoint(folder: Path) -> Path | None:
    """Return the checkpoint in a folder without weights in another format."""
    if next(folder.glob("*.safetensors"), None) is not None:
        return None
    return next(iter(sorted(folder.glob("*.ckpt"))), None)


def load(file: Path, folder: Path, options: Options) -> tuple[list[str], Classifier]:
    """Load a checkpoint; return its labels and the classifier.

    Raises:
        Unavailable: The file contains other objects than tensors and plain values, or is not a
            checkpoint of Detoxify.
    """
    with silence_transformers():
        import pickle

        import torch
        from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

        try:
            content: Any = torch.load(file, map_location="cpu", weights_only=True)
        except pickle.UnpicklingError as error:
            raise Unavailable(
                f"{file.name} holds more than weights and is not read: {str(error)[:120]}"
            ) from error
        try:
            labels = [str(name) for name in content["config"]["dataset"]["args"]["classes"]]
            state = content["state_dict"]
        except (KeyError, TypeError) as error:
            raise Unavailable(f"{file.name} is not a checkpoint of Detoxify") from error
        tokenizer = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
        shape = AutoConfig.from_pretrained(
            str(folder), local_files_only=True, num_labels=len(labels)
        )
        made: Any = AutoModelForSequenceClassification
        model = made.from_config(shape)
        # Older checkpoints contain `position_ids`, which the model creates itself.
        given = {name: value for name, value in state.items() if "position_ids" not in name}
        model.load_state_dict(given)
        model.to(getattr(torch, options.dtype))
    return [name.lower() for name in labels], on_device(model, tokenizer, options)
