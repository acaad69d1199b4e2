"""What is not installed is named, with what to install."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from warehouse.errors import WarehouseError
from warehouse.storage.ducklake import extensions
from warehouse.storage.location import Lake
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("data_path", ["lake", "s3://bucket/lake"])
def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_path: str) -> None:
    monkeypatch.setattr(extensions, "find_spec", lambda _: None)
    place = Lake("dbname=x host=127.0.0.1 port=9", data_path, tmp_path)
    words = r"'duckdb-extension-ducklake' is not installed: `pip install 'scoreline\[lake\]'`"
    with pytest.raises(WarehouseError, match=words):
        Warehouse(place).fingerprints("b")
