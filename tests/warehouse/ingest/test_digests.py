"""The digest of files follows what they hold, not where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warehouse.errors import InputError
from warehouse.ingest.digests import digest_files

if TYPE_CHECKING:
    from pathlib import Path


def test_names_and_folders_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    one, two = tmp_path / "one.jsonl", tmp_path / "x" / "two.jsonl"
    one.write_text("a")
    two.write_text("a")
    assert digest_files([(one, "s")]) == digest_files([(two, "s")])
    assert len(digest_files([])) == 32


def test_contents_order_systems_endings_and_settings_count(tmp_path: Path) -> None:
    one, two, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "3.csv"
    for path, text in ((one, "a"), (two, "b"), (other, "a")):
        path.write_text(text)
    digests = [
        digest_files([(one, None), (two, None)]),
        digest_files([(two, None), (one, None)]),
        digest_files([(one, None)]),
        digest_files([(one, "")]),
        digest_files([(one, "s")]),
        digest_files([(one, "t")]),
        digest_files([(two, None)]),
        digest_files([(other, None)]),
        digest_files([(one, None)], ["ab", "c"]),
        digest_files([(one, None)], ["a", "bc"]),
    ]
    assert len(set(digests)) == len(digests)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot be read"):
        digest_files([(tmp_path / "none", None)])
