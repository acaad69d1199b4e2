"""Cross-encoders: how two texts relate, by similarity and entailment models."""

from __future__ import annotations

import json
import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaluators.engines.local import classifier, hhem
from evaluators.engines.roles import ModelKind
from evaluators.errors import Unavailable
from evaluators.outcome import Undefined

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.local.classifier import Classifier
    from evaluators.engines.roles import LoadedModel, Options
    from evaluators.flows.requests import Pair
    from evaluators.outcome import Unscored

_LABEL_ALIASES = MappingProxyType(
    {
        "entail": "entailment",
        "supports": "entailment",
        "contradict": "contradiction",
        "refutes": "contradiction",
        "not enough info": "neutral",
    }
)
"""Other names of the three entailment labels."""
_EXTRA_TOKENS = 5
"""Tokens besides the second text: separators, and one of the first text."""


class CrossEncoder:
    """A loaded cross-encoder.

    One logit becomes `score` by the logistic function, whatever activation the model's card names;
    several become probabilities by label.
    """

    def __init__(self, model: Classifier, labels: Sequence[str]) -> None:
        """Wrap a classifier and the labels of its logits."""
        self._model = model
        self._labels = labels

    @property
    def truncated_count(self) -> int:
        """The number of pairs whose first text was cut."""
        return self._model.truncated_count

    def compute(
        self, requests: Sequence[Pair]
    ) -> Iterator[tuple[int, Mapping[str, float] | Unscored]]:
        """Compute the probability of each label for each pair."""
        too_long = self._model.too_long([request.second for request in requests], _EXTRA_TOKENS)
        fitting = [position for position, exceeds in enumerate(too_long) if not exceeds]
        for position in (position for position, exceeds in enumerate(too_long) if exceeds):
            yield (
                position,
                Undefined(f"a text exceeds the model's {self._model.window} tokens", of_run=True),
            )
        if fitting:
            answered = self._model.logits(
                [requests[position].first for position in fitting],
                [requests[position].second for position in fitting],
            )
            for at, values in answered:
                found = [logistic(values[0])] if len(values) == 1 else softmax(values)
                yield fitting[at], dict(zip(self._labels, found, strict=True))


def cross_encoder_kind(wanted: frozenset[str]) -> ModelKind:
    """Return the kind of cross-encoders that have at least one of the wanted labels."""

    def check(config: Mapping[str, Any], _: Path) -> None:
        if config.get("model_type") == hhem.TYPE:
            labels = ["score"]
        else:
            labels = [_LABEL_ALIASES.get(label, label) for label in classifier.label_names(config)]
        if not wanted & set(labels):
            raise Unavailable(
                f"its labels are {labels}; expected a model with {' or '.join(sorted(wanted))}"
            )

    return ModelKind(
        form="pairs",
        packages=("transformers", "torch"),
        check=check,
        load=load,
        pack=lambda answer: json.dumps(answer).encode(),
        unpack=json.loads,
    )


def load(folder: Path, options: Options) -> LoadedModel:
    """Load the cross-encoder from a folder."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config.get("model_type") == hhem.TYPE:
        return hhem.load(folder, config, options)
    labels = [_LABEL_ALIASES.get(label, label) for label in classifier.label_names(config)]
    return CrossEncoder(classifier.load(folder, options), labels)


def logistic(logit: float) -> float:
    """1 / (1 + e^-x), without overflow."""
    if logit >= 0:
        return 1 / (1 + math.exp(-logit))
    power = math.exp(logit)
    return power / (1 + power)


def softmax(logits: Sequence[float]) -> list[float]:
    """e^x of each over their sum."""
    highest = max(logits)
    powers = [math.exp(logit - highest) for logit in logits]
    return [power / sum(powers) for power in powers]
