"""Writes answers as canonical files of predictions, one for each system."""

from __future__ import annotations

import json
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from assets.inputs.ingest import stored_answers
from records.columns import stored_columns
from records.prediction import Prediction, Retrieved

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from warehouse.store import Warehouse

_RETRIEVED: Final = {
    each.column: name for name, each in Retrieved.declared().items() if each.column is not None
}
"""The fields of a retrieved item, by the column that lists them."""

_JSON: Final = frozenset(name for name, each in stored_columns(Prediction).items() if each.is_json)


def write_predictions(
    warehouse: Warehouse, benchmark: str, asked: Sequence[str], folder: Path
) -> list[Path]:
    """Write the predictions of all systems of a benchmark, as `<folder>/<system>.jsonl`.

    Answers of systems that were asked are those of the last asking, also if no run has scored them
    yet. Questions that a system was not given, or did not answer, have no line.

    Args:
        warehouse: The warehouse.
        benchmark: The benchmark.
        asked: The systems that it asks.
        folder: The folder.

    Returns:
        The files.
    """
    written = write_asked(warehouse, benchmark, asked, folder)
    query = (
        "SELECT * FROM predictions WHERE benchmark = $benchmark AND NOT list_contains($asked, "
        "system) AND not_asked IS NULL AND error IS DISTINCT FROM 'no prediction' "
        "ORDER BY system, question_id, repeat"
    )
    folder.mkdir(parents=True, exist_ok=True)
    with warehouse.fetch_to_disk(query, {"benchmark": benchmark, "asked": list(asked)}) as rows:
        named = (row for batch in rows.batches() for row in batch.iter_rows(named=True))
        for system, group in groupby(named, key=itemgetter("system")):
            written.append(_write(_file(folder, system), map(_fields, group)))
    return written


def write_asked(
    warehouse: Warehouse, benchmark: str, systems: Sequence[str], folder: Path
) -> list[Path]:
    """Write the answers of systems that were asked; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    answers = stored_answers(warehouse, benchmark, systems, {})
    return [
        _write(_file(folder, each.system), each.rows(warehouse)) for each in answers if each.calls
    ]


def _file(folder: Path, system: str) -> Path:
    return folder / f"{quote(system, safe='@+ ')}.jsonl"


def _write(file: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    with file.open("w", encoding="utf-8", newline="\n") as opened:
        for row in rows:
            # orjson would refuse whole numbers of more than 64 bits.
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
            opened.write(f"{line}\n")
    return file


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a prediction that are given."""
    known = {name: value for name, value in row.items() if value is not None}
    if not known["repeat"]:
        del known["repeat"]
    for name in _JSON.intersection(known):
        known[name] = json.loads(known[name])
    lists = {field: known[column] for column, field in _RETRIEVED.items() if column in known}
    if lists.keys() - {"text"}:
        lengths = max(map(len, lists.values()))
        known["retrieved"] = [
            {field: values[at] for field, values in lists.items() if at < len(values)}
            for at in range(lengths)
        ]
        known.pop("contexts", None)
    fields = {name: known[name] for name in Prediction.model_fields if name in known}
    return {**fields, **fields.pop("extra", {})}
