"""Freshness: the digest of everything that a stage is made from, so that equal means done."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from assets.fingerprints.stages import PREDICTIONS, QUESTIONS, scores
from evaluators.kinds.composite import CompositeEvaluator
from warehouse.formats.paths import expand

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

_FOLD_VERSION = 2
"""Raised when leaderboards are folded in another way from the same scores."""


def digest_of(*parts: object) -> str:
    """One short text for any number of parts; equal only for equal parts in the same order."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def scores_digest(evaluator: Evaluator, marks: Mapping[str, str]) -> str:
    """What an evaluator's scores of one benchmark are made from.

    Args:
        evaluator: The evaluator, with its parameters.
        marks: The benchmark's marks, of which those of questions and predictions count, and for a
            composite those of its parts.
    """
    stages = [QUESTIONS, PREDICTIONS]
    if isinstance(evaluator, CompositeEvaluator):
        stages += sorted({scores(part.partition(".")[0]) for part in evaluator.parts})
    inputs = [marks.get(stage) for stage in stages]
    return digest_of(inputs, evaluator.signature)


def leaderboard_digest(benchmark: Benchmark, marks: Mapping[str, str]) -> str:
    """What a benchmark's leaderboard is made from: its scores and how they are to be read."""
    made = {
        evaluator.name: [evaluator.signature, marks.get(scores(evaluator.name))]
        for evaluator in benchmark.evaluators
    }
    reading = [
        *(benchmark.slices, benchmark.cluster, dict(benchmark.thresholds)),
        benchmark.intervals,
    ]
    return digest_of(_FOLD_VERSION, made, reading)


def files(pattern: Path | None) -> list[Path]:
    """The files that a pattern stands for; none for no pattern.

    Raises:
        InputError: A pattern that no file matches.
    """
    return [] if pattern is None else [path for path, _ in expand(pattern)]
