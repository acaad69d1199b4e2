"""Texts stay as they are written; other encodings are named with the command that mends them."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import zstandard

from tests.warehouse.ingesting import ingest_questions
from warehouse.errors import InputError
from warehouse.formats.canonical import read_questions
from warehouse.formats.format import Read, Reject, Source
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path

LINE = '{"question_id": "q1", "question": "Où?"}\n'
CSV = "question_id,question\nq1,Où?\n"


def read(path: Path) -> list[Any]:
    return [
        each.record.question if isinstance(each, Read) else each
        for each in read_questions(Source(path))
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("text", ["a\r\nb", "a\nb", "a\r\n\r\n\nb", "\r\na\r\n", "a\rb"])
def test_line_breaks_in_cells_stay(tmp_path: Path, text: str, end: str) -> None:
    path = tmp_path / "q.csv"
    rows = ["question_id,question", f'q1,"{text}"', "", "q2,c"]
    path.write_bytes(end.join([*rows, ""]).encode())
    assert read(path) == [text, "c"]


def mended(path: Path, message: str) -> list[Any]:
    """Run the command that a message names; return what the new file holds."""
    command = message.partition("`")[2].partition("`")[0]
    before = set(path.parent.iterdir())
    subprocess.run(["/bin/sh", "-c", command], check=True)
    new = sorted(set(path.parent.iterdir()) - before) or [path]
    return read(new[0])


@pytest.mark.skipif(shutil.which("iconv") is None, reason="iconv is not installed")
@pytest.mark.parametrize("name", ["the q.jsonl", "it's.csv"])
@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-16", "expected UTF-8, found UTF-16: convert it with `iconv -f UTF-16 -t UTF-8"),
        ("utf-16-le", "expected UTF-8, found UTF-16LE: "),
        ("utf-16-be", "expected UTF-8, found UTF-16BE: "),
        ("utf-32", "expected UTF-8, found UTF-32: "),
        ("latin-1", "if the file is in Latin-1, convert it with `iconv -f LATIN1 -t UTF-8"),
    ],
)
def test_other_encodings(tmp_path: Path, name: str, encoding: str, said: str) -> None:
    path = tmp_path / name
    path.write_bytes((CSV if name.endswith(".csv") else LINE).encode(encoding))
    with pytest.raises(InputError) as caught:
        ingest_questions(
            Warehouse(tmp_path / "w.duckdb"), benchmark="b", format="canonical", questions=[path]
        )
    assert said in str(caught.value)
    assert mended(path, str(caught.value)) == ["Où?"]


@pytest.mark.parametrize("name", ["q.jsonl", "q.csv", "q.json"])
@pytest.mark.parametrize(("kind", "ending"), [("gzip", ".gz"), ("Zstandard", ".zst")])
def test_a_compressed_file_without_its_ending(
    tmp_path: Path, name: str, kind: str, ending: str
) -> None:
    path = tmp_path / name
    text = (CSV if name.endswith(".csv") else LINE).encode()
    packed = gzip.compress(text) if ending == ".gz" else zstandard.compress(text)
    path.write_bytes(packed)
    with pytest.raises(InputError) as caught:
        read(path)
    assert f"compressed with {kind}, which the name does not say: `mv " in str(caught.value)
    assert mended(path, str(caught.value)) == ["Où?"]
    twice = tmp_path / f"twice{name[1:]}.gz"
    twice.write_bytes(gzip.compress(packed))
    with pytest.raises(InputError, match=f"compressed with {kind}"):
        read(twice)


@pytest.mark.parametrize(("name", "text"), [("q.jsonl", LINE), ("q.csv", CSV)])
def test_files_that_were_joined(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    other = text.replace("q1", "q2")
    path.write_text(f"\ufeff{text}\ufeff{other}", encoding="utf-8")
    first, second, *_ = read(path)
    assert first == "Où?"
    assert isinstance(second, Reject)
    assert second.line == text.count("\n") + 1
    assert second.reason.startswith("a byte order mark within the file, which was joined")
    if name == "q.jsonl":
        assert mended(path, second.reason) == ["Où?", "Où?"]


def test_a_byte_order_mark_within_a_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question_id": "q1", "question": "\ufeffa"}\n', encoding="utf-8")
    assert read(path) == ["\ufeffa"]
