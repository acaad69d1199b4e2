"""A clock that is set back between two runs: what was made last is still what is shown last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.faults.clock import clock_shifted
from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer
from warehouse.schema.tables.history import HISTORY

if TYPE_CHECKING:
    from pathlib import Path

DAYS = 3


@pytest.mark.timeout(600)
def test_what_was_made_last_is_shown_last(tmp_path: Path) -> None:
    earlier = clock_shifted(tmp_path, -DAYS * 86_400)
    with JudgeServer() as server:
        trial, plain = (Trial(tmp_path / name, server) for name in ("trial", "plain"))
        code, _, err = trial.ended()
        assert code == 0, err
        ((before,),) = trial.rows("SELECT max(published_at) FROM leaderboard_history")
        trial.predictions["plain"][0]["answer"] = "Nothing is kept in room 0."
        trial.write()
        code, _, err = trial.ended(prefix=earlier)
        assert code == 0, err
        asked = server.count
        # It did live in the past, and said so wherever a time is no order.
        ((scored,),) = trial.rows(
            "SELECT min(scored_at) < max(scored_at) - INTERVAL 2 DAY FROM grades"
        )
        assert scored
        ((shown,),) = trial.rows("SELECT DISTINCT published_at FROM leaderboard")
        assert shown > before
        latest = trial.rows(
            "SELECT system, evaluator, metric, mean FROM leaderboard_history WHERE slice = 'all' "
            "AND published_at = (SELECT max(published_at) FROM leaderboard_history) ORDER BY ALL"
        )
        board = trial.rows(
            "SELECT system, evaluator, metric, mean FROM leaderboard WHERE slice = 'all' "
            "ORDER BY ALL"
        )
        assert latest == board
        # Back in the present nothing is left to do, and nothing is asked.
        code, _, err = trial.ended()
        assert code == 0, err
        assert server.count == asked
        plain.predictions = trial.predictions
        plain.write()
        code, _, err = plain.ended()
        assert code == 0, err
    found, expected = trial.tables(), plain.tables()
    history = (table.name for table in HISTORY.tables)
    for name in ("judgments", "leaderboard_history", "signatures", "validations", *history):
        # These keep what was before.
        assert set(map(str, expected.pop(name))) <= set(map(str, found.pop(name))), name
    assert found == expected
