"""The curves of option confidence are those that numpy counts."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from warehouse.store import Warehouse

NOW = datetime(2026, 1, 1)  # noqa: DTZ001
METRICS = ["accuracy", "phi", "delta"]
Row = tuple[str, str, str, str, float | None, float | None]


def fill(warehouse: Warehouse, rows: Iterable[Row]) -> None:
    """Grade questions of (benchmark, system, evaluator, signature) with a phi and a delta."""
    grades: list[dict[str, Any]] = [
        {
            "benchmark": benchmark,
            "system": system,
            "question_id": f"q{number}",
            "evaluator": evaluator,
            "signature": signature,
            "input_digest": 1,
            "values": [1.0, phi, delta],
            "scored_at": NOW,
        }
        for number, (benchmark, system, evaluator, signature, phi, delta) in enumerate(rows)
    ]
    used = sorted({(row["evaluator"], row["signature"]) for row in grades})
    signatures = [
        {
            "evaluator": evaluator,
            "signature": signature,
            "version": 1,
            "metrics": METRICS,
            "first_seen": NOW,
        }
        for evaluator, signature in used
    ]
    with warehouse.transaction() as transaction:
        transaction.append("signatures", pl.DataFrame(signatures))
        transaction.append(
            "grades", pl.DataFrame(grades, schema_overrides={"values": pl.List(pl.Float64)})
        )


def curve(
    warehouse: Warehouse, benchmark: str, system: str, signature: str, metric: str
) -> pl.DataFrame:
    """One curve, from its smallest value on."""
    return warehouse.fetch(
        "SELECT threshold, share_above, n_above, n_scored FROM option_confidence_curves "
        "WHERE benchmark = $benchmark AND system = $system AND signature = $signature "
        "AND metric = $metric ORDER BY threshold",
        {"benchmark": benchmark, "system": system, "signature": signature, "metric": metric},
    )


def test_four_questions_two_of_them_tied(warehouse: Warehouse) -> None:
    values = [(0.2, -0.5), (0.7, 0.4), (0.2, 0.0), (0.9, None)]
    fill(warehouse, [("b", "s", "option_confidence", "g", phi, delta) for phi, delta in values])
    assert curve(warehouse, "b", "s", "g", "phi").rows() == [
        (0.2, 0.5, 2, 4),
        (0.7, 0.25, 1, 4),
        (0.9, 0.0, 0, 4),
    ]
    assert curve(warehouse, "b", "s", "g", "delta").rows() == [
        (-0.5, 2 / 3, 2, 3),
        (0.0, 1 / 3, 1, 3),
        (0.4, 0.0, 0, 3),
    ]


def test_random_values_with_ties_and_gaps(warehouse: Warehouse) -> None:
    random = np.random.default_rng(7)
    curves = [("b", "s", "g"), ("b", "t", "g"), ("b", "t", "old"), ("c", "s", "g")]
    rows: list[Row] = []
    drawn: dict[tuple[str, str, str, str], NDArray[np.float64]] = {}
    for benchmark, system, signature in curves:
        size = int(random.integers(1, 400))
        # Rounded, so that many are equal; some raw, so that neighbours lie close together.
        digits = random.choice([1, 2, 15], size)
        phi = np.array([round(x, int(d)) for x, d in zip(random.random(size), digits, strict=True)])
        delta = np.where(random.random(size) < 0.2, np.nan, phi - random.random(size).round(1))
        delta[0] = phi[0]
        rows += [
            (
                benchmark,
                system,
                "option_confidence",
                signature,
                float(p),
                None if np.isnan(d) else float(d),
            )
            for p, d in zip(phi, delta, strict=True)
        ]
        drawn[benchmark, system, signature, "phi"] = phi
        drawn[benchmark, system, signature, "delta"] = delta[~np.isnan(delta)]
    rows.append(("b", "s", "another", "g", 0.5, 0.5))
    fill(warehouse, rows)
    for (benchmark, system, signature, metric), values in drawn.items():
        found = curve(warehouse, benchmark, system, signature, metric)
        steps = np.unique(values)
        assert found["threshold"].to_list() == steps.tolist()
        assert found["n_above"].to_list() == [int((values > x).sum()) for x in steps]
        assert found["share_above"].to_list() == [float((values > x).mean()) for x in steps]
        assert set(found["n_scored"]) == {len(values)}
    total = warehouse.fetch("SELECT count(*) AS n FROM option_confidence_curves").item()
    assert total == sum(len(np.unique(values)) for values in drawn.values())


def test_without_grades_there_are_no_curves(warehouse: Warehouse) -> None:
    assert warehouse.fetch("SELECT * FROM option_confidence_curves").is_empty()
