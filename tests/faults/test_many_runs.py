"""Many runs of one project at the same time ask every question once, and all end well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.clock import clock_shifted
from tests.faults.test_kills import PRICED, renamed, stored
from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer
from tests.support.services import takes_longest

if TYPE_CHECKING:
    from pathlib import Path

RUNS = 8
HOUR_S = 3600
PATIENCE_S = 3000.0
"""They take turns to write, so on a machine with other work the last one ends late."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("latency", [pytest.param(0.0, marks=takes_longest), 0.2])
def test_eight_runs_of_one_project(tmp_path: Path, latency: float) -> None:
    """Their clocks differ by up to two hours."""
    with JudgeServer(latency=latency) as server:
        alone = Trial(tmp_path / "alone", server, **PRICED)
        code, _, err = alone.ended()
        assert code == 0, err
        needed = server.count
        together = Trial(tmp_path / "together", server, **PRICED)
        shifts = [0, HOUR_S, -HOUR_S, 0] * (RUNS // 4)
        prefixes = [
            (*renamed(f"host-{number}"), *clock_shifted(tmp_path, shift))
            for number, shift in enumerate(shifts)
        ]
        processes = [together.start(prefix=prefix) for prefix in prefixes]
        ends = [
            (process.communicate(timeout=PATIENCE_S), process.returncode) for process in processes
        ]
        assert [code for _, code in ends] == [0] * RUNS, [err for (_, err), _ in ends]
        asked = [digest for _, digest in server.arrivals[needed:]]
    assert len(asked) == len(set(asked)) == needed
    assert stored(together)[1] == pytest.approx(stored(alone)[1])
    ((cost, runs),) = together.rows("SELECT sum(cost_usd), count(DISTINCT run_id) FROM judgments")
    assert cost == pytest.approx(stored(alone)[1])
    # With any latency, they share the work.
    assert runs > 1 or latency == 0
    assert together.tables() == alone.tables()
    assert together.tables(together.home / "published" / "scoreline.duckdb") == alone.tables()
