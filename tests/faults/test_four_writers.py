"""Four machines that run a project on one lake at the same time all end well."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer
from tests.support.lakes import configured, fresh
from tests.support.services import takes_longest

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = 4
COMPARED = ("predictions", "judgments", "asks", "grades", "leaderboard", "comparisons", "problems")


@takes_longest
@pytest.mark.timeout(900)
def test_four_writers_of_one_lake(tmp_path: Path, postgres_database: str) -> None:
    with JudgeServer() as server, fresh(postgres_database, tmp_path) as lake:
        alone = Trial(tmp_path / "alone", server)
        code, _, err = alone.ended()
        assert code == 0, err
        needed = server.count
        trials = [Trial(tmp_path / f"machine-{number}", server) for number in range(WRITERS)]
        for trial in trials:
            trial.more = {"warehouse": configured(lake)}
            trial.write()
        processes = [trial.start() for trial in trials]
        ends = [(process.communicate(timeout=600), process.returncode) for process in processes]
        assert [code for _, code in ends] == [0] * WRITERS, [err for (_, err), _ in ends]
        asked = [digest for _, digest in server.arrivals[needed:]]
        assert len(asked) == len(set(asked)) == needed
    expected = alone.tables()
    for trial in trials:
        found = trial.tables(trial.home / "published" / "scoreline.duckdb")
        assert {name: found[name] for name in COMPARED} == {
            name: expected[name] for name in COMPARED
        }
