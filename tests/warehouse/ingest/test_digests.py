"""The digest of files follows what they hold, not where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warehouse.errors import InputError
from warehouse.ingest.digests import fingerprint

if TYPE_CHECKING:
    from pathlib import Path


def test_names_and_folders_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    one, two = tmp_path / "one.jsonl", tmp_path / "x" / "two.jsonl"
    one.write_text("a")
    two.write_text("a")
    assert fingerprint([(one, "s")]) == fingerprint([(two, "s")])
    assert len(fingerprint([])) == 32


def test_contents_order_systems_endings_and_settings_count(tmp_path: Path) -> None:
    one, two, other = tmp_path / "1.jsonl", tmp_path / "2.jsonl", tmp_path / "3.csv"
    for path, text in ((one, "a"), (two, "b"), (other, "a")):
        path.write_text(text)
    digests = [
        fingerprint([(one, None), (two, None)]),
        fingerprint([(two, None), (one, None)]),
        fingerprint([(one, None)]),
        fingerprint([(one, "")]),
        fingerprint([(one, "s")]),
        fingerprint([(one, "t")]),
        fingerprint([(two, None)]),
        fingerprint([(other, None)]),
        fingerprint([(one, None)], ["ab", "c"]),
        fingerprint([(one, None)], ["a", "bc"]),
    ]
    assert len(set(digests)) == len(digests)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: cannot be read"):
        fingerprint([(tmp_path / "none", None)])
