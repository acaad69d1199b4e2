"""A lake of an earlier version becomes one of this version, all at once or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support import lakes
from tests.support.lakes import fresh
from tests.support.services import takes_minutes
from tests.warehouse.storage import test_migrate as on_file
from warehouse.errors import SchemaMismatch
from warehouse.schema import migrations
from warehouse.schema.ddl import check
from warehouse.storage.connection import Settings
from warehouse.storage.ducklake.session import connect_catalog
from warehouse.storage.migrate import schema_version
from warehouse.store import Warehouse

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from warehouse.storage.location import Lake


pytestmark = takes_minutes


@pytest.fixture
def old(postgres_database: str, tmp_path: Path) -> Iterator[Lake]:
    """A lake with the tables of version 1, and something in them."""
    with fresh(postgres_database, tmp_path) as place:
        executed(place, on_file.FIRST.read_text(encoding="utf-8") + on_file.ROWS)
        yield place


def executed(place: Lake, statements: str) -> None:
    with connect_catalog(place, Settings(), 0.0) as connection:
        connection.execute(
            f"ATTACH 'ducklake:postgres:{place.connection}' AS lake "
            f"(DATA_PATH '{place.data_path}', METADATA_SCHEMA '{place.schema}')"
        )
        connection.execute("USE lake")
        connection.execute(statements)


def test_version_1_becomes_this_version_at_its_first_use(old: Lake) -> None:
    warehouse = Warehouse(old)
    assert set(warehouse.fingerprints("old")) == {"questions"}
    with warehouse.reading() as connection:
        assert check(connection) == []
        assert on_file.counts(connection) == on_file.KEPT


def test_packed_numbers_of_calls_become_columns(postgres_database: str, tmp_path: Path) -> None:
    with fresh(postgres_database, tmp_path) as place:
        tables = on_file.FIRST.read_text(encoding="utf-8")
        executed(place, tables + on_file.ROWS + on_file.PACKED_CALLS)
        assert Warehouse(place).fetch(on_file.NUMBERED_CALLS).rows() == on_file.NUMBERS


def test_a_step_that_fails_changes_nothing(old: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = {**migrations.steps(), 3: "ALTER TABLE nowhere ADD COLUMN x INTEGER"}
    with monkeypatch.context() as broken:
        broken.setattr(migrations, "steps", lambda: steps)
        with pytest.raises(SchemaMismatch, match="cannot be migrated from version 1 to"):
            Warehouse(old).fingerprints("old")
    lakes.close_sessions()
    with connect_catalog(old, Settings(), 0.0) as connection:
        connection.execute(
            f"ATTACH 'ducklake:postgres:{old.connection}' AS lake (METADATA_SCHEMA '{old.schema}')"
        )
        connection.execute("USE lake")
        assert schema_version(connection, old) == 1
        assert on_file.counts(connection) == on_file.KEPT
    assert set(Warehouse(old).fingerprints("old")) == {"questions"}
