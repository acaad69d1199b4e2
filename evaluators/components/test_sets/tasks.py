"""The questions to propose: which kind, about which sentence of which document, in which order."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Final

from evaluators.components.test_sets.proposals import Task

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from evaluators.components.test_sets.kinds import Kind

MAX_CHARACTERS: Final = 60_000
"""Longer documents do not fit into the window of many models."""

MIN_CHARACTERS: Final = 20
"""Shorter sentences are headings and the like; nothing is asked about them if there are others."""


def tasks(documents: Mapping[str, Mapping[str, str]], kind: Kind, seed: int) -> Iterator[Task]:
    """Yield the questions of one kind to propose.

    Each sentence of each document is the focus once. All documents come before the second sentence
    of one of them. The order follows from the seed and from ids alone: a new document does not
    change that of the others.

    Args:
        documents: The sentences by id, by document.
        kind: The kind of question. One that needs several sentences skips other documents.
        seed: The seed.
    """
    focuses = {
        name: _focuses(name, sentences, kind, seed)
        for name, sentences in documents.items()
        if kind != "multi_hop" or len(sentences) > 1
    }
    order = sorted(focuses, key=lambda name: _draw(seed, name))
    for number in range(max(map(len, focuses.values()), default=0)):
        for name in order:
            if number < len(focuses[name]):
                yield Task(kind, name, documents[name], focuses[name][number])


def _focuses(name: str, sentences: Mapping[str, str], kind: Kind, seed: int) -> list[str]:
    """Return the sentences to ask about, in the order of their draws."""
    long = [each for each, text in sentences.items() if len(text.strip()) >= MIN_CHARACTERS]
    return sorted(long or sentences, key=lambda each: _draw(seed, kind, name, each))


def _draw(*key: str | int) -> str:
    return hashlib.sha256(json.dumps(key).encode()).hexdigest()
