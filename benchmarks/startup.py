"""How long `scoreline --help` takes, and an empty Python beside it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measure import cost_of, program, table

REPEATS = 7
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "scoreline --help": [program("scoreline"), "--help"],
    "scoreline run --help": [program("scoreline"), "run", "--help"],
    "import orchestration.definitions": [sys.executable, "-c", "import orchestration.definitions"],
}


def main() -> None:
    """Run each command a few times; the first, cold, run is not counted."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, command in COMMANDS.items():
            costs = [cost_of(command, folder=Path(folder)) for _ in range(REPEATS + 1)][1:]
            seconds = [cost.wall_s for cost in costs]
            peak = max(cost.peak_mb for cost in costs)
            rows.append([name, f"{median(seconds):.3f}", f"{max(seconds):.3f}", f"{peak:.0f}"])
    print(table(["command", "median s", "slowest s", "peak MB"], rows))


if __name__ == "__main__":
    main()
