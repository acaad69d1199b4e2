"""Freshness: the digest of everything that a stage is made from, so that equal means done."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from assets.keys import scores_stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator

QUESTIONS_STAGE = "questions"
PREDICTIONS_STAGE = "predictions"
LEADERBOARD_STAGE = "leaderboard"
_FOLD_VERSION = 1
"""Raised when leaderboards are folded in another way from the same scores."""


def digest_of(*parts: object) -> str:
    """One short text for any number of parts; equal only for equal parts in the same order."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def scores_digest(evaluator: Evaluator, marks: Mapping[str, str]) -> str:
    """What an evaluator's scores of one benchmark are made from.

    Args:
        evaluator: The evaluator, with its parameters.
        marks: The benchmark's marks, of which those of questions and predictions count.
    """
    inputs = [marks.get(stage) for stage in (QUESTIONS_STAGE, PREDICTIONS_STAGE)]
    return digest_of(inputs, evaluator.signature)


def leaderboard_digest(benchmark: Benchmark, marks: Mapping[str, str]) -> str:
    """What a benchmark's leaderboard is made from: its scores and how they are to be read."""
    scores = {
        evaluator.name: [evaluator.signature, marks.get(scores_stage(evaluator.name))]
        for evaluator in benchmark.evaluators
    }
    reading = [benchmark.slices, benchmark.cluster, dict(benchmark.thresholds)]
    return digest_of(_FOLD_VERSION, scores, reading)
