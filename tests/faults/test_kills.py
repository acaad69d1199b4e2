"""Runs that are killed at any moment, again and again, end as if nothing had happened.

Each run that goes on has another host name, as a restarted container has.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.faults.trial import Trial
from tests.support.judge_server import JudgeServer
from tests.support.services import NIGHTLY, takes_longest
from warehouse.ledger.open import ledger_file

if TYPE_CHECKING:
    from pathlib import Path

KILLS = int(os.environ.get("SCORELINE_KILLS", "32" if NIGHTLY else "8"))
IN_A_ROW = 4
LATENCY = 0.1
CONCURRENCY = 2
PRICED = {"usd_per_million_in": 100.0, "usd_per_million_out": 1000.0, "budget_usd": 1000.0}


def renamed(name: str, *, container: bool = False) -> tuple[str, ...]:
    """What a command line begins with that runs under another host name.

    Args:
        name: The host name.
        container: Whether its process numbers are its own, too.
    """
    own = ("--pid", "--fork", "--kill-child", "--mount-proc") if container else ()
    return ("unshare", "--uts", *own, "sh", "-c", f'hostname {name} && exec "$@"', "sh")


def stored(trial: Trial) -> tuple[set[str], float]:
    """What the ledger has replies to, as the server calls it, and what they cost."""
    file = ledger_file(trial.warehouse)
    if not file.exists():
        return set(), 0.0
    with closing(sqlite3.connect(file)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
            return set(), 0.0
        rows = connection.execute("SELECT messages, cost_usd FROM ledger_judgments").fetchall()
    texts = [json.dumps(json.loads(messages), sort_keys=True) for messages, _ in rows]
    digests = {hashlib.sha256(text.encode()).hexdigest() for text in texts}
    return digests, sum(cost for _, cost in rows)


@pytest.mark.timeout(3600)
def test_all_tables_are_those_of_an_undisturbed_run_and_nothing_is_paid_twice(
    tmp_path: Path,
) -> None:
    seed = int(os.environ.get("SCORELINE_SEED", random.randrange(2**32)))
    print(f"SCORELINE_SEED={seed}")  # noqa: T201 - shown when the test fails
    chance = random.Random(seed)
    with JudgeServer(latency=LATENCY) as server:
        undisturbed = Trial(tmp_path / "undisturbed", server, **PRICED)
        started = time.monotonic()
        code, _, err = undisturbed.ended()
        took = time.monotonic() - started
        assert code == 0, err
        needed = {digest for _, digest in server.arrivals}
    expected = undisturbed.tables()
    _, price = stored(undisturbed)
    kills = 0
    while kills < KILLS:
        with JudgeServer(latency=LATENCY) as server:
            killed = Trial(tmp_path / f"killed-{kills}", server, **PRICED)
            deaths: list[tuple[int, set[str]]] = []
            for number in range(IN_A_ROW):
                with killed.start(prefix=renamed(f"host-{number}")) as process:
                    time.sleep(chance.uniform(0, took))
                    process.kill()
                    process.communicate()
                deaths.append((server.count, stored(killed)[0]))
            kills += len(deaths)
            code, _, err = killed.ended(prefix=renamed("host-last"))
            assert code == 0, err
            asked = [digest for _, digest in server.arrivals]
        assert killed.tables() == expected
        assert killed.tables(killed.home / "published" / "scoreline.duckdb") == expected
        assert set(asked) == needed
        for count, known in deaths:
            # No call is made again whose reply was stored, however long ago.
            assert not known & set(asked[count:])
        # Only calls in flight at a kill are made again. A request that was on its way when its
        # process was killed may arrive later, so none is told by its time.
        repeated = sum((Counter(asked) - Counter(needed)).values())
        assert repeated <= CONCURRENCY * len(deaths)
        assert stored(killed)[1] == pytest.approx(price)


@takes_longest
@pytest.mark.timeout(600)
def test_a_container_that_is_restarted_pays_for_nothing_twice(tmp_path: Path) -> None:
    """Its process numbers say nothing about the one before, so its lease has to end."""
    with JudgeServer(latency=LATENCY) as server:
        trial = Trial(tmp_path, server, **PRICED)
        with trial.start(prefix=renamed("first", container=True)) as process:
            while server.count < 6:
                assert process.poll() is None
                time.sleep(0.01)
            process.kill()
            process.communicate()
        count, (known, _) = server.count, stored(trial)
        code, _, err = trial.ended(prefix=renamed("second", container=True))
        assert code == 0, err
        asked = [digest for _, digest in server.arrivals]
    assert known
    assert not known & set(asked[count:])
    assert len(asked) - len(set(asked)) <= CONCURRENCY
