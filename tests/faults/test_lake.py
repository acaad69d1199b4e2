"""Writers of a lake that are killed, and a server that goes away in the middle of a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from orchestration import starter
from orchestration.config import load
from tests.faults.postgres import PASSWORD, server
from tests.orchestration.conftest import scoreline
from tests.support.lakes import fresh, lake_at, told, unlike
from tests.support.services import POSTGRES, takes_longest
from tests.warehouse.ledger.rows import digest, judgment
from warehouse.errors import WarehouseError
from warehouse.ledger.open import open_ledger
from warehouse.storage.location import Lake
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Location

WRITER = """
import json, sys
from pathlib import Path
from assets.scoring.refresh import refresh_scores
from assets.project import Benchmark
from assets.leaderboard.refresh import refresh_leaderboards
from evaluators import catalog
from warehouse.ingest.ingest import ingest
from warehouse.storage.location import location_from_json
from warehouse.ingest.plan import BenchmarkFiles
from warehouse.store import Warehouse

warehouse = Warehouse(location_from_json(json.loads(sys.argv[1])), patience_s=120.0)
folder, names = Path(sys.argv[2]), sys.argv[3:]
print("ready", flush=True)
sys.stdin.readline()
for name in names:
    predictions = folder / name / "{system}.jsonl"
    benchmark = Benchmark(
        name=name,
        questions=folder / name / "questions.jsonl",
        predictions=predictions,
        evaluators=tuple(catalog.build(each, {}) for each in ("document_retrieval", "rouge")),
    )
    files = [(path, path.stem) for path in sorted((folder / name).glob("rag*.jsonl"))]
    given = BenchmarkFiles(
        benchmark=name, format="canonical", questions=[benchmark.questions], predictions=files
    )
    ingest(warehouse, [given])
    for evaluator in benchmark.evaluators:
        refresh_scores(warehouse, [(benchmark, evaluator)], run_id="r")
    refresh_leaderboards(warehouse, [benchmark])
"""
NAMES = [f"b{number}" for number in range(8)]


@pytest.fixture
def lake(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    with fresh(postgres_database, tmp_path) as place:
        yield place


def written(folder: Path, name: str) -> None:
    """The files of one benchmark."""
    (folder / name).mkdir(parents=True)
    questions = [
        {
            "question_id": f"q{i}",
            "question": f"{name} {i}?",
            "expected_answer": f"the answer is {i * 7 % 13}",
            "gold_doc_ids": [f"d{i}"],
        }
        for i in range(200)
    ]
    lines(folder / name / "questions.jsonl", questions)
    for system in range(3):
        answers = [
            {
                "question_id": f"q{i}",
                "answer": f"the answer is {i * 7 % (11 + system)}",
                "retrieved": [{"doc_id": f"d{i + j}"} for j in range(system, -1, -1)],
            }
            for i in range(200)
        ]
        lines(folder / name / f"rag{system}.jsonl", answers)


def lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def writer(place: Location, folder: Path, *names: str) -> subprocess.Popen[str]:
    """A process that ingests, grades and folds some benchmarks once it is told to."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, told(place), str(folder), *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def ended(process: subprocess.Popen[str]) -> int:
    """The exit code of a process; whatever it had open is closed."""
    process.communicate(timeout=300)
    return process.returncode


def writing(database: str) -> set[int]:
    """The processes that have their turn to write, as the server sees it."""
    where = ["--host", POSTGRES["host"], "--port", POSTGRES["port"], "--username", POSTGRES["user"]]
    asked = (
        "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) "
        "WHERE locktype = 'advisory' AND granted"
    )
    form = ["--dbname", database, "--tuples-only", "--no-align"]
    held = subprocess.run(
        ["psql", *where, *form, "--command", asked], check=True, capture_output=True, text=True
    )
    return {int(name.split("-")[1].split("@")[0]) for name in held.stdout.split()}


@takes_longest
@pytest.mark.timeout(900)
def test_eight_writers_of_which_one_is_killed(
    lake: Lake, postgres_database: str, tmp_path: Path
) -> None:
    for name in NAMES:
        written(tmp_path / "files", name)
    alone = tmp_path / "alone.duckdb"
    undisturbed = writer(alone, tmp_path / "files", *NAMES)
    go(undisturbed)
    assert ended(undisturbed) == 0

    started = {name: writer(lake, tmp_path / "files", name) for name in NAMES}
    for process in started.values():
        go(process)
    by_number = {process.pid: name for name, process in started.items()}
    while not (found := writing(postgres_database) & by_number.keys()):
        assert any(process.poll() is None for process in started.values())
    # In the middle of its turn, and with the turn in its hands.
    victim = started[by_number[found.pop()]]
    victim.send_signal(signal.SIGKILL)
    codes = {name: ended(process) for name, process in started.items()}
    (lost,) = [name for name, code in codes.items() if code == -signal.SIGKILL]
    assert {code for name, code in codes.items() if name != lost} == {0}
    missing = Warehouse(lake).fetch("SELECT benchmark FROM leaderboard")["benchmark"].unique()
    assert lost not in missing.to_list()

    once_more = writer(lake, tmp_path / "files", lost)
    go(once_more)
    assert ended(once_more) == 0
    assert unlike(Warehouse(alone), Warehouse(lake)) == []


@pytest.mark.timeout(900)
@takes_longest
@pytest.mark.parametrize("moment", ["questions", "leaderboard"])
def test_a_server_that_is_restarted_in_the_middle_of_a_run(tmp_path: Path, moment: str) -> None:
    homes = {"file": tmp_path / "file", "lake": tmp_path / "lake"}
    for home in homes.values():
        starter.write_starter(home)
    assert scoreline(homes["file"], "run").code == 0
    with server() as postgres:
        file = homes["lake"] / "scoreline.yaml"
        keys = yaml.safe_load(file.read_text(encoding="utf-8"))
        keys["warehouse"] = {
            "catalog": f"ducklake:postgres:{postgres.catalog}",
            "password_env": "LAKE_PASSWORD",
        }
        file.write_text(yaml.safe_dump(keys), encoding="utf-8")
        secret = {"LAKE_PASSWORD": PASSWORD}
        refused = scoreline(homes["lake"], "run", LAKE_PASSWORD="wrong")  # noqa: S106
        assert (refused.code, "authentication failed" in refused.err) == (2, True), refused.err

        run = subprocess.Popen(
            [sys.executable, "-m", "orchestration.cli", "run"],
            cwd=homes["lake"],
            env={**os.environ, **secret},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        os.environ |= secret
        try:
            place = load.load_config(file).project.warehouse
            until_marked(place, moment, run)
            postgres.restart()
            said, _ = run.communicate(timeout=300)
            if run.returncode:
                assert run.returncode == 2, said
                assert "cannot be reached" in said
                assert "Traceback" not in said
            again = scoreline(homes["lake"], "run", **secret)
            assert again.code == 0, again.err
            assert unlike(*(kept(home) for home in homes.values())) == []
        finally:
            del os.environ["LAKE_PASSWORD"]
    for path in homes["lake"].rglob("*"):
        assert not path.is_file() or PASSWORD.encode() not in path.read_bytes(), path
    assert PASSWORD not in said + refused.err + again.err + again.out


def until_marked(place: Location, stage: str, run: subprocess.Popen[str]) -> None:
    """Wait until a run has done a stage."""
    sql = "SELECT count(*) FROM marks WHERE stage = $stage"
    while run.poll() is None:
        try:
            if Warehouse(place).exists() and Warehouse(place).fetch(sql, {"stage": stage}).item():
                return
        except WarehouseError:
            pass
        time.sleep(0.02)


def kept(home: Path) -> Warehouse:
    return Warehouse(load.load_config(home / "scoreline.yaml").project.warehouse)


def test_a_password_that_is_not_set(tmp_path: Path) -> None:
    from dataclasses import replace

    place = replace(lake_at(tmp_path, "postgres"), password_env="SCORELINE_NOT_SET")  # noqa: S106
    with pytest.raises(
        WarehouseError,
        match="SCORELINE_NOT_SET, which holds the password of the warehouse, is not set",
    ):
        Warehouse(place).exists()


@pytest.mark.timeout(300)
def test_the_ledger_of_a_lake_waits_for_a_server_that_is_away(tmp_path: Path) -> None:
    """Replies that come while PostgreSQL restarts are stored when it is back, each once."""
    os.environ["LAKE_PASSWORD"] = PASSWORD
    try:
        with server() as postgres:
            place = Lake(
                postgres.catalog,
                str(tmp_path / "lake"),
                tmp_path / "beside",
                password_env="LAKE_PASSWORD",  # noqa: S106 - the variable's name
            )
            with open_ledger(Warehouse(place), "run") as ledger:
                ledger.record_judgment(judgment(0)).result()
                assert ledger.find(digest(0)) is not None
                postgres.stop()
                stored = [ledger.record_judgment(judgment(number)) for number in range(1, 9)]
                ledger.settle(None, 0.5)
                assert not any(each.done() for each in stored)
                postgres.start()
                for each in stored:
                    each.result(timeout=60)
                found = [ledger.find(digest(number)) for number in range(9)]
                assert [each and each.reply for each in found] == [f"reply {n}" for n in range(9)]
                assert ledger.spent_usd() == 0.5
    finally:
        del os.environ["LAKE_PASSWORD"]
