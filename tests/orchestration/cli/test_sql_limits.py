"""`scoreline sql` streams results, and has limits of time, memory and rows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestration.cli.commands import sql
from orchestration.cli.program import program
from tests.support.services import takes_minutes

ENDLESS = "SELECT * FROM range(3000000000)"
SLOW = "SELECT sum(hash(a.range + b.range)) FROM range(3000000000) AS a, range(1000) AS b"
LARGE = "SELECT list(range) FROM range(1000000000)"
READ_BYTES = 2_000_000
MAX_KB = 400_000


@pytest.fixture
def invoke(done_project: Path) -> Any:
    """Run `sql` in this process on the starter project."""

    def run(*arguments: str) -> tuple[int, str, str]:
        config = ["--config", str(done_project / "scoreline.yaml")]
        result = CliRunner().invoke(program, ["sql", *arguments, *config], prog_name="scoreline")
        return result.exit_code, result.stdout, result.stderr

    return run


@takes_minutes
@pytest.mark.parametrize("output_format", ["csv", "json", "md"])
def test_memory_does_not_grow_with_the_result(done_project: Path, output_format: str) -> None:
    options = ["--format", output_format, "--config", str(done_project / "scoreline.yaml")]
    with subprocess.Popen(
        [sys.executable, "-m", "orchestration.cli", "sql", ENDLESS, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert len(process.stdout.read(READ_BYTES)) == READ_BYTES
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        peak = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert peak is not None
        assert int(peak[1]) < MAX_KB
        # As `head` does.
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def test_a_table_has_a_thousand_rows_unless_told_otherwise(invoke: Any) -> None:
    query = "SELECT range AS n FROM range(2500)"
    code, out, err = invoke(query)
    assert (code, len(out.splitlines())) == (0, sql.TABLE_ROWS + 2)
    assert err == "1,000 rows shown, 1,500 left out: --max-rows N shows more, 0 all\n"
    code, out, err = invoke(query, "--max-rows", "0")
    assert (code, len(out.splitlines()), err) == (0, 2_502, "")
    code, out, err = invoke(query, "--max-rows", "2500")
    assert (code, len(out.splitlines()), err) == (0, 2_502, "")


def test_other_formats_have_all_rows_unless_told_otherwise(invoke: Any) -> None:
    query = "SELECT range AS n FROM range(2500)"
    code, out, err = invoke(query, "--format", "json")
    assert (code, json.loads(out), err) == (0, [{"n": n} for n in range(2500)], "")
    code, out, err = invoke(query, "--format", "csv", "--max-rows", "2")
    assert (code, out) == (0, "n\n0\n1\n")
    assert err.startswith("2 rows shown, 2,498 left out")


def test_an_endless_rest_is_not_counted_to_its_end(
    invoke: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "COUNT_S", 0.0)
    code, _, err = invoke(ENDLESS, "--max-rows", "3")
    assert code == 0
    assert err.startswith("3 rows shown, more than 100,000 left out")


def test_a_query_that_takes_too_long(invoke: Any) -> None:
    code, out, err = invoke(SLOW, "--timeout", "0.3")
    assert (code, out) == (2, "")
    expected = "error: the query took longer than 0.3 s: --timeout SECONDS changes the limit\n"
    assert err == expected


def test_a_query_that_needs_too_much_memory(invoke: Any) -> None:
    code, out, err = invoke(LARGE, "--memory-limit", "100MB")
    assert (code, out) == (2, "")
    assert err.startswith("error: the query needs more memory than its limit: ")
    assert err.endswith("--memory-limit SIZE changes the limit\n")


def test_a_memory_limit_that_is_none(invoke: Any) -> None:
    code, _, err = invoke("SELECT 1", "--memory-limit", "lots")
    assert code == 2
    assert "Invalid value for --memory-limit: 'lots': expected a size such as 4GB" in err


def test_repeated_columns_and_durations(invoke: Any) -> None:
    query = "SELECT 1 AS n, 2 AS n, INTERVAL 1 DAY AS d, MAP {'a': 1} AS m, '[1]'::JSON AS j"
    code, out, _ = invoke(query, "--format", "json")
    assert code == 0
    expected = {"n": 1, "n_1": 2, "d": "1 day, 0:00:00", "m": {"a": 1}, "j": "[1]"}
    assert json.loads(out) == [expected]
