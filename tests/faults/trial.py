"""A project with deterministic and judged evaluators, run as a user runs it: as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tests.orchestration.judged_project import JudgedProject
from warehouse.schema.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.judge_server import JudgeServer

ROOT = Path(__file__).parents[2]
EVALUATORS = ["looping_detection", "rouge", "faithfulness", "context_relevancy"]
VOLATILE = frozenset({"run_id", "latency_s"})
"""Columns that two equal runs may differ in, beside all that say when."""
COMPARED = {"validations": "\"table\" <> 'drift'", "meta": "name <> 'ledger'"}
"""Rows that are compared, where not all are: drift is about what had been published before, which
a run has that was killed after it had published, and an undisturbed one has not. The mark of the
ledger counts its transactions."""


class Trial(JudgedProject):
    """A project folder whose judge is a server on loopback."""

    def __init__(self, home: Path, server: JudgeServer, **judge: Any) -> None:
        settings = {"model": "openai/a-judge", "api_base": server.url, "concurrency": 2, **judge}
        super().__init__(home, settings, evaluators=list(EVALUATORS))
        self.write()

    @property
    def warehouse(self) -> Path:
        """The warehouse file."""
        return self.home / ".scoreline" / "warehouse.duckdb"

    def start(self, *arguments: str, prefix: Sequence[str] = ()) -> subprocess.Popen[str]:
        """`scoreline` with arguments, as a process.

        Args:
            arguments: The command and what it is given; none: `run`.
            prefix: What the command line begins with, such as `setpriv`.
        """
        command = [sys.executable, "-m", "orchestration.cli", *(arguments or ("run",))]
        return subprocess.Popen(
            [*prefix, *command, "--config", str(self.config)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "DAGSTER_DISABLE_TELEMETRY": "yes"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self, *arguments: str, prefix: Sequence[str] = ()) -> tuple[int, str, str]:
        """The exit code of a command, what it printed, and what it said on standard error."""
        with self.start(*arguments, prefix=prefix) as process:
            out, err = process.communicate(timeout=1200)
        return process.returncode, out, err

    def tables(self, path: Path | None = None) -> dict[str, list[Any]]:
        """Every row of every table, without what says when and by which run."""
        with duckdb.connect(path or self.warehouse, read_only=True) as connection:
            found = {
                name: connection.execute(
                    f"SELECT DISTINCT {kept} FROM {name} "
                    f"WHERE {COMPARED.get(name, 'true')} ORDER BY ALL"
                ).fetchall()
                for name, kept in _kept().items()
            }
            return {name: [self._placed(row) for row in rows] for name, rows in found.items()}

    def _placed(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """A row without the name of this folder."""
        home = str(self.home)
        return tuple(each.replace(home, "") if isinstance(each, str) else each for each in row)


def _kept() -> dict[str, str]:
    """The columns of each stored table that equal runs agree in."""
    return {
        name: ", ".join(
            f'"{column.name}"'
            for column in table.columns
            if column.type != "TIMESTAMP" and column.name not in VOLATILE
        )
        for name, table in TABLES.items()
        if table.view_of is None
    }
