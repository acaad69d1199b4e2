"""Text classifiers: a probability for each label of a text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from evaluators.engines.local import classifier, detoxify
from evaluators.engines.local.cross_encoder import logistic, softmax
from evaluators.engines.roles import ModelKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from evaluators.engines.local.classifier import Classifier
    from evaluators.engines.roles import Options
    from evaluators.flows.requests import Classify

_MULTI_LABEL_TYPE = "multi_label_classification"
_MULTI_LABELS = frozenset(
    {"toxic", "toxicity", "severe_toxic", "severe_toxicity", "obscene", "threat", "insult"}
    | {"identity_hate", "identity_attack"}
)
"""Labels of multi-label models, whether or not the configuration says so."""


class TextClassifier:
    """A loaded text classifier."""

    def __init__(self, model: Classifier, labels: Sequence[str], *, multi_label: bool) -> None:
        """Wrap a classifier; `multi_label` says whether a text may have several labels."""
        self._model = model
        self._labels = labels
        self._multi_label = multi_label

    @property
    def truncated_count(self) -> int:
        """The number of texts that were cut."""
        return self._model.truncated_count

    def compute(self, requests: Sequence[Classify]) -> Iterator[tuple[int, Mapping[str, float]]]:
        """Compute the probability of each label for each text."""
        for position, values in self._model.logits([request.text for request in requests]):
            found = list(map(logistic, values)) if self._multi_label else softmax(values)
            yield position, dict(zip(self._labels, found, strict=True))


def is_multi_label(config: Mapping[str, Any]) -> bool:
    """Return whether the labels have independent probabilities.

    This depends on `problem_type`. Without it, a single label or Detoxify's labels are
    independent.
    """
    named = {str(label).lower() for label in (config.get("id2label") or {}).values()}
    kind = config.get("problem_type")
    if kind is not None:
        return bool(kind == _MULTI_LABEL_TYPE)
    return len(named) == 1 or len(named & _MULTI_LABELS) > 1


def load(folder: Path, options: Options) -> TextClassifier:
    """Load the text classifier from a folder."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    checkpoint = detoxify.checkpoint(folder)
    if checkpoint is not None:
        labels, model = detoxify.load(checkpoint, folder, options)
        return TextClassifier(model, labels, multi_label=True)
    model = classifier.load(folder, options)
    return TextClassifier(model, classifier.label_names(config), multi_label=is_multi_label(config))


def _check(config: Mapping[str, Any], folder: Path) -> None:
    if detoxify.checkpoint(folder) is None:
        classifier.label_names(config)


TEXT_CLASSIFIER = ModelKind(
    form="labels",
    packages=("transformers", "torch"),
    check=_check,
    load=load,
    pack=lambda answer: json.dumps(answer).encode(),
    unpack=json.loads,
)
