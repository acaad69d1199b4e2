"""No connection of ours draws a progress bar on standard output, where DuckDB by itself would."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SHOWN = """
import sys
from pathlib import Path
import duckdb
from warehouse.storage import connection_pool
from warehouse.storage.connect import connect, new_cursor
from warehouse.store import Warehouse

def shown(connection):
    return connection.execute("SELECT current_setting('enable_progress_bar')").fetchone()[0]

warehouse = Warehouse(Path(sys.argv[1]))
print("plain", shown(duckdb.connect()))
with warehouse.reading() as reader:
    print("reader", shown(reader))
print("pool", *(shown(each.connection) for each in connection_pool._POOL.values()))
with connect() as ours, new_cursor(ours) as cursor:
    print("ours", shown(ours), shown(cursor))
"""


def test_no_progress_is_shown(tmp_path: Path) -> None:
    """In a process without a script of its own: a step's, which a fork server has made."""
    command = [sys.executable, "-W", "ignore", "-c", SHOWN, str(tmp_path / "warehouse.duckdb")]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert told.stdout.splitlines() == [
        "plain True",
        "reader False",
        "pool False",
        "ours False False",
    ]
