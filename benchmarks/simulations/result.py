"""What a simulation found: rates with their simulation error, in tables that are kept as files."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

RESULTS = Path(__file__).with_name("results")
"""The tables of each simulation, of which `docs/simulations.md` is made."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the output.

    Attributes:
        title: What was simulated, how often, and against which target.
        heads: The heads of the columns.
        rows: The cells, as text.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


def rate(hits: int, trials: int) -> str:
    """Return a rate with its simulation error (one standard error), such as `0.948 ± 0.004`."""
    share = hits / trials
    # A rate of 0 or 1 is as uncertain as one hit more or less.
    spread = max(share * (1 - share), 1 / trials)
    return f"{share:.3f} ± {math.sqrt(spread / trials):.3f}"


def write_tables(part: str, tables: Iterable[Table], folder: Path = RESULTS) -> None:
    """Write the tables of a simulation to its file, with one row per line."""
    written = []
    for table in tables:
        rows = ",\n".join(f"    {_dumped(row)}" for row in table.rows)
        head = f'  "title": {_dumped(table.title)},\n  "heads": {_dumped(table.heads)},\n'
        written.append(f' {{\n{head}  "rows": [\n{rows}\n  ]\n }}')
    text = "[\n" + ",\n".join(written) + "\n]\n"
    (folder / f"{part}.json").write_text(text, encoding="utf-8")


def read_tables(part: str, folder: Path = RESULTS) -> list[Table]:
    """Return the tables of a simulation that were written last."""
    found = json.loads((folder / f"{part}.json").read_text(encoding="utf-8"))
    return [Table(each["title"], each["heads"], each["rows"]) for each in found]


def _dumped(value: str | Sequence[str]) -> str:
    return json.dumps(value, ensure_ascii=False)
