"""Parquet files that are damaged, ambiguous or made to exhaust the memory."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from warehouse.errors import InputError
from warehouse.formats.catalog import format_named
from warehouse.formats.format import Read, Reject, Source
from warehouse.formats.paths import expand
from warehouse.ingest.labels import import_labels

if TYPE_CHECKING:
    from warehouse.store import Warehouse

ROOT = Path(__file__).parents[3]


def write(path: Path, table: pa.Table) -> Path:
    parquet.write_table(table, path)
    return path


def records(path: Path) -> list[Read[Any] | Reject]:
    return list(format_named("canonical").questions(Source(path)))


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        records(path)
    assert str(error.value).startswith(f"{path}: ")
    return str(error.value)


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], ["question_id"] * 2)
    said = refused(write(tmp_path / "a.parquet", table))
    assert said.endswith("two columns have the name 'question_id'")
    members = [pa.field("x", pa.string()), pa.field("x", pa.string())]
    struct = pa.StructArray.from_arrays([pa.array(["a"])] * 2, fields=members)
    table = pa.table(
        {"question_id": ["q"], "extra": pa.array([struct[0:1]], pa.list_(struct.type))}
    )
    said = refused(write(tmp_path / "b.parquet", table))
    assert said.endswith("two columns have the name 'x'")


def test_too_many_columns(tmp_path: Path) -> None:
    table = pa.table({f"c{at}": [1] for at in range(1001)})
    said = refused(write(tmp_path / "a.parquet", table))
    assert said.endswith("expected at most 1,000 fields, found 1,001")


def test_text_that_is_not_utf8_rejects_its_row(tmp_path: Path) -> None:
    binary = pa.array([b"What?", b"a\xff", b"Why?"])
    text = pa.Array.from_buffers(pa.string(), 3, binary.buffers())
    table = pa.table({"question_id": ["q1", "q2", "q3"], "question": text})
    first, second, third = records(write(tmp_path / "a.parquet", table))
    assert isinstance(first, Read)
    assert isinstance(third, Read)
    assert second == Reject(2, "question: not UTF-8 at byte 2 of the text")


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"question_id": ["q"], "xyz": [1]}))
    path.write_bytes(path.read_bytes().replace(b"xyz", b"x\xffz"))
    assert "not Parquet, or damaged: " in refused(path)


@pytest.mark.parametrize("length", [0, 3, 11, 100, -1, -9])
def test_a_truncated_file(tmp_path: Path, length: int) -> None:
    path = write(tmp_path / "a.parquet", pa.table({"question_id": ["q1", "q2"]}))
    path.write_bytes(path.read_bytes()[:length])
    assert "not Parquet, or damaged: " in refused(path)
    assert "None" not in refused(path)


def test_damage_is_named(tmp_path: Path) -> None:
    table = pa.table(
        {
            "question_id": [f"q{at}" for at in range(500)],
            "question": [f"What is {at * at}?" for at in range(500)],
            "gold_doc_ids": [["a", f"d{at % 7}"] for at in range(500)],
            "tags": [{"n": at % 3} for at in range(500)],
            "noise_ratio": [at / 500 for at in range(500)],
        }
    )
    good = write(tmp_path / "a.parquet", table).read_bytes()
    chance = random.Random(1)
    failed = 0
    for _ in range(100):
        data = bytearray(good)
        for _ in range(chance.choice((1, 1, 5, 50))):
            at = chance.choice((chance.randrange(len(data)), len(data) - chance.randrange(1, 400)))
            data[at] = chance.randrange(256)
        path = tmp_path / "b.parquet"
        path.write_bytes(bytes(data))
        try:
            records(path)
        except InputError as error:
            failed += 1
            assert str(error).startswith(f"{path}: ")  # noqa: PT017
            assert "None" not in str(error)  # noqa: PT017
    assert failed > 15


CHILD = """
    import resource, sys
    from pathlib import Path
    from warehouse.formats.catalog import format_named
    from warehouse.formats.format import Source

    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    for read in format_named("canonical").questions(Source(Path(sys.argv[1]))):
        print(read.reason)
        break
    # Not ru_maxrss: it begins with the size of the process that started this one.
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    print("peak", int(status["VmHWM"].split()[0]) // 1024)
"""


def test_rows_that_share_a_huge_value_take_bounded_memory(tmp_path: Path) -> None:
    value = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), ["x" * (20 << 20)])
    path = tmp_path / "a.parquet"
    table = pa.table({"question": value})
    parquet.write_table(table, path, dictionary_pagesize_limit=1 << 30, store_schema=False)
    ended = subprocess.run(
        [sys.executable, "-c", dedent(CHILD), str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    said, peak = ended.stdout.splitlines()
    assert said == "question: the value is longer than 16 MiB"
    assert int(peak.split()[-1]) < 700


def test_a_file_name_that_is_not_utf8(warehouse: Warehouse, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path / "a") + b"\xff.jsonl"))
    path.write_text('{"question_id": "q1"}\n')
    for pattern in (path, tmp_path / "*.jsonl", tmp_path / "{system}.jsonl"):
        with pytest.raises(InputError) as error:
            expand(pattern)
        assert str(error.value) == (
            f"{tmp_path}/a\\xff.jsonl: the name of the file or of a folder is not UTF-8: rename it"
        )
    with pytest.raises(InputError, match="is not UTF-8: rename it"):
        import_labels(warehouse, path, {})
