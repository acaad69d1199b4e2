"""Ctrl-C and SIGTERM at the stages of a run: what came is kept, and a second run goes on."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

import psutil
import pytest
import yaml

from assets.scoring.batches import WORTH_PROCESSES
from orchestration.webserver import serve
from tests.faults.trial import Trial
from tests.orchestration.daemon import Interface, free_port
from tests.support.command import without_progress
from tests.support.judge_server import JudgeServer
from tests.support.lock_holder import holder
from tests.support.services import takes_longest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

ASKED_FIRST = 6
CONCURRENCY = 2
LARGE = WORTH_PROCESSES // 2
BUSY_S = 8.0
PATIENCE_S = 300.0
"""How long a machine with other work may take to end a command; it takes seconds on others."""

# A session of its own, as a terminal gives it, with the signals as a terminal leaves them.
TERMINAL = ("setsid",)
WORKER = "multiprocessing.spawn"
"""What the command line of a worker process contains."""
CAUSES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Ctrl-C reaches all processes of a terminal, SIGTERM the one that it is sent to."""
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


def next_message(stream: IO[str]) -> str:
    """Return the next line that is not one of progress; empty at the end."""
    line = stream.readline()
    while line and not without_progress(line):
        line = stream.readline()
    return line


def require_cancelled(
    trial: Trial, process: subprocess.Popen[str], number: signal.Signals, step: str
) -> list[str]:
    """One message, the right exit code, and no process left; the lines of standard error."""
    started = psutil.Process(process.pid).children(recursive=True)
    send(process, number)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, err
    assert out == ""
    lines = without_progress(err).splitlines()
    said = [line for line in lines if not line.startswith(("cancelling;", "waiting: "))]
    message = (
        f"cancelled by {CAUSES[number]}: the run ended while '{step}' ran. Completed steps, "
        "answers and replies of the judge are kept: run the same command again to go on"
    )
    assert said == [message], (err, recorded(trial))
    require_gone(started)
    return lines


def require_gone(started: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(started, timeout=PATIENCE_S)
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


def require_continued(trial: Trial, server: JudgeServer, under_way: int) -> None:
    """A second run ends well, and asks again only for what was under way."""
    code, _, err = trial.ended()
    assert code == 0, err
    asked = Counter(digest for _, digest in server.arrivals)
    assert sum(asked.values()) - len(asked) <= under_way


def statuses(trial: Trial) -> list[str]:
    """How the Dagster instance recorded the runs."""
    with closing(sqlite3.connect(dagster(trial) / "history" / "runs.db")) as runs:
        return [status for (status,) in runs.execute("SELECT status FROM runs ORDER BY id")]


def recorded(trial: Trial) -> list[tuple[str, ...]]:
    """What the Dagster instance recorded of the latest run: kind, step and time."""
    latest = max(dagster(trial).glob("history/runs/*-*.db"), key=lambda file: file.stat().st_mtime)
    query = "SELECT dagster_event_type, step_key, timestamp FROM event_logs ORDER BY id"
    with closing(sqlite3.connect(latest)) as events:
        return events.execute(query).fetchall()[-30:]


def dagster(trial: Trial) -> Path:
    return trial.home / ".scoreline" / "dagster"


def stop_workers(process: subprocess.Popen[str]) -> bool:
    """Stop the worker processes of the scoring, which then cannot end by itself.

    Returns:
        Whether there were some; not if the command ended first, on a busy machine.
    """
    while process.poll() is None:
        # Processes end meanwhile.
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                if WORKER in " ".join(child.cmdline()):
                    child.suspend()
                    while child.status() not in {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE}:
                        time.sleep(0.01)
                    if child.status() == psutil.STATUS_STOPPED:
                        return True
    return False


def until_asked(server: JudgeServer, process: subprocess.Popen[str]) -> None:
    while server.count < ASKED_FIRST:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def with_executor(home: Path, server: JudgeServer, executor: str) -> Trial:
    trial = Trial(home, server, concurrency=CONCURRENCY)
    trial.more = {"execution": {"executor": executor}}
    trial.write()
    return trial


@contextmanager
def judging(
    home: Path, executor: str
) -> Iterator[tuple[Trial, JudgeServer, subprocess.Popen[str]]]:
    """A run in a terminal that has asked its judge."""
    with JudgeServer(latency=0.2) as server:
        trial = with_executor(home, server, executor)
        with trial.start(prefix=TERMINAL) as process:
            until_asked(server, process)
            yield trial, server, process


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """The tables of a run that nothing interrupts."""
    with JudgeServer() as server:
        undisturbed = Trial(tmp_path_factory.mktemp("undisturbed") / "project", server)
        code, _, err = undisturbed.ended()
        assert code == 0, err
    return results(undisturbed)


def results(trial: Trial) -> dict[str, list[Any]]:
    """All tables but `meta`, which names the store of replies."""
    return {name: rows for name, rows in trial.tables().items() if name != "meta"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("executor", "number"),
    [
        ("in_process", signal.SIGINT),
        pytest.param("multiprocess", signal.SIGTERM, marks=takes_longest),
        pytest.param("in_process", signal.SIGTERM, marks=takes_longest),
        pytest.param("multiprocess", signal.SIGINT, marks=takes_longest),
    ],
)
def test_while_judging(
    tmp_path: Path, executor: str, number: signal.Signals, expected: dict[str, list[Any]]
) -> None:
    with judging(tmp_path / "project", executor) as (trial, server, process):
        require_cancelled(trial, process, number, "judge")
        asked_first = server.count
        assert statuses(trial) == ["CANCELED"]
        require_continued(trial, server, CONCURRENCY)
        assert len({digest for _, digest in server.arrivals}) > asked_first
        assert results(trial) == expected


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("executor", "number"),
    [
        ("in_process", signal.SIGTERM),
        pytest.param("multiprocess", signal.SIGINT, marks=takes_longest),
        pytest.param("in_process", signal.SIGINT, marks=takes_longest),
        pytest.param("multiprocess", signal.SIGTERM, marks=takes_longest),
    ],
)
def test_again_and_again(
    tmp_path: Path, executor: str, number: signal.Signals, expected: dict[str, list[Any]]
) -> None:
    with judging(tmp_path / "project", executor) as (trial, server, process):
        started = psutil.Process(process.pid).children(recursive=True)
        while process.poll() is None:
            send(process, number)
            time.sleep(0.15)
        _, err = process.communicate()
        assert process.returncode == 128 + number
        assert "Traceback" not in err
        assert "rror" not in err
        require_gone(started)
        require_continued(trial, server, CONCURRENCY)
        assert results(trial) == expected


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "executor", [pytest.param("in_process", marks=takes_longest), "multiprocess"]
)
def test_while_scoring(tmp_path: Path, executor: str) -> None:
    with JudgeServer() as server:
        trial = with_executor(tmp_path / "project", server, executor)
        trial.judge, trial.evaluators = None, ["rouge"]
        trial.questions = [
            {"question_id": f"q{n}", "question": f"{n}?", "expected_answer": f"room {n} is locked"}
            for n in range(LARGE)
        ]
        trial.predictions = {
            system: [
                {"question_id": f"q{n}", "answer": f"{system}: room {n} is open"}
                for n in range(LARGE)
            ]
            for system in ("plain", "wordy")
        }
        trial.write()
        is_interrupted = False
        while not is_interrupted:
            with trial.start("run", "--force", prefix=TERMINAL) as process:
                is_interrupted = stop_workers(process)
                if is_interrupted:
                    # The step does not wait for its workers.
                    require_cancelled(trial, process, signal.SIGINT, "score")
        assert statuses(trial)[-1] == "CANCELED"
        code, _, err = trial.ended()
        assert code == 0, err
    assert trial.rows("SELECT count(*) FROM grades") == [(2 * LARGE,)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "executor", ["in_process", pytest.param("multiprocess", marks=takes_longest)]
)
def test_while_waiting_to_publish(tmp_path: Path, executor: str) -> None:
    with JudgeServer() as server:
        trial = with_executor(tmp_path / "project", server, executor)
        lock = trial.home / "published" / ".scoreline.duckdb.tmp"
        lock.parent.mkdir(parents=True)
        with holder(lock, "exclusive") as other:
            with trial.start(prefix=TERMINAL) as process:
                assert process.stderr is not None
                first = next_message(process.stderr)
                assert first.startswith("waiting: "), first + process.stderr.read()
                assert f"process {other.pid} (-c" in first
                assert " since " in first
                require_cancelled(trial, process, signal.SIGTERM, "published")
            asked = server.count
            # A run that waits ends well as soon as the other process has ended.
            with trial.start(prefix=TERMINAL) as process:
                assert process.stderr is not None
                for _ in range(2):
                    assert next_message(process.stderr).startswith("waiting: ")
                other.kill()
                _, err = process.communicate(timeout=PATIENCE_S)
                assert process.returncode == 0, err
        assert server.count == asked


@pytest.mark.timeout(600)
def test_while_a_query_computes(tmp_path: Path) -> None:
    with JudgeServer() as server:
        trial = Trial(tmp_path / "project", server)
        code, _, err = trial.ended()
        assert code == 0, err
    query = "SELECT sum(hash(a.range + b.range)) FROM range(3000000000) AS a, range(1000) AS b"
    with trial.start("sql", query, prefix=TERMINAL) as process:
        # DuckDB's threads work: what came before takes two or three seconds.
        while process.poll() is None and psutil.Process(process.pid).cpu_times().user < BUSY_S:
            time.sleep(0.05)
        send(process, signal.SIGINT)
        assert process.communicate(timeout=PATIENCE_S) == ("", "cancelled by Ctrl-C\n")
    assert process.returncode == 128 + signal.SIGINT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_doctor(tmp_path: Path, number: signal.Signals) -> None:
    with JudgeServer(latency=5) as server:
        trial = Trial(tmp_path / "project", server)
        with trial.start("doctor", prefix=TERMINAL) as process:
            while server.count == 0 and process.poll() is None:
                time.sleep(0.01)
            send(process, number)
            _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number
    # On a busy machine it says that it is cancelling.
    said = [
        line for line in without_progress(err).splitlines() if not line.startswith("cancelling;")
    ]
    assert said == [f"cancelled by {CAUSES[number]}"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("moment", "number"),
    [
        ("loading", signal.SIGINT),
        ("ready", signal.SIGTERM),
        pytest.param("loading", signal.SIGTERM, marks=takes_longest),
        pytest.param("ready", signal.SIGINT, marks=takes_longest),
    ],
)
def test_dev(tmp_path: Path, moment: str, number: signal.Signals) -> None:
    with JudgeServer() as server:
        trial = Trial(tmp_path / "project", server)
        with trial.start("dev", "--port", str(free_port()), prefix=TERMINAL) as process:
            assert process.stderr is not None
            if moment == "loading":
                # The command has just become another program, which loads Dagster.
                while serve.__name__ not in psutil.Process(process.pid).cmdline():
                    time.sleep(0.001)
            else:
                assert "shows the project" in process.stderr.readline()
            started = psutil.Process(process.pid).children(recursive=True)
            send(process, number)
            _, err = process.communicate(timeout=PATIENCE_S)
        require_gone(started)
    assert process.returncode == 128 + number, err
    assert err in ("", "cancelling; a second Ctrl-C ends the process at once\n")


@takes_longest
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_dev_with_a_run_per_benchmark(tmp_path: Path, number: signal.Signals) -> None:
    names = ["attic", "cellar"]
    with JudgeServer(latency=0.2) as server:
        trial = Trial(tmp_path / "project", server, concurrency=CONCURRENCY)
        document = yaml.safe_load(trial.config.read_text(encoding="utf-8"))
        (benchmark,) = document["benchmarks"].values()
        document["benchmarks"] = dict.fromkeys(names, benchmark)
        document["execution"] = {"run_per_benchmark": True}
        trial.config.write_text(yaml.safe_dump(document), encoding="utf-8")
        port = free_port()
        with trial.start("dev", "--port", str(port), prefix=TERMINAL) as process:
            assert process.stderr is not None
            assert "shows the project" in process.stderr.readline()
            assets = [["questions"], ["predictions"], ["judgments", "faithfulness"]]
            Interface(trial.home, port).backfill(assets, names)
            until_asked(server, process)
            started = psutil.Process(process.pid).children(recursive=True)
            send(process, number)
            # Standard error is the log of all runs.
            _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 128 + number, err
        assert "should not happen" not in err
        require_gone(started)
        assert not {"STARTING", "STARTED", "CANCELING"} & set(statuses(trial))
        require_continued(trial, server, CONCURRENCY * len(names))
        assert statuses(trial)[-1] == "SUCCESS"
    counted = trial.rows("SELECT benchmark, count(*) FROM scores GROUP BY ALL ORDER BY ALL")
    assert [name for name, _ in counted] == names
    assert len({count for _, count in counted}) == 1
