"""The archive: everything about one benchmark as files in one zip, evaluator by evaluator."""

from __future__ import annotations

import io
import json
import platform
import zipfile
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import polars as pl

from assets.publishing.report.templates_env import render_table_page
from warehouse.storage.atomic import replace_file

if TYPE_CHECKING:
    from pathlib import Path

    from warehouse.publish.snapshot import OpenSnapshot


MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the zip, so that equal contents make equal archives."""

LIBRARIES = ("scoreline", "dagster", "duckdb", "polars", "litellm", "numpy", "scipy")

README = """What is in this archive

leaderboard.*      every system's means with counts, coverage and intervals
evaluators/NAME/   the same for one evaluator; results.*: its score for every question and system;
                   system_scores.json: metrics of whole sets with their evidence
problems.csv, insights.csv, comparisons.csv
scoreline.yaml     the configuration, as it is now
versions.json      the versions of programs, and the signatures of evaluators

In CSV files a text that begins like a formula has an apostrophe in front, so that spreadsheets
show it as text; JSON and Parquet have it as it is.
"""


def write_archive(
    copy: OpenSnapshot, benchmark: str, folder: Path, configuration: Path | None
) -> Path:
    """Write `<benchmark>.zip` into a folder, in place of the one that is there.

    Args:
        copy: The published copy.
        benchmark: The benchmark.
        folder: The folder.
        configuration: The configuration file, to be put beside.

    Returns:
        The path of the archive.
    """
    target = folder / f"{benchmark}.zip"
    with (
        replace_file(target) as beside,
        zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        _fill(_Archive(archive), copy, benchmark, configuration)
    return target


class _Archive:
    """A zip whose files all bear the same time."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def add(self, name: str, content: str | bytes) -> None:
        entry = zipfile.ZipInfo(name, MOMENT)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = 0o644 << 16
        self._archive.writestr(entry, content)

    def table(self, name: str, frame: pl.DataFrame, *forms: str) -> None:
        """A frame in the forms that are asked for: csv, json, md, html, parquet."""
        for form in forms:
            self.add(f"{name}.{form}", FORMS[form](frame, name))


def _fill(
    archive: _Archive, copy: OpenSnapshot, benchmark: str, configuration: Path | None
) -> None:
    def rows(sql: str, **more: Any) -> pl.DataFrame:
        return copy.fetch(sql, {"benchmark": benchmark, **more})

    board = rows(
        "SELECT * FROM leaderboard WHERE benchmark = $benchmark ORDER BY slice <> 'all', slice, "
        "evaluator, metric, rank NULLS LAST, system"
    )
    archive.add("README.txt", README)
    archive.table("leaderboard", board, "json", "csv", "md", "html")
    for evaluator in board["evaluator"].unique().sort().to_list():
        place = f"evaluators/{evaluator}"
        own = board.filter(pl.col("evaluator") == evaluator)
        archive.table(f"{place}/leaderboard", own, "json", "csv", "md", "html")
        results = rows(_RESULTS, evaluator=evaluator)
        archive.table(f"{place}/results", results, "parquet", "csv")
        sets = rows(_SETS, evaluator=evaluator)
        if not sets.is_empty():
            archive.table(f"{place}/system_scores", sets, "json")
    for table in ("problems", "insights", "comparisons", "rejects"):
        found = rows(f"SELECT * FROM {table} WHERE benchmark = $benchmark ORDER BY ALL")  # noqa: S608
        archive.table(table, found, "csv")
    if configuration is not None:
        archive.add(configuration.name, configuration.read_bytes())
    signatures = board.select("evaluator", "signature").unique().sort("evaluator", "signature")
    versions = {
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "signatures": dict(signatures.iter_rows()),
    }
    archive.add("versions.json", json.dumps(versions, indent=2) + "\n")


_RESULTS = """
SELECT s.system, s.question_id, s.metric, s.value, s.status, s.reason, s.detail, s.signature,
    s.scored_at
FROM scores AS s
WHERE s.benchmark = $benchmark AND s.evaluator = $evaluator AND s.signature IN (
    SELECT signature FROM leaderboard WHERE benchmark = $benchmark AND evaluator = $evaluator
)
ORDER BY s.system, s.question_id, s.metric
"""

_SETS = """
SELECT slice, system, metric, value, status, reason, detail, signature
FROM system_scores
WHERE benchmark = $benchmark AND evaluator = $evaluator
ORDER BY slice <> 'all', slice, metric, system
"""


def _csv(frame: pl.DataFrame, _: str) -> str:
    return escape_formulas(frame).write_csv()


def _json(frame: pl.DataFrame, _: str) -> str:
    return json.dumps(frame.to_dicts(), indent=1, ensure_ascii=False, default=str, allow_nan=False)


def _markdown(frame: pl.DataFrame, _: str) -> str:
    def line(cells: list[str]) -> str:
        safe = (cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells)
        return f"| {' | '.join(' '.join(cell.split()) for cell in safe)} |"

    rows = [line(_texts(row)) for row in frame.iter_rows()]
    rule = line(["---:" if kind.is_numeric() else "---" for kind in frame.dtypes])
    return "\n".join([line(frame.columns), rule, *rows]) + "\n"


def _html(frame: pl.DataFrame, name: str) -> str:
    return render_table_page(name, frame.columns, [_texts(row) for row in frame.iter_rows()])


def _parquet(frame: pl.DataFrame, _: str) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def _texts(row: tuple[Any, ...]) -> list[str]:
    return ["" if value is None else str(value) for value in row]


FORMS: dict[str, Any] = {
    "csv": _csv,
    "json": _json,
    "md": _markdown,
    "html": _html,
    "parquet": _parquet,
}
"""How a frame is written in each form."""


FORMULA = r"^[=+\-@\t\r\n]"
"""How texts begin that spreadsheets compute, or that hide one that they compute."""


def escape_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """A frame as it may be opened in a spreadsheet.

    A text that begins like a formula gets an apostrophe in front, which spreadsheets take for
    "this is text". Lists and structures become JSON, times become text; numbers stay numbers.
    """
    return frame.select(_guarded(name, kind) for name, kind in frame.schema.items())


def _guarded(name: str, kind: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if kind.is_nested():
        column = column.map_elements(_list_json, return_dtype=pl.String)
    elif kind != pl.String:
        return column
    text = pl.concat_str(pl.lit("'"), column)
    return pl.when(column.str.contains(FORMULA)).then(text).otherwise(column).alias(name)


def _list_json(value: object) -> str:
    import json

    plain = value.to_list() if isinstance(value, pl.Series) else value
    return json.dumps(plain, ensure_ascii=False, default=str)
