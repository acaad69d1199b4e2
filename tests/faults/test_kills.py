"""Runs that are killed at any moment, again and again, end as if nothing had happened."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("SCORELINE_KILLS", "20"))
IN_A_ROW = 4
LATENCY = 0.1


@pytest.mark.timeout(3600)
def test_all_tables_are_those_of_an_undisturbed_run_and_nothing_is_paid_twice(
    tmp_path: Path,
) -> None:
    seed = int(os.environ.get("SCORELINE_SEED", random.randrange(2**32)))
    print(f"SCORELINE_SEED={seed}")  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)
    with JudgeServer(latency=LATENCY) as server:
        undisturbed = Trial(tmp_path / "undisturbed", server)
        started = time.monotonic()
        code, _, err = undisturbed.ended()
        took = time.monotonic() - started
        assert code == 0, err
        needed = {digest for _, digest in server.arrivals}
    expected = undisturbed.tables()
    kills = 0
    while kills < KILLS:
        with JudgeServer(latency=LATENCY) as server:
            killed = Trial(tmp_path / f"killed-{kills}", server)
            deaths: list[float] = []
            for _ in range(IN_A_ROW):
                with killed.start() as process:
                    time.sleep(chance.uniform(0, took))
                    if process.poll() is None:
                        process.kill()
                        deaths.append(time.time())
                    process.communicate()
            kills += len(deaths)
            code, _, err = killed.ended()
            assert code == 0, err
            asked = Counter(digest for _, digest in server.arrivals)
            # Only what was under way, or came in the last second before a kill, is asked again.
            doomed = sum(
                any(death - 1 <= at <= death for death in deaths) for at, _ in server.arrivals
            )
        assert killed.tables() == expected
        assert killed.tables(killed.home / "published" / "scoreline.duckdb") == expected
        assert set(asked) == needed
        assert sum(asked.values()) - len(needed) <= doomed
