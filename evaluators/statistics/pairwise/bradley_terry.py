"""Bradley-Terry strengths by maximum likelihood, with Davidson's model of ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluators.statistics.pairwise.existence import connects, find_comparable
from evaluators.statistics.pairwise.win_matrix import Comparisons, count_wins

if TYPE_CHECKING:
    from evaluators.statistics.arrays import Floats, Integers

_STEPS = 200
_PRECISION = 1e-10


class Strengths(NamedTuple):
    """The strengths of systems.

    Attributes:
        values: Shape (systems,): the natural log-strengths, with the mean 0; NaN where there is
            none. One system beats another with the log-odds of their difference, given that they
            do not tie.
        reasons: For each system, why it has none; None where it has one.
        log_ties: Davidson's tie parameter, as a natural log: two equal systems tie with
            log-odds of `log_ties - log(2)`. None without ties.
    """

    values: Floats
    reasons: tuple[str | None, ...]
    log_ties: float | None


def fit_strengths(comparisons: Comparisons, systems: int) -> Strengths:
    """Estimate the strengths of systems from comparisons.

    With strengths s, the probabilities of a win, a loss and a tie of a and b are proportional to
    exp(s_a), exp(s_b) and exp(log_ties + (s_a + s_b) / 2).

    Args:
        comparisons: The comparisons.
        systems: The number of systems.

    Returns:
        The strengths of the largest group of systems that have finite ones; see `find_comparable`.

    Source: Bradley and Terry 1952; Davidson 1970.
    """
    matrix = count_wins(comparisons, systems)
    found = find_comparable(matrix)
    values = np.full(systems, np.nan)
    if not len(found.systems):
        return Strengths(values, found.reasons, None)
    own = matrix.subset(found.systems)
    one, other = np.nonzero(np.triu(own.counts))
    tallies = _Tallies(one, other, own.wins[one, other], own.wins[other, one], own.ties[one, other])
    likelihood = _Likelihood(len(found.systems), has_ties=bool(own.ties.any()))
    parameters = likelihood.maximise(tallies)
    values[found.systems] = parameters[: likelihood.systems]
    log_ties = float(parameters[-1]) if likelihood.has_ties else None
    return Strengths(values, found.reasons, log_ties)


def pseudo_strengths(
    comparisons: Comparisons, found: Strengths, parts: Integers, count: int
) -> Floats:
    """Compute what each part of the comparisons contributes to each strength.

    The mean of a system's pseudo-values is its strength, and their spread is its uncertainty, as
    in `jackknife.pseudo_values`. The strengths without a part are approximated by one Newton step
    from those of all parts, without the part's information, so the standard error is that of the
    cluster-robust sandwich with the jackknife's correction (CR3).

    Args:
        comparisons: The comparisons.
        found: Their strengths.
        parts: Shape (comparisons,): the part of each, such as the cluster of its question; all
            comparisons of a question belong to one part.
        count: The number of parts.

    Returns:
        Shape (count, systems): NaN for systems without a strength, for parts without comparisons
        of others, and throughout if fewer than two parts are left, or if the systems are not
        connected without one of the parts.

    Source: Bell and McCaffrey 2002, for the correction.
    """
    pseudo = np.full((count, len(found.values)), np.nan)
    systems = np.flatnonzero(np.isfinite(found.values))
    position = np.full(len(found.values), -1)
    position[systems] = np.arange(len(systems))
    one, other = position[comparisons.one], position[comparisons.other]
    is_used = (one >= 0) & (other >= 0)
    used = Comparisons(one, other, comparisons.outcomes).subset(is_used)
    present, codes = np.unique(parts[is_used], return_inverse=True)
    if len(present) < 2:  # noqa: PLR2004 - one part has no spread
        return pseudo
    likelihood = _Likelihood(len(systems), has_ties=found.log_ties is not None)
    at = found.values[systems]
    if found.log_ties is not None:
        at = np.append(at, found.log_ties)
    order = np.argsort(codes, kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    every = count_wins(used, len(systems)).counts
    information = likelihood.derivatives(_Tallies.of(used), at)[1]
    steps = np.empty((len(present), len(systems)))
    for number, piece in enumerate(pieces):
        part = used.subset(piece)
        if not connects(every - count_wins(part, len(systems)).counts):
            return pseudo
        score, own = likelihood.derivatives(_Tallies.of(part), at)
        steps[number] = likelihood.step(score, information - own)[: len(systems)]
    centred = (len(present) - 1) * (steps - steps.mean(axis=0))
    pseudo[np.ix_(present, systems)] = found.values[systems] + centred
    return pseudo


class _Tallies(NamedTuple):
    """Outcomes by pair of systems, as arrays of shape (pairs,); a pair may occur repeatedly."""

    one: Integers
    other: Integers
    wins: Floats
    losses: Floats
    ties: Floats

    @classmethod
    def of(cls, comparisons: Comparisons) -> _Tallies:
        one, other, outcomes = comparisons
        wins, losses = (outcomes == 1).astype(np.float64), (outcomes == 0).astype(np.float64)
        return cls(one, other, wins, losses, 1 - wins - losses)


@dataclass(frozen=True, slots=True)
class _Likelihood:
    """The log-likelihood of strengths and, last, of the tie parameter if there are ties."""

    systems: int
    has_ties: bool

    def maximise(self, tallies: _Tallies) -> Floats:
        """Return the parameters at the maximum, which must exist: Newton's method."""
        at = np.zeros(self.systems + self.has_ties)
        value = self.value(tallies, at)
        for _ in range(_STEPS):
            step = self.step(*self.derivatives(tallies, at))
            if np.abs(step).max() <= _PRECISION * (1 + np.abs(at).max()):
                return at + step
            reached = self.value(tallies, at + step)
            # The function is concave, so a short step in this direction increases it.
            while reached < value and np.abs(step).max() > _PRECISION:
                step = step / 2
                reached = self.value(tallies, at + step)
            at, value = at + step, reached
        raise ArithmeticError(f"no maximum of the likelihood after {_STEPS} steps")

    def value(self, tallies: _Tallies, at: Floats) -> float:
        """Return the log-likelihood."""
        log_odds, scale = self._log_odds(tallies, at)
        counts = np.stack([tallies.wins, tallies.losses, tallies.ties])
        if not self.has_ties:
            counts = counts[:2]
        return float((counts * (log_odds - scale)).sum())

    def derivatives(self, tallies: _Tallies, at: Floats) -> tuple[Floats, Floats]:
        """Return the gradient and the information (the Hessian with the sign reversed)."""
        one, other = tallies.one, tallies.other
        log_odds, scale = self._log_odds(tallies, at)
        chances = np.exp(log_odds - scale)
        win, loss = chances[:2]
        tie = chances[2] if self.has_ties else np.zeros_like(win)
        n = tallies.wins + tallies.losses + tallies.ties
        # A tie is half a win for each.
        share = win + tie / 2
        surplus = tallies.wins + tallies.ties / 2 - n * share
        gradient = np.zeros(len(at))
        gradient[: self.systems] = self._sum(one, surplus) - self._sum(other, surplus)
        weight = n * (win + tie / 4 - share**2)
        information = np.zeros((len(at), len(at)))
        np.add.at(information, (one, other), -weight)
        np.add.at(information, (other, one), -weight)
        diagonal = np.bincount(one, weight, self.systems) + np.bincount(other, weight, self.systems)
        information[np.diag_indices(self.systems)] += diagonal
        if self.has_ties:
            shared = n * tie * (loss - win) / 2
            column = self._sum(one, shared) - self._sum(other, shared)
            information[-1, : self.systems] = information[: self.systems, -1] = column
            information[-1, -1] = (n * tie * (1 - tie)).sum()
            gradient[-1] = (tallies.ties - n * tie).sum()
        return gradient, information

    def step(self, gradient: Floats, information: Floats) -> Floats:
        """Return Newton's step, which keeps the mean of the strengths."""
        fixed = information.copy()
        # Adding a number to all strengths changes nothing; this makes its change 0.
        fixed[: self.systems, : self.systems] += np.trace(information) / self.systems**2
        return np.linalg.solve(fixed, gradient).astype(np.float64)

    def _sum(self, systems: Integers, numbers: Floats) -> Floats:
        """Sum numbers by system."""
        return np.bincount(systems, numbers, self.systems).astype(np.float64)

    def _log_odds(self, tallies: _Tallies, at: Floats) -> tuple[Floats, Floats]:
        """Return the logs of what the outcomes' probabilities are proportional to, and of its sum.

        The shapes are (outcomes, pairs) and (pairs,).
        """
        one, other = at[tallies.one], at[tallies.other]
        tie = at[-1] + (one + other) / 2
        logs = np.stack([one, other, tie] if self.has_ties else [one, other])
        total: Floats = np.logaddexp.reduce(logs, axis=0)
        return logs, total
