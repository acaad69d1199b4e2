"""Hostile files end with a clear error, within seconds and bounded memory."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from tests.support.services import takes_longest, takes_minutes
from warehouse.errors import InputError
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.readers import files, json_stream
from warehouse.formats.readers.limits import MAX_DEPTH, MAX_FIELDS
from warehouse.formats.readers.rows import Row, rows
from warehouse.formats.readers.tabular import Shape
from warehouse.ingest.ingest import ingest
from warehouse.ingest.labels import import_labels
from warehouse.ingest.plan import BenchmarkFiles

if TYPE_CHECKING:
    from warehouse.store import Warehouse

ROOT = Path(__file__).parents[3]
MIB = 2**20

pytestmark = pytest.mark.file_only


def written(path: Path, content: str | bytes) -> Path:
    data = content if isinstance(content, bytes) else content.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = zstandard.compress(data)
    path.write_bytes(data)
    return path


def questions(warehouse: Warehouse, path: Path, ratio: float = 0.0) -> int:
    given = BenchmarkFiles(
        benchmark="b", format="canonical", questions=[path], max_reject_ratio=ratio
    )
    return ingest(warehouse, [given], kinds=("questions",))["b", "questions"].rows


def refused(warehouse: Warehouse, path: Path, ratio: float = 0.0) -> str:
    with pytest.raises(InputError) as error:
        questions(warehouse, path, ratio)
    assert str(path) in str(error.value)
    return str(error.value)


WIDE = {"question_id": "q1", **{f"f{at}": at for at in range(8000)}}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", json.dumps(WIDE)),
        ("a.jsonl.gz", json.dumps(WIDE)),
        ("a.json", json.dumps([WIDE])),
        ("one.json", json.dumps(WIDE)),
        ("a.csv", ",".join(WIDE) + "\n" + ",".join(map(str, WIDE.values()))),
        ("a.csv.zst", ",".join(f"c{at}" for at in range(200_000))),
    ],
)
def test_too_many_fields(warehouse: Warehouse, tmp_path: Path, name: str, content: str) -> None:
    assert "expected at most 1,000 fields, found" in refused(
        warehouse, written(tmp_path / name, content)
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_as_many_fields_as_allowed(warehouse: Warehouse, tmp_path: Path, name: str) -> None:
    row = dict(list(WIDE.items())[:MAX_FIELDS])
    content = ",".join(row) + "\n" + ",".join(map(str, row.values()))
    text = content if name.endswith("csv") else json.dumps(row)
    assert questions(warehouse, written(tmp_path / name, text)) == 1


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize("depth", [MAX_DEPTH, 10_000, 200_000])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", '{"question_id": "q1", "x": %s}'),
        ("a.jsonl.gz", '{"question_id": "q1", "x": {"y": "]", "z": %s}}'),
        ("a.jsonl", '{"question_id": "q1", "constraints": %s}'),
        ("a.json", '[{"question_id": "q1", "x": %s}]'),
        ("a.csv", "question_id,constraints\nq1,[%s]\n"),
    ],
)
def test_nesting(warehouse: Warehouse, tmp_path: Path, name: str, content: str, depth: int) -> None:
    path = written(tmp_path / name, content % nested(depth))
    assert f"nested more than {MAX_DEPTH} levels deep" in refused(warehouse, path)
    allowed = written(tmp_path / name, content % nested(MAX_DEPTH - 2))
    assert questions(warehouse, allowed) == 1


@pytest.mark.parametrize("lists", ["[[1],[2]]", '["]","]"]', '{"a": [{"b": "["}]}'])
def test_wide_lists_are_not_deep(warehouse: Warehouse, tmp_path: Path, lists: str) -> None:
    row = '{"question_id": "q1", "x": [' + ",".join([lists] * 500) + "]}"
    assert questions(warehouse, written(tmp_path / "a.jsonl", row)) == 1


def test_a_repeated_key_among_a_million_is_found_at_once(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    text = "{" + ",".join(f'"k{at}":0' for at in range(300_000)) + ',"k299999":1}'
    assert "'k299999' occurs twice" in refused(warehouse, written(tmp_path / "a.jsonl", text))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize(
    ("name", "beginning", "filling"),
    [
        ("a.jsonl", "", "\n"),
        ("a.jsonl", '{"question_id": "', " "),
        ("a.json", "[", " "),
        ("a.csv", "question_id\n", "\n"),
    ],
)
def test_expansion(
    warehouse: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    beginning: str,
    filling: str,
    ending: str,
) -> None:
    monkeypatch.setattr(files, "FREE_EXPANSION", 2 * MIB)
    path = written(tmp_path / f"{name}{ending}", beginning + filling * (6 * MIB))
    assert "and 500 times its size: decompress it first" in refused(warehouse, path)
    with pytest.raises(InputError, match="500 times its size"):
        import_labels(warehouse, path, {})


def test_a_file_that_compresses_well_is_accepted(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FREE_EXPANSION", 2 * MIB)
    row = (
        '{"question_id": "q%d", "question": "' + "What is a group of crows called? " * 100 + '"}\n'
    )
    path = written(tmp_path / "a.jsonl.gz", "".join(row % at for at in range(2000)))
    assert questions(warehouse, path) == 2000


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv", "a.parquet", "a.jsonl.zst"])
def test_contexts_of_many_megabytes_are_accepted(
    warehouse: Warehouse, tmp_path: Path, name: str
) -> None:
    row = {"question_id": "q1", "question": "Crows. " * (2 * MIB)}
    path = tmp_path / name
    if name == "a.parquet":
        pyarrow_table([row], path)
    elif name == "a.csv":
        written(path, "question_id,question\nq1," + row["question"])
    else:
        written(path, json.dumps(row))
    assert questions(warehouse, path) == 1


def pyarrow_table(given: list[dict[str, Any]], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(given), path)


@pytest.mark.parametrize("ratio", [0.0, 0.5])
def test_reading_ends_after_many_invalid_rows(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ratio: float
) -> None:
    monkeypatch.setattr("warehouse.ingest.row_by_row.MAX_REJECTED", 2000)
    path = written(tmp_path / "a.csv", "question_id,question\n" + "x\n" * 3000)
    limit = "2,000" if ratio else "1,000"
    assert f"reading ends here: {limit} rows are not valid" in refused(warehouse, path, ratio)
    with pytest.raises(InputError, match="reading ends here: 1,000 rows are not valid"):
        import_labels(warehouse, path, {})


def test_lines_are_counted_across_blank_ones(tmp_path: Path) -> None:
    blank = "\n \t\r\n" * 100_000
    path = written(tmp_path / "a.jsonl", f'{{"a": 1}}\n{blank}{{"a": 2}}\n  \n{{"a"\n')
    read = list(rows(path, key="id", shape=Shape()))
    assert [each.line for each in read] == [1, 200_002, 200_004]
    path = written(tmp_path / "a.csv", '\n\na,b\n\n\n1,"x\n\ny"\n\n2\n')
    first, second = rows(path, key="id", shape=Shape())
    assert isinstance(first, Row)
    assert (first.fields, first.line) == ({"a": "1", "b": "x\n\ny"}, 6)
    assert isinstance(second, Reject)
    assert (second.line, second.reason) == (10, "expected 2 cells, found 1")


@takes_minutes
def test_a_row_of_csv_may_not_be_too_long(tmp_path: Path) -> None:
    for text, said in (
        ('a\n"' + "x\n" * (9 * MIB), "a.csv:2: the row "),
        ("a,b\n" + '"' + "x" * (9 * MIB) + '\n","' + "y" * (9 * MIB), "a.csv:2: the row is longer"),
    ):
        path = written(tmp_path / "a.csv", text)
        with pytest.raises(InputError) as error:
            list(rows(path, key="id", shape=Shape()))
        assert said in str(error.value)


@pytest.mark.parametrize("is_list", [True, False])
def test_json_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_list: bool
) -> None:
    given = [{"a": n, "b": "ü" * (n % 30), "c": [n, {"d": None}]} for n in range(300)]
    named = {f"k{n}": row for n, row in enumerate(given)}
    text = json.dumps(given if is_list else named, ensure_ascii=False, indent=1)
    path = written(tmp_path / "a.json", "\n \n" + text + "\n\n")
    whole = list(rows(path, key="id", shape=Shape()))
    monkeypatch.setattr(files, "CHUNK_BYTES", 7)
    monkeypatch.setattr(json_stream, "_AHEAD", 600)
    assert list(rows(path, key="id", shape=Shape())) == whole
    cut = written(tmp_path / "b.json", text[:-20])
    with pytest.raises(InputError, match=r"b.json:\d+: not JSON"):
        list(rows(cut, key="id", shape=Shape()))
    monkeypatch.setattr(json_stream, "LONGEST_ROW", 60)
    with pytest.raises(InputError, match=r"a.json:\d+: the value that begins here is longer"):
        list(rows(path, key="id", shape=Shape()))


def test_a_file_that_is_read_as_a_whole_may_not_be_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LONGEST_FILE", MIB)
    path = written(tmp_path / "a.json.gz", '{"tests": [' + " " * (2 * MIB))
    with pytest.raises(InputError, match="the file is longer than 1 MiB, split it"):
        list(format_named("eval-studio").questions(Source(path)))


@takes_minutes
def test_a_python_list_of_many_elements_is_refused(tmp_path: Path) -> None:
    cell = "['a', " + "'b', " * 60_000 + "]"
    path = written(tmp_path / "a.csv", f'user_input,retrieved_contexts\nWhy?,"{cell}"\n')
    (read,) = format_named("ragas").predictions(Source(path, "s"))
    assert isinstance(read, Reject)
    assert read.reason == "retrieved_contexts: expected at most 50,000 texts in the list"
    path = written(tmp_path / "b.csv", f'user_input,retrieved_contexts\nWhy?,"{["x" * MIB] * 5}"\n')
    (read,) = format_named("ragas").predictions(Source(path, "s"))
    assert isinstance(read, Read)


CHILD = """
    import resource, sys
    from pathlib import Path
    from warehouse.errors import InputError
    from warehouse.formats.catalog import format_named
    from warehouse.formats.format import Source

    # pyarrow, DuckDB and their threads reserve about one GiB of addresses.
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    chosen, path = format_named(sys.argv[1]), Path(sys.argv[2])
    try:
        for read in chosen.questions(Source(path)):
            assert not hasattr(read, "record")
    except InputError as error:
        print(error)
    # Not ru_maxrss: it begins with the size of the process that started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print("peak", int(status["VmHWM"].split()[0]) // 1024)
"""


def bomb(path: Path, beginning: bytes, filling: bytes, length: int) -> Path:
    """A compressed file, made of one member for its beginning and equal ones for the rest."""
    compress = gzip.compress if path.suffix == ".gz" else zstandard.compress
    member = compress(filling * (8 * MIB // len(filling)))
    path.write_bytes(compress(beginning) + member * (length // (8 * MIB)))
    return path


@takes_longest
@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize(
    ("name", "beginning", "filling", "gib"),
    [
        ("canonical a.jsonl", b"", b"\n", 1.5),
        ("canonical a.jsonl", b'{"question_id": "', b" ", 3),
        ("canonical a.json", b"", b" ", 1.5),
        ("canonical a.json", b'[{"question_id": "', b" ", 3),
        ("canonical a.csv", b"question_id,a\n", b"\n", 1.5),
        ("canonical a.csv", b'question_id,a\n1,"', b" ", 3),
        ("canonical a.csv", b'question_id,a\n1,"', b" \n", 3),
        ("canonical a.parquet", b"PAR1", b"\0", 1.5),
        ("trec a.qrels", b"", b"\n", 1.5),
        ("eval-studio a.json", b'{"tests": [', b" ", 1.5),
        ("rgb a.jsonl", b"", b"\n", 1.5),
    ],
)
def test_bombs_take_bounded_memory(
    tmp_path: Path, name: str, beginning: bytes, filling: bytes, gib: float, ending: str
) -> None:
    format_, file = name.split()
    path = bomb(tmp_path / f"{file}{ending}", beginning, filling, int(gib * 1024) * MIB)
    ended = subprocess.run(
        [sys.executable, "-c", dedent(CHILD), format_, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert str(path) in ended.stdout
    assert int(ended.stdout.split()[-1]) < 700
