"""Loads from changed files of predictions only the pieces that changed.

A piece is about a megabyte of whole lines. The digests of all pieces are stored with the rows. If
one answer in a large file changes, all other pieces are as before, and their rows stay.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final, TypeAlias

import duckdb
import polars as pl
import xxhash

from warehouse.errors import InputError
from warehouse.formats.readers.files import pieces as file_pieces
from warehouse.formats.readers.limits import LONGEST_ROW
from warehouse.ingest.fast_path import NotFastPath, scan_predictions
from warehouse.ingest.load import replace_rows
from warehouse.ingest.plan import PredictionLoad
from warehouse.ingest.result import ReadResult
from warehouse.ingest.rows_sql import JsonLines
from warehouse.storage.connection import connect_memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from warehouse.ingest.result import Ingested
    from warehouse.storage.transaction import Transaction
    from warehouse.store import Warehouse

Piece: TypeAlias = tuple[int, str]
"""The length of a piece in bytes, and its digest."""

PIECE_BYTES: Final = 1 << 20

LARGE_BYTES: Final = 1 << 24
"""The size of all files from which their pieces are recorded: small ones are read in no time."""

_SUMS: Final = "count(*), bit_xor(hash(question_id)), sum(hash(question_id))::VARCHAR"


@dataclass(slots=True, kw_only=True)
class ChangedPredictionLoad(PredictionLoad):
    """Loads predictions; from files whose pieces are known, only what changed.

    Rows are replaced piece by piece only if the questions that the file answers are the same as
    before. Otherwise all rows of the file's system are replaced. Small files, files that are not
    plain JSON Lines of one system each, and files with rejected rows or missing predictions are
    always read whole.

    Attributes:
        settings: The digest of the settings with which the files are read, and of the questions.
        loaded: The digest of the stored predictions; null: read all files.
        pieces: The pieces of each system's file; null if the files are small or of another kind.
        record: The stored record of pieces on which `changed` rests.
        changed: For each of `lines` the system, and whether they replace all of its rows; null: the
            files are read whole.
    """

    settings: str
    loaded: str | None
    pieces: dict[str, list[Piece]] | None = None
    record: str | None = None
    changed: list[tuple[str, bool]] | None = None

    def prepare(self, warehouse: Warehouse) -> None:
        """Find out what changed, and read it."""
        self.pieces = self._read_pieces() if self.is_fast else None
        known = self._known_pieces(warehouse)
        if known is not None and self.pieces is not None and known.keys() == self.pieces.keys():
            try:
                self._scan_changes(warehouse, known, self.pieces)
            except (NotFastPath, duckdb.Error):
                self.changed = None
            else:
                return
        PredictionLoad.prepare(self, warehouse)

    def read_rows(self, warehouse: Warehouse) -> None:
        """Read all files row by row."""
        self.changed = None
        PredictionLoad.read_rows(self, warehouse)

    @property
    def replaces(self) -> tuple[str, ...]:
        """All predictions, unless only some have changed."""
        return ("predictions",) if self.changed is None else ()

    def write(self, transaction: Transaction) -> Ingested:
        """Replace what changed, and record the pieces for the next time."""
        if self.changed is None:
            written = PredictionLoad.write(self, transaction)
        else:
            if _fetch_record(transaction, self.files.benchmark) != self.record:
                raise NotFastPath("another process has loaded the predictions")
            # Of systems that are or were asked; `finish` inserts their current answers.
            transaction.execute(
                "DELETE FROM predictions WHERE benchmark = $benchmark "
                "AND NOT list_contains($systems, system)",
                {"benchmark": self.files.benchmark, "systems": list(self.result.systems)},
            )
            selects = zip(self.changed, self.selects(), strict=True)
            for (system, whole), (select, values) in selects:
                replace_rows(transaction, self.files.benchmark, system, select, values, whole=whole)
            written = self.finish(transaction)
        # An earlier record is of no use: it has another digest.
        if self.is_fast and self.pieces is not None and not (written.notes or written.problems):
            value = json.dumps([self.settings, self.digest, self.pieces], separators=(",", ":"))
            row = {"name": _record_name(self.files.benchmark), "value": value}
            transaction.replace("meta", pl.DataFrame([row]))
        return written

    def _read_pieces(self) -> dict[str, list[Piece]] | None:
        """Divide each file into pieces; null if they are small, or others than the fast path's."""
        files = {system: path for path, system in self.files.prediction_paths if system is not None}
        plain = all(path.suffix in {".jsonl", ".ndjson"} for path in files.values())
        if len(files) < len(self.files.prediction_paths) or not plain:
            return None
        if sum(path.stat().st_size for path in files.values()) < LARGE_BYTES:
            return None
        try:
            return {system: read_pieces(path) for system, path in files.items()}
        except InputError:
            return None

    def _known_pieces(self, warehouse: Warehouse) -> dict[str, list[Piece]] | None:
        """Return the pieces of the stored predictions; null if there is no record of them."""
        if self.loaded is None or self.questions is not None:
            return None
        self.record = _fetch_record(warehouse, self.files.benchmark)
        if self.record is None:
            return None
        settings, digest, pieces = json.loads(self.record)
        if (settings, digest) != (self.settings, self.loaded):
            return None
        return {system: [(size, name) for size, name in each] for system, each in pieces.items()}

    def _scan_changes(
        self, warehouse: Warehouse, known: dict[str, list[Piece]], pieces: dict[str, list[Piece]]
    ) -> None:
        """Scan what changed in each file.

        Raises:
            NotFastPath: It needs row-by-row validation.
        """
        lines: list[JsonLines] = []
        changed: list[tuple[str, bool]] = []
        with connect_memory(warehouse.settings) as connection:
            for path, system in self.files.prediction_paths:
                if system is None or pieces[system] == known[system]:
                    continue
                whole = not self._has_same_questions(warehouse, connection, path, system)
                part = self.folder / f"changed-{len(lines)}.jsonl"
                if not whole:
                    _copy_range(path, *changed_range(known[system], pieces[system]), part)
                lines.append(scan_predictions(path if whole else part, system))
                changed.append((system, whole))
        self.lines, self.changed = lines, changed
        self.result = ReadResult(systems=dict.fromkeys(pieces))

    def _has_same_questions(
        self, warehouse: Warehouse, connection: duckdb.DuckDBPyConnection, path: Path, system: str
    ) -> bool:
        """Return whether a file answers the questions of the stored rows, each of them once."""
        ids = JsonLines(
            path=path, fields={"question_id": "VARCHAR"}, max_line_bytes=LONGEST_ROW
        ).relation
        stored = warehouse.fetch(
            f"SELECT {_SUMS} FROM predictions WHERE benchmark = $benchmark AND system = $system",  # noqa: S608
            {"benchmark": self.files.benchmark, "system": system},
        ).rows()
        return connection.execute(f"SELECT {_SUMS} FROM {ids}").fetchall() == stored  # noqa: S608


def read_pieces(path: Path) -> list[Piece]:
    """Divide a file into pieces.

    Raises:
        InputError: It cannot be read, or a line is too long.
    """
    return [(len(each), xxhash.xxh3_128_hexdigest(each)) for each in file_pieces(path, PIECE_BYTES)]


def changed_range(before: Sequence[Piece], now: Sequence[Piece]) -> tuple[int, int]:
    """Return the first byte of a file that may have changed, and the end of the last one."""
    shorter = min(len(before), len(now))
    first = _equal(before[:shorter], now[:shorter])
    last = _equal(before[first:][::-1], now[first:][::-1])
    sizes = [size for size, _ in now]
    return sum(sizes[:first]), sum(sizes[: len(sizes) - last])


def _equal(before: Sequence[Piece], now: Sequence[Piece]) -> int:
    """Return the number of equal pieces at the beginning."""
    pairs = zip(before, now, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _copy_range(source: Path, start: int, end: int, target: Path) -> None:
    with source.open("rb") as file, target.open("wb") as copy:
        file.seek(start)
        while start < end and (block := file.read(min(PIECE_BYTES, end - start))):
            copy.write(block)
            start += len(block)


def _record_name(benchmark: str) -> str:
    return f"pieces of predictions of {benchmark}"


def _fetch_record(source: Warehouse | Transaction, benchmark: str) -> str | None:
    query = "SELECT value FROM meta WHERE name = $name"
    found = source.fetch(query, {"name": _record_name(benchmark)})
    return None if found.is_empty() else str(found.item())
