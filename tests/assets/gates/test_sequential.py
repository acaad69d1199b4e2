"""The sequential gate in a project that runs night after night."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import pytest
from dagster._core.errors import DagsterAssetCheckFailedError

from assets.analysis.comparability import NotComparable
from assets.analysis.select_metrics import select_metrics
from assets.gates.sequential import evaluate_sequential_gate, report_sequential_gate
from assets.keys import LEADERBOARD
from assets.project import Gate
from tests.assets.conftest import Workshop
from tests.support.services import takes_minutes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from assets.gates.result import GateResult


def fill(workshop: Workshop, n: int, wrong: int) -> Workshop:
    """Write `n` questions, of which `new` misses the first `wrong`; `old` answers all."""
    workshop.questions = [
        {"question_id": f"q{at:03d}", "question": f"Is it {at}?", "expected_label": "yes"}
        for at in range(n)
    ]
    workshop.predictions = {
        system: [
            {"question_id": f"q{at:03d}", "answer": "no" if at < missed else "yes"}
            for at in range(n)
        ]
        for system, missed in (("old", 0), ("new", wrong))
    }
    return workshop


@pytest.fixture
def nightly(tmp_path: Path) -> Iterator[Workshop]:
    with dg.DagsterInstance.ephemeral() as instance:
        workshop = Workshop(tmp_path, instance, last=(LEADERBOARD,))
        workshop.evaluators = {"classification": {}, "perplexity": {}}
        workshop.gates = (gate(),)
        yield fill(workshop, 200, 2)


def gate(**changes: Any) -> Gate:
    common: dict[str, Any] = {
        "system": "new",
        "baseline": "old",
        "metrics": ("accuracy",),
        "tolerance": 0.1,
    }
    return Gate(**(common | {"sequential": True} | changes))


def state(workshop: Workshop) -> tuple[int, ...]:
    """Return look, epoch and the numbers of clusters, at first and now."""
    found = workshop.warehouse.fetch(
        "SELECT look, epoch, first, len(clusters)::INTEGER FROM gate_looks"
    )
    return tuple(found.row(0)) if found.height == 1 else ()


def stored(workshop: Workshop) -> dict[str, Any]:
    """Return the row of the table `gates`."""
    return workshop.warehouse.fetch("SELECT * FROM gates").row(0, named=True)


@takes_minutes
def test_looks_are_counted_and_remembered(nightly: Workshop) -> None:
    nightly.run()
    assert state(nightly) == (1, 1, 200, 200)
    first = stored(nightly)
    assert first["verdict"] == "unchanged"
    assert first["message"].endswith("tolerance 0.1, look 1")
    # A forced run without changes is no new look.
    nightly.run(force=True)
    assert state(nightly) == (1, 1, 200, 200)
    # The report reads the look, for any tolerance, and writes none.
    for tolerance, verdict in ((0.1, "unchanged"), (0.001, "not_enough_data")):
        reported = reported_at(nightly, tolerance)
        assert (reported.verdict, reported.look) == (verdict, 1)
        assert reported.low == pytest.approx(first["ci_low"])
    assert state(nightly) == (1, 1, 200, 200)
    # Another tolerance does not reset the test; it asks something else of the same looks.
    nightly.gates = (gate(tolerance=0.001),)
    nightly.run()
    assert state(nightly) == (1, 1, 200, 200)
    assert stored(nightly)["verdict"] == "not_enough_data"
    assert stored(nightly)["ci_low"] == first["ci_low"]
    # New questions continue it.
    fill(nightly, 400, 2).gates = (gate(),)
    nightly.run()
    assert state(nightly) == (2, 1, 200, 400)
    assert stored(nightly)["ci_low"] > first["ci_low"]
    # An answer that changed starts it over at a stricter level.
    fill(nightly, 400, 80)
    with pytest.raises(DagsterAssetCheckFailedError):
        nightly.run()
    assert state(nightly) == (3, 2, 400, 400)
    assert stored(nightly)["verdict"] == "regressed"
    assert stored(nightly)["ci_high"] < -0.1


def reported_at(workshop: Workshop, tolerance: float) -> GateResult:
    benchmark = workshop.project.benchmarks["trial"]
    selected = select_metrics(benchmark, ("accuracy",))
    (result,) = report_sequential_gate(
        workshop.warehouse, benchmark, "new", "old", selected, tolerance
    )
    return result


def evaluated(workshop: Workshop, system: str, *metrics: str) -> list[GateResult]:
    benchmark = workshop.project.benchmarks["trial"]
    return evaluate_sequential_gate(
        workshop.warehouse, benchmark, system, "old", select_metrics(benchmark, metrics), 0.02
    )


def test_what_cannot_be_tested_is_refused(nightly: Workshop) -> None:
    nightly.run()
    with pytest.raises(NotComparable, match=r"bounds, and perplexity\.\w+ has none"):
        evaluated(nightly, "new", "accuracy", "perplexity")
    with pytest.raises(NotComparable, match="cannot be compared with itself"):
        evaluated(nightly, "old", "accuracy")
    assert state(nightly) == (1, 1, 200, 200)
    with nightly.warehouse.transaction() as transaction:
        transaction.execute("DELETE FROM gate_looks")
    with pytest.raises(NotComparable, match=r"has not looked at classification\.accuracy: add"):
        reported_at(nightly, 0.0)
    assert state(nightly) == ()
