"""A clock that is set back between two runs: what was made last is still what is shown last.

Nothing in the code tells the time but the operating system. So a run is given another clock by a
few lines of C, loaded before the C library, from which all of its parts take the time.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.judge_server import JudgeServer

if TYPE_CHECKING:
    from pathlib import Path

DAYS = 3
CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/time.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec -= BACK;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (seconds != NULL) *seconds = precise.tv_sec;
    return precise.tv_sec;
}
"""


@pytest.fixture
def earlier(tmp_path: Path) -> tuple[str, ...]:
    """What a command line begins with whose process lives some days ago."""
    source, library = tmp_path / "clock.c", tmp_path / "clock.so"
    source.write_text(CLOCK)
    back = f"-DBACK={DAYS * 86_400}"
    subprocess.run(["cc", "-shared", "-fPIC", back, "-o", library, source, "-ldl"], check=True)
    return ("env", f"LD_PRELOAD={library}")


@pytest.mark.timeout(600)
def test_what_was_made_last_is_shown_last(tmp_path: Path, earlier: tuple[str, ...]) -> None:
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
    for name in ("judgments", "leaderboard_history", "signatures", "validations"):
        # These keep what was before.
        assert set(map(str, expected.pop(name))) <= set(map(str, found.pop(name))), name
    assert found == expected
