"""The validator: expectations with errors, and how its worker starts, fails and ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.services import takes_minutes
from tests.warehouse.conftest import put
from warehouse.errors import WarehouseError
from warehouse.schema.quoting import literal
from warehouse.store import Warehouse
from warehouse.validation.expectation import Batch, Expectation, expect_no_rows
from warehouse.validation.validator import VALIDATOR, Validator

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNT = Expectation(kind="expect_table_row_count_to_be_between", kwargs={"min_value": 0})


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse.duckdb")


@pytest.fixture
def own() -> Iterator[Validator]:
    """A validator whose worker a test may kill."""
    validator = Validator()
    yield validator
    validator.close()


def batch(*expectations: Expectation, sql: str = "SELECT * FROM predictions") -> Batch:
    return Batch(table="t", sql=sql, key=("question_id",), expectations=expectations)


def test_nothing_to_validate_starts_nothing(own: Validator, warehouse: Warehouse) -> None:
    assert own.validate(warehouse, []) == []
    assert own._pool is None


def test_arguments_that_do_not_fit_together(warehouse: Warehouse) -> None:
    wrong = Expectation(
        kind="expect_column_values_to_be_between",
        kwargs={"column": "latency_s", "mostly": 3},
    )
    with pytest.raises(
        WarehouseError, match=r"expect_column_values_to_be_between.*cannot be built"
    ):
        VALIDATOR.validate(warehouse, [batch(wrong)])
    assert VALIDATOR.validate(warehouse, [batch(COUNT)])[0].success


def test_invalid_sql_fails_only_its_own_expectation(warehouse: Warehouse) -> None:
    wrong = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={"unexpected_rows_query": "SELECT * FROM {batch} WHERE no_such_column > 1"},
    )
    found = VALIDATOR.validate(warehouse, [batch(wrong, COUNT)])
    assert [each.success for each in found] == [False, True]
    assert "no_such_column" in (found[0].observed or "")


def test_a_condition_evaluated_once_finds_the_same_rows(warehouse: Warehouse) -> None:
    put(warehouse, "questions", [{"question_id": "q1"}, {"question_id": "q2"}])
    answers = [{"system": "s", "question_id": f"q{i}", "answer": "yes"} for i in (1, 2, 3)]
    put(warehouse, "predictions", answers)
    stray = "question_id NOT IN (SELECT q.question_id FROM questions AS q)"
    shouted = "answer = upper(answer)"
    for once in (False, True):
        expectations = (
            expect_no_rows(stray, "is asked", once=once),
            expect_no_rows(shouted, "is calm"),
        )
        lost, calm = VALIDATOR.validate(warehouse, [batch(*expectations)])
        assert calm.success
        assert (lost.success, lost.unexpected) == (False, 1)
        ((row),) = lost.rows
        assert (row["question_id"], row["answer"]) == ("q3", "yes")
        assert not [name for name in row if name.startswith("breaks_")]


def test_rows_cannot_be_changed_by_an_expectation(warehouse: Warehouse) -> None:
    evil = Expectation(
        kind="unexpected_rows_expectation",
        kwargs={"unexpected_rows_query": "SELECT 1 FROM {batch}; DELETE FROM meta"},
    )
    found = VALIDATOR.validate(warehouse, [batch(evil)])
    assert not found[0].success
    assert warehouse.fetch("SELECT count(*) FROM meta").item() == 1


def test_colons_quotes_and_markup_in_values_are_values(warehouse: Warehouse) -> None:
    text = "it's :name {x} %s <b>"
    sql = f"SELECT {literal(text)} AS system, 'q' AS question_id"
    kept = Expectation(
        kind="expect_column_values_to_be_in_set",
        kwargs={"column": "system", "value_set": [text]},
    )
    assert VALIDATOR.validate(warehouse, [batch(kept, sql=sql)])[0].success


@takes_minutes
def test_a_worker_that_was_killed_is_reported_and_replaced(
    own: Validator, warehouse: Warehouse
) -> None:
    own.start()
    os.kill(worker_of(own), signal.SIGKILL)
    with pytest.raises(WarehouseError, match="the process that validates tables ended"):
        own.validate(warehouse, [batch(COUNT)])
    assert own.validate(warehouse, [batch(COUNT)])[0].success


@takes_minutes
def test_a_worker_that_crashes_is_reported_with_its_last_output(own: Validator) -> None:
    own.start()
    with pytest.raises(WarehouseError, match=r"ended: stack smashed$"):
        own.validate(Crash(), [batch(COUNT)])  # type: ignore[arg-type]


class Crash:
    """Ends the process that unpickles it, as a defect of a C library does."""

    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("import os; os.write(2, b'stack smashed'); os.abort()",)


def worker_of(validator: Validator) -> int:
    assert validator._pool is not None
    return validator._pool.submit(os.getpid).result()


def wait_for_end(process: int) -> None:
    deadline = time.monotonic() + 60
    while Path(f"/proc/{process}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


IMPORTS = "import os, sys, time\nfrom warehouse.validation.validator import VALIDATOR\n"
VALIDATE = """
from pathlib import Path
from tests.warehouse.validation.test_validator import COUNT, batch
from warehouse.store import Warehouse
(found,) = VALIDATOR.validate(Warehouse(Path("warehouse.duckdb").absolute()), [batch(COUNT)])
assert found.success
assert "great_expectations" not in sys.modules
print(VALIDATOR._pool.submit(os.getpid).result(), flush=True)
"""


def start(script: str, folder: Path) -> subprocess.Popen[str]:
    """Run a script from another folder in a folder."""
    file = folder / "bin" / "script.py"
    file.parent.mkdir()
    file.write_text(script, encoding="utf-8")
    path = filter(None, [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH")])
    return subprocess.Popen(
        [sys.executable, str(file)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@takes_minutes
def test_the_worker_is_silent_and_imports_neither_script_nor_current_folder(
    tmp_path: Path,
) -> None:
    for name in ("warehouse", "great_expectations", "random", "pickle", "socket"):
        (tmp_path / f"{name}.py").write_text("print('imported')", encoding="utf-8")
    (tmp_path / "assets").mkdir()
    with start(
        f"{IMPORTS}VALIDATOR.start()\nprint('once', flush=True)\n{VALIDATE}", tmp_path
    ) as run:
        out, err = run.communicate(timeout=300)
    once, worker = out.splitlines()
    assert (run.returncode, once, err) == (0, "once", "")
    wait_for_end(int(worker))


@takes_minutes
@pytest.mark.parametrize("loaded", [True, False])
def test_the_worker_ends_with_a_parent_that_was_killed(tmp_path: Path, loaded: bool) -> None:
    tell = VALIDATE if loaded else "print(*VALIDATOR._pool._processes, flush=True)"
    script = f"{IMPORTS}VALIDATOR.start()\n{tell}\ntime.sleep(600)\n"
    with start(script, tmp_path) as run:
        assert run.stdout is not None
        worker = int(run.stdout.readline())
        run.send_signal(signal.SIGKILL)
    wait_for_end(worker)


STEP = f"""
import multiprocessing
def step():
    {"    ".join((IMPORTS + VALIDATE).strip().splitlines(keepends=True))}
if __name__ == "__main__":
    process = multiprocessing.get_context("forkserver").Process(target=step)
    process.start()
    process.join()
    sys.exit(process.exitcode)
"""


@takes_minutes
def test_a_forked_process_ends_and_its_worker_too(tmp_path: Path) -> None:
    with start("import sys\n" + STEP, tmp_path) as run:
        out, err = run.communicate(timeout=300)
    assert (run.returncode, err) == (0, "")
    wait_for_end(int(out))
