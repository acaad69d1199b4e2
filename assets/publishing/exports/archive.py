"""Export all results of one benchmark as files in a zip archive."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.exports.redaction import redact_secrets
from assets.publishing.report.templates_env import render_table_page
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot

ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The modification time of all files in the zip, so that equal contents give equal archives."""

LIBRARIES = ("scoreline", "dagster", "duckdb", "polars", "litellm", "numpy", "scipy")

VERSIONS = "versions.json"

README = """What is in this archive

leaderboard.*      every system's means with counts, coverage and intervals
evaluators/NAME/   the same for one evaluator; results.*: its score for every question and system;
                   system_scores.json: system-level metrics with their evidence
problems.csv, insights.csv, comparisons.csv, rejects.csv
scoreline.yaml     the current configuration, with REDACTED in place of secrets
versions.json      the versions of programs and the signatures of evaluators

In CSV files, text that begins like a formula is prefixed with an apostrophe, so that spreadsheets
show it as text. JSON and Parquet files contain it unchanged.
"""


def write_archive(
    snapshot: OpenSnapshot, benchmark: str, folder: Path, configuration: Path | None
) -> Path:
    """Write `<benchmark>.zip` into a folder and replace an existing one.

    Args:
        snapshot: The published copy.
        benchmark: The benchmark.
        folder: The folder.
        configuration: The configuration file to include, without its secrets.

    Returns:
        The path of the archive.
    """
    target = folder / f"{benchmark}.zip"
    with (
        replace_file(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        _fill(_ZipWriter(archive), snapshot, benchmark, configuration)
    return target


class _ZipWriter:
    """A zip archive whose files all have the same modification time."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: str | bytes) -> None:
        entry = zipfile.ZipInfo(name, ZIP_TIME)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        self._archive.writestr(entry, content)

    def has(self, name: str) -> bool:
        """Return whether the archive has, or will have, a file of this name in any case."""
        return name.lower() in {each.lower() for each in (*self._archive.namelist(), VERSIONS)}

    def add_table(self, name: str, frame: pl.DataFrame, *formats: str) -> None:
        """Add a frame in each of the given formats: csv, json, md, html, parquet."""
        for each in formats:
            self.add(f"{name}.{each}", _format_table(frame, name, each))


def _fill(
    archive: _ZipWriter, snapshot: OpenSnapshot, benchmark: str, configuration: Path | None
) -> None:
    def rows(sql: str, **more: Any) -> pl.DataFrame:
        return snapshot.fetch(sql, {"benchmark": benchmark, **more})

    board = rows(
        "SELECT * FROM leaderboard WHERE benchmark = $benchmark ORDER BY slice <> 'all', slice, "
        "evaluator, metric, rank NULLS LAST, system"
    )
    archive.add("README.txt", README)
    archive.add_table("leaderboard", board, "json", "csv", "md", "html")
    for evaluator in board["evaluator"].unique().sort().to_list():
        folder = f"evaluators/{evaluator}"
        own = board.filter(pl.col("evaluator") == evaluator)
        archive.add_table(f"{folder}/leaderboard", own, "json", "csv", "md", "html")
        results = rows(_RESULTS, evaluator=evaluator)
        archive.add_table(f"{folder}/results", results, "parquet", "csv")
        sets = rows(_SYSTEM_SCORES, evaluator=evaluator)
        if not sets.is_empty():
            archive.add_table(f"{folder}/system_scores", sets, "json")
    for table in ("problems", "insights", "comparisons", "rejects"):
        found = rows(f"SELECT * FROM {table} WHERE benchmark = $benchmark ORDER BY ALL")  # noqa: S608
        archive.add_table(table, found, "csv")
    if configuration is not None:
        text = configuration.read_bytes().decode("utf-8")
        # A configuration may have any name, also that of another file of the archive.
        name = configuration.name
        archive.add(f"configuration/{name}" if archive.has(name) else name, redact_secrets(text))
    signatures = board.select("evaluator", "signature").unique().sort("evaluator", "signature")
    versions: dict[str, Any] = {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "signatures": dict(signatures.iter_rows()),
    }
    archive.add(VERSIONS, json.dumps(versions, indent=2) + "\n")


_RESULTS = """
SELECT s.system, s.question_id, s.metric, s.value, s.status, s.reason, s.detail, s.signature,
    s.scored_at
FROM scores AS s
WHERE s.benchmark = $benchmark AND s.evaluator = $evaluator AND s.signature IN (
    SELECT signature FROM leaderboard WHERE benchmark = $benchmark AND evaluator = $evaluator
)
ORDER BY s.system, s.question_id, s.metric
"""

_SYSTEM_SCORES = """
SELECT slice, system, metric, value, status, reason, detail, signature
FROM system_scores
WHERE benchmark = $benchmark AND evaluator = $evaluator
ORDER BY slice <> 'all', slice, metric, system
"""


def _format_table(frame: pl.DataFrame, name: str, extension: str) -> str | bytes:
    match extension:
        case "csv":
            return escape_formulas(frame).write_csv()
        case "json":
            rows = frame.to_dicts()
            return json.dumps(rows, indent=1, ensure_ascii=False, default=str, allow_nan=False)
        case "md":
            return _markdown(frame)
        case "html":
            return render_table_page(
                name, frame.columns, [_texts(row) for row in frame.iter_rows()]
            )
        case _:
            buffer = io.BytesIO()
            frame.write_parquet(buffer)
            return buffer.getvalue()


def _markdown(frame: pl.DataFrame) -> str:
    def line(cells: list[str]) -> str:
        safe = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        return f"| {' | '.join(' '.join(cell.split()) for cell in safe)} |"

    rows = [line(_texts(row)) for row in frame.iter_rows()]
    rule = line(["---:" if kind.is_numeric() else "---" for kind in frame.dtypes])
    return "\n".join([line(frame.columns), rule, *rows]) + "\n"


def _texts(row: tuple[Any, ...]) -> list[str]:
    return ["" if value is None else str(value) for value in row]


FORMULA = r"^[=+\-@\t\r\n]"
"""The beginning of text that a spreadsheet may evaluate as a formula."""


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame that is safe to open in a spreadsheet.

    Text that begins like a formula is prefixed with an apostrophe, which marks it as text. Lists
    and structs become JSON; numbers stay numbers.
    """
    return frame.select(_escape_column(name, kind) for name, kind in frame.schema.items())


def _escape_column(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if kind.is_nested():
        column = column.map_elements(_list_json, return_dtype=pl.String)
    elif kind != pl.String:
        return column
    text = pl.concat_str(pl.lit("'"), column)
    return pl.when(column.str.contains(FORMULA)).then(text).otherwise(column).alias(name)


def _list_json(value: object) -> str:
    plain = value.to_list() if isinstance(value, pl.Series) else value
    return json.dumps(plain, ensure_ascii=False, default=str)
