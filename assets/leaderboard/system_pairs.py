"""System metrics that compare systems with each other, and the rows of the table `pairwise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evaluators import scoring
from evaluators.statistics.pairwise.verdicts import TIE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evaluators.evaluator import Evaluator
    from evaluators.kinds.pairwise import PairedAnswers, PairwiseEvaluator

PAIRWISE_SCHEMA = {
    **dict.fromkeys(("benchmark", "evaluator", "system_a", "system_b"), pl.String),
    **dict.fromkeys(("wins_a", "wins_b", "ties", "n_judged"), pl.Int64),
    **dict.fromkeys(("n_changed", "prefers_first", "prefers_second"), pl.Int64),
    "signature": pl.String,
}


def aggregate_slices(
    evaluator: PairwiseEvaluator, by_system: Mapping[tuple[object, ...], pl.DataFrame]
) -> dict[str, scoring.PairedSystems]:
    """Compute the system metrics of all systems together, by slice.

    Args:
        evaluator: The evaluator.
        by_system: The unpacked samples by slice and system.
    """
    slices: dict[str, dict[str, pl.DataFrame]] = {}
    for (slice_, system), rows in sorted(by_system.items(), key=lambda item: str(item[0])):
        slices.setdefault(str(slice_), {})[str(system)] = rows
    return {slice_: scoring.aggregate_systems(evaluator, own) for slice_, own in slices.items()}


def pair_rows(benchmark: str, evaluator: Evaluator, paired: PairedAnswers) -> pl.DataFrame:
    """Count the outcomes of each pair of systems, and the verdicts that the order changed."""
    names = pl.Series(paired.systems, dtype=pl.String)
    outcomes, (shown_first, shown_second) = paired.compared.outcomes, paired.votes.T
    judged = np.isfinite(shown_first)
    # For the answer that is shown second, a verdict for it is -1.
    lean = np.where(judged, shown_first + shown_second, 0.0)
    counted = {
        "wins_a": outcomes > TIE,
        "wins_b": outcomes < TIE,
        "ties": outcomes == TIE,
        "n_judged": judged,
        "n_changed": lean != 0,
        "prefers_first": lean > 0,
        "prefers_second": lean < 0,
    }
    pair = pl.DataFrame(
        {
            "system_a": names.gather(paired.compared.one),
            "system_b": names.gather(paired.compared.other),
            **counted,
        }
    )
    return (
        pair.group_by("system_a", "system_b")
        .agg(pl.col(name).sum().cast(pl.Int64) for name in counted)
        .sort("system_a", "system_b")
        .with_columns(
            benchmark=pl.lit(benchmark),
            evaluator=pl.lit(evaluator.name),
            signature=pl.lit(evaluator.signature),
        )
        .select(PAIRWISE_SCHEMA.keys())
    )
