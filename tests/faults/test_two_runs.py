"""Two runs of one project at the same time: both end well, or one says who is in its way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.timeout(600)
@pytest.mark.parametrize("latency", [0.0, 0.2])
def test_two_runs_on_one_file(tmp_path: Path, latency: float) -> None:
    with JudgeServer(latency=latency) as server:
        alone = Trial(tmp_path / "alone", server)
        code, _, err = alone.ended()
        assert code == 0, err
        both = Trial(tmp_path / "both", server)
        with both.start() as one, both.start() as other:
            ends = [
                (process.communicate(timeout=250), process.returncode) for process in (one, other)
            ]
        for (_, err), code in ends:
            if code != 0:
                assert code == 2, err
                assert "is being written by process" in err, err
        assert 0 in [code for _, code in ends]
        if any(code for _, code in ends):
            code, _, err = both.ended()
            assert code == 0, err
    assert both.tables() == alone.tables()
    assert both.tables(both.home / "published" / "scoreline.duckdb") == alone.tables()
