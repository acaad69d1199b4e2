"""Stage names and fingerprints: digests of everything that a stage is computed from."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assets.project import Benchmark
    from evaluators.evaluator import Evaluator
    from systems.settings import SystemSettings

QUESTIONS = "questions"
PREDICTIONS = "predictions"
LEADERBOARD = "leaderboard"
GATES = "gates"
"""Stages, as the warehouse records their fingerprints."""

UNSETTLED = "unsettled"
"""Begins the fingerprint of scores of which some are to be tried again."""

_AGGREGATION_VERSION = 4
"""Increased when the same scores give another leaderboard."""

_GATES_VERSION = 2
"""Increased when the same scores give other verdicts."""


def scores_stage(evaluator: str) -> str:
    """Return the name of the stage that scores with one evaluator."""
    return f"scores/{evaluator}"


def answers_stage(system: str) -> str:
    """Return the name of the stage that asks one system."""
    return f"answers/{system}"


def answers_fingerprint(system: SystemSettings, questions: str | None, repeats: int) -> str:
    """Return the fingerprint of a system's answers to the questions with a fingerprint."""
    several = [repeats] if repeats > 1 else []
    return digest_of(system.name, system.digest, questions, *several)


def digest_of(*parts: object) -> str:
    """Return one digest of all parts; their order matters."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def scores_fingerprint(evaluator: Evaluator, fingerprints: Mapping[str, str]) -> str:
    """Return the fingerprint of an evaluator's scores of one benchmark.

    Args:
        evaluator: The evaluator, with its parameters.
        fingerprints: The benchmark's fingerprints by stage. Those of questions and predictions
            count, and for a composite those of its parts.
    """
    from evaluators.kinds.composite import CompositeEvaluator  # Polars

    stages = [QUESTIONS, PREDICTIONS]
    if isinstance(evaluator, CompositeEvaluator):
        stages += sorted({scores_stage(part.partition(".")[0]) for part in evaluator.parts})
    inputs = [fingerprints.get(stage) for stage in stages]
    return digest_of(inputs, evaluator.signature)


def is_out_of_date(evaluator: Evaluator, fingerprints: Mapping[str, str]) -> bool:
    """Return whether scores rest on other inputs than there are now, or on another configuration.

    Scores that are to be tried again rest on the inputs that there are.
    """
    known = fingerprints.get(scores_stage(evaluator.name), "")
    return known != scores_fingerprint(evaluator, fingerprints) and not known.startswith(UNSETTLED)


def leaderboard_fingerprint(benchmark: Benchmark, fingerprints: Mapping[str, str]) -> str:
    """Return the fingerprint of a benchmark's leaderboard: its scores and aggregation settings."""
    scores = {
        evaluator.name: [evaluator.signature, fingerprints.get(scores_stage(evaluator.name))]
        for evaluator in benchmark.evaluators
    }
    thresholds = [benchmark.default_threshold, dict(benchmark.thresholds)]
    order = [benchmark.rank_by, *(evaluator.name for evaluator in benchmark.evaluators)]
    settings = [benchmark.slices, benchmark.cluster, thresholds, benchmark.intervals, order]
    settings += benchmark.missing.settings()
    return digest_of(_AGGREGATION_VERSION, scores, settings, benchmark.statements)


def gates_fingerprint(benchmark: Benchmark, fingerprints: Mapping[str, str]) -> str:
    """Return the fingerprint of the verdicts of a benchmark's gates."""
    gates = [gate.model_dump(exclude_defaults=True) for gate in benchmark.gates]
    statements = benchmark.statements
    inputs = [fingerprints.get(stage) for stage in (QUESTIONS, PREDICTIONS, LEADERBOARD)]
    return digest_of(_GATES_VERSION, inputs, gates, statements)
