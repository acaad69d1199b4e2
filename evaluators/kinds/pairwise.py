"""Evaluators that compare the answers of systems, whose system metrics depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeGuard

import numpy as np
import polars as pl

from evaluators.kinds.flow import FlowEvaluator
from evaluators.outcome import Graded, Scores, Undefined
from evaluators.statistics.pairwise.bradley_terry import (
    Strengths,
    fit_strengths,
    pseudo_strengths,
)
from evaluators.statistics.pairwise.verdicts import majority_vote, outcome_of
from evaluators.statistics.pairwise.win_matrix import Comparisons

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evaluators.evaluator import Evaluator
    from evaluators.statistics.arrays import Floats, Integers

STRENGTH = "strength"
"""The name of the system metric."""

_COMPARISON = pl.Struct(
    {
        "opponent": pl.String,
        "outcome": pl.Float64,
        "shown_first": pl.Int64,
        "shown_second": pl.Int64,
    }
)
"""One comparison of a sample: the outcome for its system, and the verdicts where its answer is
shown first and second (1: the first answer wins, -1: the second, 0: tie; null: not judged)."""


class PairedAnswers(NamedTuple):
    """The comparisons of systems on some questions, each of them once.

    Attributes:
        systems: The names of the systems.
        compared: The comparisons.
        questions: Shape (comparisons,): the key of the question of each.
        votes: Shape (comparisons, 2): the verdicts where the one is shown first and second; NaN
            where the judge was not asked.
    """

    systems: Sequence[str]
    compared: Comparisons
    questions: Any
    votes: Floats

    def strengths(self) -> Strengths:
        """Fit the strengths of the systems."""
        return fit_strengths(self.compared, len(self.systems))

    def pseudo_values(self, found: Strengths, parts: Integers, count: int) -> Floats:
        """Compute what each part contributes to each strength: shape (count, systems).

        Args:
            found: The strengths.
            parts: Shape (comparisons,): the part of each; -1: unused.
            count: The number of parts.
        """
        is_used = parts >= 0
        used = self.compared.subset(is_used)
        pseudo = pseudo_strengths(used, found, parts[is_used], count)
        # Fewer comparisons vary more than all of them.
        scale = np.sqrt(is_used.mean()) if len(is_used) else 1.0
        scaled: Floats = found.values + (pseudo - found.values) * scale
        return scaled


@dataclass(frozen=True, kw_only=True)
class PairwiseEvaluator(FlowEvaluator):
    """Compares each answer with those of other systems to the same question.

    The detail of each sample lists its comparisons, as `evidence` describes them. The system metric
    is the Bradley-Terry strength, which needs the samples of all systems: it comes from
    `scoring.aggregate_systems`, not from `aggregate`.

    Attributes:
        opponents: The number of other systems with which each answer is compared; even, because
            each system meets its neighbours on both sides of a ring.
    """

    evidence: ClassVar[Mapping[str, pl.DataType | type[pl.DataType]]] = {
        "comparisons": pl.List(_COMPARISON)
    }

    opponents: int = 4

    def __post_init__(self) -> None:
        """Validate the number of opponents.

        Raises:
            ValueError: It is below 2 or odd.
        """
        if self.opponents < 2 or self.opponents % 2:  # noqa: PLR2004 - one on each side
            raise ValueError(f"opponents: expected an even number from 2, got {self.opponents}")

    def combine_details(self, details: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Combine the verdicts of several judges, or of a judge that was asked several times."""
        by_opponent: dict[str, list[Mapping[str, Any]]] = {}
        # The fullest one first, which has the opponents in their order.
        for detail in sorted(details, key=lambda each: -len(each.get("comparisons", ()))):
            for each in detail.get("comparisons", ()):
                by_opponent.setdefault(each["opponent"], []).append(each)
        combined: dict[str, Any] = {
            "comparisons": [_combine_verdicts(group) for group in by_opponent.values()]
        }
        lost = {each["opponent"]: each for detail in details for each in detail.get("lost", ())}
        if lost:
            combined["lost"] = [each for name, each in lost.items() if name not in by_opponent]
        return combined

    def counted(self) -> pl.Expr:
        """Return the samples with a value or a comparison; a failed answer lost all of them."""
        return (pl.col("status") == "scored") | (pl.col("comparisons").list.len() > 0)

    def aggregate(self, rows: pl.DataFrame) -> Scores:  # noqa: ARG002 - there is no such number
        """Return that the samples of one system give no strength."""
        return {STRENGTH: Undefined("a strength needs the samples of all systems")}


def _combine_verdicts(comparisons: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Combine verdicts on the same two answers: in each order, the middle one counts."""
    first = comparisons[0]
    if first["shown_first"] is None:
        return first
    shown_first, shown_second = (
        majority_vote([each[place] for each in comparisons])
        for place in ("shown_first", "shown_second")
    )
    outcome = outcome_of(shown_first, shown_second)
    return {
        **first,
        "outcome": outcome,
        "shown_first": shown_first,
        "shown_second": shown_second,
    }


def is_paired(evaluator: Evaluator) -> TypeGuard[PairwiseEvaluator]:
    """Return whether the system metrics of an evaluator compare systems with each other."""
    return isinstance(evaluator, PairwiseEvaluator)


def pair_answers(rows: pl.DataFrame) -> PairedAnswers:
    """Return the comparisons in the samples of all systems.

    Both systems of a comparison have it in their detail. It counts once, as in the sample of the
    system that comes first by name; if that one has no value, as in the other's. If neither has a
    value because other comparisons are lost, it counts, too.

    Args:
        rows: The counted samples with system, question, status and comparisons.
    """
    names = rows["system"].cast(pl.String)
    listed = (
        rows.select("question", "comparisons", system=names, is_lost=pl.col("status") != "scored")
        .explode("comparisons", empty_as_null=False, keep_nulls=False)
        .unnest("comparisons")
    )
    is_first = pl.col("system") < pl.col("opponent")
    first, second = listed.filter(is_first), listed.filter(~is_first)
    mirrored = second.select(
        "question",
        system="opponent",
        opponent="system",
        is_lost="is_lost",
        outcome=1 - pl.col("outcome"),
        # For the other system, the orders swap their roles.
        shown_first="shown_second",
        shown_second="shown_first",
    )
    pair = ["question", "system", "opponent"]
    once = (
        pl.concat([first.select(mirrored.columns), mirrored])
        .sort(*pair, "is_lost", maintain_order=True)
        .unique(pair, keep="first", maintain_order=True)
    )
    systems = sorted({*names.unique(), *once["system"], *once["opponent"]})
    numbers = pl.Enum(systems)
    one, other = (
        once[column].cast(numbers).to_physical().cast(pl.Int64).to_numpy()
        for column in ("system", "opponent")
    )
    votes = once.select("shown_first", "shown_second").cast(pl.Float64).to_numpy()
    compared = Comparisons(one, other, once["outcome"].to_numpy())
    return PairedAnswers(systems, compared, once["question"].to_numpy(), votes)


def grade_strengths(found: Strengths, systems: Sequence[str]) -> dict[str, Graded]:
    """Return the strength of each system, or the reason why it has none, by system."""
    graded = {}
    for system, value, reason in zip(systems, found.values, found.reasons, strict=True):
        score = Undefined(reason) if reason is not None else float(value)
        detail = None if found.log_ties is None else {"log_ties": found.log_ties}
        graded[system] = Graded({STRENGTH: score}, detail)
    return graded
