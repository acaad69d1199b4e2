"""The looks of sequential gates: what earlier looks saw, which later ones must not forget."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from assets.gates.gains import PairedScores
    from assets.leaderboard.score_matrix import Keys
    from evaluators.statistics.arrays import Floats, Integers
    from warehouse.queries.benchmarks import Source
    from warehouse.storage.transaction import Transaction

SAME = 1e-9
"""Sums of differences that are nearer than this are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look at the differences of two systems by one metric: a row of the table `gate_looks`.

    Attributes:
        look: Its number, from 1; looks at unchanged differences do not count.
        epoch: How often the test has started over, from 1.
        first: The number of clusters at the first look of the epoch.
        largest: The largest cluster that the test of this epoch allows for.
        clusters: Shape (clusters,): the keys of the clusters, those of earlier looks first.
        sums: The same shape: the sum of the gains in each.
        counts: The same shape: the number of questions in each.
    """

    look: int
    epoch: int
    first: int
    largest: int
    clusters: Keys
    sums: Floats
    counts: Floats


def next_look(before: Look | None, paired: PairedScores) -> Look:
    """Return the look at the present differences; `before` if nothing has changed.

    The test goes on while all earlier clusters are as they were; new ones may follow. If one has
    changed (a question was answered or scored again, removed, or added to the cluster), or if a new
    cluster is too large for the test, the test starts over with all present clusters: the next
    epoch.
    """
    keys, sums, counts = paired.keys, paired.gains.sums[:, 0], paired.gains.counts[:, 0]
    if before is not None:
        at = _find_unchanged(before, keys, sums, counts)
        if at is not None and counts.max() <= before.largest:
            added = np.setdiff1d(np.arange(len(keys)), at)
            if not len(added):
                return before
            order = np.r_[at, added]
            return replace(
                before,
                look=before.look + 1,
                clusters=keys[order],
                sums=sums[order],
                counts=counts[order],
            )
    return Look(
        look=1 if before is None else before.look + 1,
        epoch=1 if before is None else before.epoch + 1,
        first=len(keys),
        # Later clusters may be larger; single questions need no reserve.
        largest=2 ** math.ceil(math.log2(counts.max())),
        clusters=keys,
        sums=sums,
        counts=counts,
    )


def _find_unchanged(before: Look, keys: Keys, sums: Floats, counts: Floats) -> Integers | None:
    """Return the positions of the earlier clusters; None unless all have the same differences."""
    at = np.minimum(np.searchsorted(keys, before.clusters), len(keys) - 1)
    is_same = (
        (keys[at] == before.clusters)
        & (np.abs(sums[at] - before.sums) <= SAME)
        & (counts[at] == before.counts)
    )
    return at.astype(np.int64) if is_same.all() else None


def read_look(source: Source, names: tuple[str, str, str], address: tuple[str, str]) -> Look | None:
    """Return the last look; None if there was none.

    Args:
        source: The warehouse or its published copy.
        names: The benchmark, the system and the baseline.
        address: The evaluator and the metric.
    """
    key = _key(names, address)
    condition = " AND ".join(f"{name} = ${name}" for name in key)
    found = source.fetch(
        "SELECT look, epoch, first, largest, clusters, sums, counts "  # noqa: S608
        f"FROM gate_looks WHERE {condition}",
        key,
    )
    if found.is_empty():
        return None
    look, epoch, first, largest = found.select("look", "epoch", "first", "largest").row(0)
    clusters, sums, counts = (
        found[name].explode().to_numpy() for name in ("clusters", "sums", "counts")
    )
    return Look(
        look=look,
        epoch=epoch,
        first=first,
        largest=largest,
        clusters=clusters,
        sums=sums,
        counts=counts.astype(np.float64),
    )


def record_look(
    transaction: Transaction,
    names: tuple[str, str, str],
    address: tuple[str, str],
    paired: PairedScores,
) -> Look:
    """Read the last look from the warehouse, and write the present one unless nothing changed.

    Args:
        transaction: The transaction in which it is read and written.
        names: The benchmark, the system and the baseline.
        address: The evaluator and the metric.
        paired: The scores, at least one.
    """
    before = read_look(transaction, names, address)
    now = next_look(before, paired)
    if now is not before:
        row = {
            **_key(names, address),
            "look": now.look,
            "epoch": now.epoch,
            "first": now.first,
            "largest": now.largest,
            "clusters": pl.Series([now.clusters.tolist()], dtype=pl.List(pl.UInt64)),
            "sums": pl.Series([now.sums.tolist()], dtype=pl.List(pl.Float64)),
            "counts": pl.Series([now.counts.tolist()], dtype=pl.List(pl.Int32), strict=False),
            "looked_at": datetime.now(UTC).replace(tzinfo=None),
        }
        transaction.replace("gate_looks", pl.DataFrame(row))
    return now


def _key(names: tuple[str, str, str], address: tuple[str, str]) -> dict[str, str]:
    columns = ("benchmark", "system", "baseline", "evaluator", "metric")
    return dict(zip(columns, (*names, *address), strict=True))
