"""The jackknife: exact where the answer is known, near the bootstrap where it is not."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from evaluators import catalog, scoring
from evaluators.evaluator import Evaluator
from evaluators.statistics.jackknife import (
    LARGE,
    PARTS,
    assign_parts,
    pseudo_values,
)

CLASSIFICATION = catalog.build("classification", {})


def graded(n: int, seed: int) -> pl.DataFrame:
    """Samples of three classes of which four in five are right."""
    generator = np.random.default_rng(seed)
    expected = generator.choice(["a", "b", "c"], size=n, p=[0.5, 0.3, 0.2])
    given = np.where(generator.random(n) < 0.8, expected, generator.choice(["a", "b", "c"], n))
    details = [
        json.dumps({"expected": str(e), "given": str(g)})
        for e, g in zip(expected, given, strict=True)
    ]
    right = (expected == given).astype(float)
    rows = pl.DataFrame({"accuracy": right, "status": "scored", "failed": False, "detail": details})
    return scoring.unpack_evidence(CLASSIFICATION, rows)


def error_of(pseudo: np.ndarray) -> float:
    return float(pseudo.std(ddof=1) / np.sqrt(len(pseudo)))


def test_a_mean_has_the_error_of_a_mean() -> None:
    rows = graded(PARTS, seed=1)
    found = scoring.aggregate_unpacked(CLASSIFICATION, rows)
    pseudo = pseudo_values(CLASSIFICATION, rows, np.arange(PARTS), found)
    # Where every label is expected, micro F1 is the accuracy, a mean; so are its pseudo-values.
    assert pseudo["micro_f1"] == pytest.approx(rows["accuracy"].to_numpy())


def test_f1_has_about_the_error_of_the_bootstrap() -> None:
    rows = graded(300, seed=2)
    found = scoring.aggregate_unpacked(CLASSIFICATION, rows)
    parts = assign_parts(np.arange(300, dtype=np.uint64))
    pseudo = pseudo_values(CLASSIFICATION, rows, parts, found)
    generator = np.random.default_rng(3)
    drawn = [
        scoring.aggregate_unpacked(CLASSIFICATION, rows[generator.integers(0, 300, 300)]).scores
        for _ in range(200)
    ]
    for metric in ("f1", "weighted_f1", "precision"):
        expected = np.std([float(each[metric]) for each in drawn])
        assert pseudo[metric].mean() == pytest.approx(float(found.scores[metric]))
        # Two hundred parts know the error to one part in twenty, the draws no better.
        assert error_of(pseudo[metric]) == pytest.approx(expected, rel=0.2)


def test_of_large_sets_a_part_is_looked_at() -> None:
    n = 3 * LARGE
    keys = np.random.default_rng(4).integers(0, 2**63, n).astype(np.uint64)
    parts = assign_parts(keys)
    assert np.unique(parts).tolist() == list(range(-1, PARTS))
    assert np.count_nonzero(parts >= 0) == pytest.approx(LARGE, rel=0.05)
    rows = graded(n, seed=5)
    found = scoring.aggregate_unpacked(CLASSIFICATION, rows)
    error = error_of(pseudo_values(CLASSIFICATION, rows, parts, found)["micro_f1"])
    assert error == pytest.approx(np.sqrt(0.8667 * 0.1333 / n), rel=0.2)


def test_clusters_are_never_divided() -> None:
    clusters = np.repeat(np.arange(500, dtype=np.uint64) * 97, 3)
    parts = assign_parts(clusters)
    by_cluster = {int(c): set(parts[clusters == c].tolist()) for c in clusters}
    assert all(len(found) == 1 for found in by_cluster.values())
    sizes = np.bincount(parts)
    assert len(sizes) == PARTS
    assert sizes.max() - sizes.min() <= 3
    few = assign_parts(np.repeat(np.arange(7, dtype=np.uint64), 2))
    assert few.tolist() == np.repeat(np.arange(7), 2).tolist()


def test_where_leaving_one_out_leaves_nothing_there_is_no_spread() -> None:
    rows = graded(1, seed=6)
    found = scoring.aggregate_unpacked(CLASSIFICATION, rows)
    assert np.isnan(pseudo_values(CLASSIFICATION, rows, np.array([0]), found)["f1"]).all()


def answers(failures: int = 0, seed: int = 7) -> pl.DataFrame:
    """Scores and evidence of one system, as several evaluators write them."""
    generator, n = np.random.default_rng(7), 40
    failed = np.arange(n) < failures
    labels = np.array(["a", "b", "c", "rare"])
    expected = labels[np.r_[3, generator.integers(0, 3, n - 1)]]
    generator, given = np.random.default_rng(seed), np.array([*labels, f"new {seed}"])
    return pl.DataFrame(
        {
            "status": ["scored"] * n,
            "failed": failed,
            "passes": generator.integers(0, 2, n).astype(float),
            "parse_failures": [0.0] * n,
            "expected": expected,
            "given": np.where(failed, "", given[generator.integers(0, 5, n)]),
            "right": np.where(failed, 0, generator.integers(0, 3, n)),
            "cited": np.where(failed, 0, 2 + generator.integers(0, 2, n)),
            "gold": 1 + generator.integers(0, 2, n),
        }
    )


@pytest.mark.parametrize("name", ["classification", "citation", "tokens_presence"])
@pytest.mark.parametrize("failures", [0, 3])
def test_subtracted_counts_give_what_aggregation_gives(
    name: str, failures: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluator, n = catalog.build(name, {}), 40
    rows = answers(failures)
    rows = scoring.mark_counted(evaluator, rows)
    found = scoring.aggregate_unpacked(evaluator, rows)
    for parts in (np.arange(n), np.arange(n) % 7, np.arange(n) % 7 - 1):
        fast = pseudo_values(evaluator, rows, parts, found)
        with monkeypatch.context() as patched:
            patched.setattr(type(evaluator), "aggregate_without", Evaluator.aggregate_without)
            slow = pseudo_values(evaluator, rows, parts, found)
        assert fast.keys() == slow.keys() >= {each.name for each in evaluator.system_metrics}
        for metric, values in fast.items():
            assert np.array_equal(values, slow[metric], equal_nan=True), metric
